from __future__ import annotations

import re
from typing import Any

import pytest

from memstone.server.metrics import STEPS
from tests.server.conftest import CONFIG
from tests.server.world import World


def figures(text: str) -> dict[str, float]:
    """Every sample by its name and labels."""
    found = (re.fullmatch(r"(\S+(?:\{.*\})?) (\S+)", line) for line in text.splitlines() if not line.startswith("#"))
    return {one[1]: float(one[2]) for one in found if one is not None}


def scraped(world: World) -> dict[str, float]:
    answer = world.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    return figures(answer.text)


def grown(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return after.get(name, 0.0) - before.get(name, 0.0)


@pytest.mark.req("P-24", "D-7", "D-15")
def test_the_four_figures_of_the_memory_are_there() -> None:
    with World.of({**CONFIG, "context": {"false_injection": 0.0, "min_score": 0.0}}) as world:
        _four_figures(world)


def _four_figures(world: World) -> None:
    for text in ("I live in Oslo", "I live in Oslo", "I moved to Bergen"):
        world.client.post("/v1/memories", json={"messages": text, "user_id": "alice"})
    asked = {"query": "moved to a new town", "user_id": "alice", "gate": "always"}
    visible = world.client.post("/v1/context", json=asked).json()
    answer = world.run(world.app.state.memstone.memory.admin.metrics, everybody=True)
    assert "retrieval_hit_rate" not in scraped(world)
    memory = world.app.state.memstone.memory
    world.run(memory.review.record_answer, visible["receipt_id"], "You moved to Bergen.")
    found = scraped(world)
    assert found["retrieval_hit_rate"] == world.run(memory.admin.metrics, everybody=True)["retrieval_hit_rate"] == 1
    for name in ("memory_total_count", "memory_replacement_rate", "memory_dedup_rate"):
        assert found[name] == pytest.approx(answer[name])
    assert found["memstone_signals_pending"] == found["memstone_signals_dead"] == found["memstone_index_lag"] == 0


@pytest.mark.req("P-24")
def test_requests_and_steps_are_timed_and_gate_decisions_counted(world: World) -> None:
    before = scraped(world)
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"})
    world.client.post("/v1/memories/search", json={"query": "Oslo", "user_id": "alice"})
    world.client.post("/v1/context", json={"query": "What is 2 + 2?", "user_id": "alice", "gate": "heuristic"})
    world.client.get("/v1/memories/none")
    after = scraped(world)
    for route, method, status in (
        ("/v1/memories", "POST", 200),
        ("/v1/memories/search", "POST", 200),
        ("/v1/memories/{memory_id}", "GET", 404),
    ):
        name = f'memstone_request_seconds_count{{method="{method}",route="{route}",status="{status}"}}'
        assert grown(before, after, name) == 1
    for step in ("learn.extract", "learn.settle", "search.understand", "search.retrieve", "context.gate"):
        assert grown(before, after, f'memstone_step_seconds_count{{step="{step}"}}') >= 1
    assert grown(before, after, 'memstone_gate_decisions_total{route="none"}') == 1


def test_receipts_that_were_given_up_are_told_to_whoever_runs_the_service(world: World) -> None:
    assert scraped(world)["memstone_receipts_lost_total"] == 0
    world.app.state.memstone.memory.engine.runtime.late.lost = 3
    assert scraped(world)["memstone_receipts_lost_total"] == 3
    other = world.as_key("elsewhere", verbs=["admin"])
    assert "memstone_receipts_lost" not in other.get("/metrics").text


def test_what_waits_and_what_was_given_up_is_counted(tmp_path: Any) -> None:
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/w.db"}, "write": {"mode": "manual"}}
    with World.of(config) as world:
        world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "a", "run_id": "s"})
        assert scraped(world)["memstone_signals_pending"] == 1


def test_only_administrators_of_a_whole_tenant_are_told(world: World) -> None:
    assert world.anonymous().get("/metrics").status_code == 401
    assert world.as_key(verbs=["read", "write"]).get("/metrics").status_code == 403
    assert world.as_key(verbs=["admin"], user_id="alice").get("/metrics").status_code == 403


def test_another_tenant_is_told_of_its_own_store_alone(world: World) -> None:
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"})
    other = world.as_key("acme", verbs=["admin"]).get("/metrics")
    assert figures(other.text)["memory_total_count"] == 0
    assert "memstone_request_seconds" not in other.text
    assert scraped(world)["memory_total_count"] == 1


@pytest.mark.req("X-24")
def test_on_this_machine_no_key_is_needed_if_it_is_configured_so() -> None:
    with World.of({**CONFIG, "server": {"open_loopback": True}}) as world:
        client = world.anonymous()
        assert client.get("/metrics").status_code == 401  # it does not come from this machine
        client._transport.client = ("127.0.0.1", 50_000)  # type: ignore[attr-defined]
        assert client.get("/metrics").status_code == 200


def test_an_engine_that_nobody_watches_tells_nobody() -> None:
    from memstone import Memory

    def count() -> float:
        return sum(one.value for found in STEPS.collect() for one in found.samples if one.name.endswith("_count"))

    with Memory(CONFIG) as memory:
        before = count()
        memory.search("x", user_id="a")
    assert count() == before
