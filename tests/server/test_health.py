from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from memstone import Memory
from memstone.adapters.ledger.sqlite import SqliteLedger
from memstone.errors import Corrupted
from memstone.server.app import create_app
from memstone.server.serving import Service
from tests.server.conftest import CONFIG
from tests.server.world import World


def counted(world: World) -> dict[str, Any]:
    stats = world.run(world.app.state.memstone.memory.stats)
    return {name: value for name, value in stats.items() if isinstance(value, int)}


@pytest.mark.req("N-26", "R-33")
def test_health_needs_no_key_and_writes_nothing(world: World) -> None:
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"})
    before = counted(world)
    client = world.anonymous()
    for _ in range(3):
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ok", "reason": None}
        assert world.run(world.app.state.memstone.memory.health)["level"] == "healthy"
    assert counted(world) == before


def test_a_service_that_is_not_open_is_not_ready() -> None:
    from starlette.testclient import TestClient

    from memstone.server.app import create_app

    client = TestClient(create_app(CONFIG))  # its life has not begun
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "starting", "reason": "not_open"})
    assert client.get("/healthz").status_code == 200


def test_a_balancer_may_ask_without_wanting_an_answer(world: World) -> None:
    for path in ("/healthz", "/readyz"):
        answer = world.anonymous().head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_a_service_starts_without_reading_its_whole_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(SqliteLedger, "check", check)
    with World.of(CONFIG) as world:
        assert world.client.get("/readyz").status_code == 200


@pytest.mark.req("N-26")
def test_a_store_that_does_not_answer_is_told_with_a_reason(world: World) -> None:
    class Broken:
        async def peek(self, _: Any) -> Any:
            raise Corrupted("the file is not a database: /secret/place")

    parts = world.app.state.memstone.memory._engine.parts
    whole = parts.ledger
    object.__setattr__(parts, "ledger", Broken())
    answer = world.anonymous().get("/readyz")
    object.__setattr__(parts, "ledger", whole)
    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable", "reason": Corrupted.code})
    assert world.anonymous().get("/readyz").status_code == 200


def test_what_waits_is_learned_before_the_service_ends(tmp_path: Any) -> None:
    from memstone import Memory

    store = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/s.db"}}
    config = {**store, "write": {"mode": "background", "debounce_seconds": 0, "shutdown_seconds": 120}}
    with World.of(config) as world:
        assert world.run(world.app.state.memstone.memory.stats)["formation"]["worker"]
        said = {"messages": "I live in Oslo", "user_id": "alice", "run_id": "s"}
        assert world.client.post("/v1/memories", json=said).status_code == 200
    with Memory(store) as memory:
        assert memory.stats()["pending"] == 0
        assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == ["User lives in Oslo."]


def test_a_service_that_ends_does_not_wait_for_those_who_listen_to_its_feed(tmp_path: Path) -> None:
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/h.db"}}
    with Memory(config) as memory:
        key = memory.create_key(verbs=["admin"])["key"]
    app = create_app(config)
    service = Service(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=600))
    thread = threading.Thread(target=service.run)
    thread.start()
    while not service.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = service.servers[0].sockets[0].getsockname()[1]
    with httpx2.stream(
        "GET", f"http://127.0.0.1:{port}/v1/events/stream", headers={"X-API-Key": key}, timeout=120
    ) as feed:
        lines = feed.iter_lines()
        assert next(lines) == "retry: 1000"
        service.should_exit = True
        assert "".join(lines) == ""
    thread.join(120)
    assert not thread.is_alive()
