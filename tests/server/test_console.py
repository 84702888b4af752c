"""The routes of a console, and what they show to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memstone.engine.change import erase_rows
from memstone.server.background_jobs import Works
from memstone.server.gateway.chat import Tasks
from memstone.server.metrics import Journal, RequestRecord
from tests.server.conftest import CONFIG
from tests.server.rooms import Room, ended
from tests.server.world import World


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


def kept(world: World, text: str = "I live in Oslo", user: str = "alice", **rest: Any) -> str:
    answer = world.client.post("/v1/memories", json={"messages": text, "user_id": user, "infer": False, **rest})
    memory_id: str = answer.json()["results"][0]["id"]
    return memory_id


def act(world: World, memory_id: str, verb: str, **body: Any) -> Any:
    return world.client.post(f"/v1/console/memories/{memory_id}/{verb}", json=body)


def texts(world: World, user: str = "alice") -> list[str]:
    return [one["memory"] for one in world.client.get(f"/v1/memories?user_id={user}").json()["results"]]


# --- looking ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("S-66")
def test_the_search_shows_every_layer_also_what_is_disabled_as_previews(world: World) -> None:
    live = kept(world, "Write to me at alice@example.com in Oslo")
    off = kept(world, "My sister lives in Oslo, too")
    act(world, off, "disable")
    found = world.client.post("/v1/console/search", json={"q": "Oslo", "user_id": "alice"}).json()["results"]
    assert {one["id"]: one["status"] for one in found} == {live: "active", off: "disabled"}
    assert all("alice@example.com" not in str(one) for one in found)
    assert all(one["why"] for one in found)


def test_a_look_at_the_past_shows_what_held_then(world: World) -> None:
    own = kept(world, "I live in Oslo", occurred_at="2020-01-01")
    world.client.put(f"/v1/memories/{own}", json={"text": "I live in Rome"})
    then = world.client.post("/v1/console/search", json={"user_id": "alice", "as_of": "2021-01-01"}).json()["results"]
    assert [one["preview"] for one in then] == ["I live in Oslo"]


@pytest.mark.req("S-66")
def test_the_dashboard_tells_layers_agents_and_how_work_goes(world: World) -> None:
    kept(world, agent_id="coach")
    world.client.post("/memory/identity/overrides", json={"text": "Call me Al", "user_id": "alice"})
    world.client.post("/memory/consolidate")
    visible = world.client.get("/v1/console/dashboard?user_id=alice").json()
    assert [one["text"] for one in visible["identity"]["overrides"]] == ["Call me Al"]
    (fact,) = visible["facts"]
    assert (fact["content"], fact["use_count"]) == ("I live in Oslo", 0)
    assert 0 < fact["salience"] <= 1
    assert (visible["counts"]["fact"], visible["episodes"]) == (1, [])
    everybody = world.client.get("/v1/console/dashboard").json()
    assert [(one["id"], one["memory_entry_count"]) for one in everybody["agents"]] == [("coach", 1)]
    assert everybody["processing"]["calls"] == 1
    assert everybody["processing"]["success_rate"] == 1.0
    assert everybody["processing"]["average_ms"] >= 0
    assert everybody["last_consolidation"]["status"] == "success"


@pytest.mark.req("N-42")
def test_who_there_is_is_listed_with_counts(world: World) -> None:
    kept(world, agent_id="coach")
    kept(world, "I like tea")
    kept(world, "I like chess", user="bob")
    users = world.client.get("/v1/console/scopes").json()["results"]
    assert [(one["id"], one["memories"]) for one in users] == [("alice", 2), ("bob", 1)]
    agents = world.client.get("/v1/console/scopes?kind=agent").json()["results"]
    assert [(one["id"], one["memories"]) for one in agents] == [("coach", 1)]
    assert world.as_key(verbs=["admin"], user_id="alice").get("/v1/console/scopes").status_code == 403
    assert world.as_key("acme", verbs=["admin"]).get("/v1/console/scopes").json()["results"] == []


@pytest.mark.req("N-42", "R-9")
@pytest.mark.parametrize(
    "path", ["/v1/console/dashboard", "/v1/console/quarantine", "/v1/events", "/v1/export", "/v1/jobs", "/v1/pause"]
)
def test_asking_about_everybody_takes_an_administrator(world: World, path: str) -> None:
    kept(world)
    reader = world.as_key(verbs=["read"])
    assert reader.get(path).status_code == 403
    assert reader.get(path, params={"user_id": "alice"}).status_code == 200
    assert world.as_key(verbs=["read"], user_id="bob").get(path).status_code == 200


@pytest.mark.req("R-9")
def test_a_bound_key_sees_its_own_in_every_view(world: World) -> None:
    own, other = kept(world, "The word is swordfish"), kept(world, "I like tea", user="bob")
    bob = world.as_key(user_id="bob", verbs=["read", "write", "admin"])
    visible = [
        bob.post("/v1/console/search", json={}),
        bob.post("/v1/console/search", json={"q": "swordfish"}),
        bob.get("/v1/console/dashboard"),
        bob.get("/v1/console/metrics"),
        bob.get("/v1/events"),
        bob.get("/v1/export"),
        bob.get("/v1/jobs"),
        bob.get(f"/v1/console/memories/{own}/history"),
    ]
    assert [one.status_code for one in visible] == [200] * len(visible)
    assert not [one.request.url for one in visible if "swordfish" in one.text or own in one.text]
    assert other in visible[0].text
    acts = ("disable", "enable", "quarantine", "approve", "reject", "forget", "restore")
    assert {bob.post(f"/v1/console/memories/{own}/{verb}").status_code for verb in acts} == {404}
    assert bob.post(f"/v1/console/memories/{own}/share", json={"user_id": "bob"}).status_code == 404
    event = world.client.get("/v1/events?user_id=alice").json()["results"][0]["id"]
    assert bob.post("/v1/console/undo", json={"event_id": event}).status_code == 404
    assert bob.post("/v1/console/rollback", json={"since": "2000-01-01", "dry_run": False}).status_code in {200, 403}
    assert texts(world) == ["The word is swordfish"]
    everything = ("scopes", "requests", "configuration", "database", "health", "jobs")
    assert {bob.get(f"/v1/console/{name}").status_code for name in everything} == {403}
    for name in ("consolidate", "reindex", "backup"):
        assert bob.post(f"/v1/console/{name}").status_code == 403
    assert bob.post("/v1/console/erase", json={"user_id": "bob", "confirm": "bob"}).status_code == 403


# --- acting -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("S-66")
def test_a_memory_is_put_aside_and_brought_back(world: World) -> None:
    own = kept(world)
    assert act(world, own, "disable", reason="not now").json()["status"] == "disabled"
    assert texts(world) == []
    act(world, own, "enable")
    assert act(world, own, "forget").json()["event"] == "DELETE"
    assert act(world, own, "restore").status_code == 200
    assert texts(world) == ["I live in Oslo"]
    lines = world.client.get(f"/v1/console/memories/{own}/history").json()["results"]
    assert [one["event"] for one in lines][:4] == ["ADD", "DISABLE", "ENABLE", "DELETE"]
    assert lines[1]["reason"] == "not now"


def test_what_is_in_quarantine_waits_for_an_administrator(world: World) -> None:
    good, bad = kept(world, "I like tea"), kept(world, "Send me your password")
    for one in (good, bad):
        act(world, one, "quarantine")
    waiting = world.client.get("/v1/console/quarantine").json()["results"]
    assert {one["id"] for one in waiting} == {good, bad}
    writer = world.as_key(verbs=["read", "write"])
    assert writer.post(f"/v1/console/memories/{good}/approve").status_code == 403
    act(world, good, "approve")
    act(world, bad, "reject")
    assert texts(world) == ["I like tea"]
    assert world.client.get("/v1/console/quarantine").json()["results"] == []


def test_changes_are_taken_back_one_by_one_or_all_of_a_source(world: World) -> None:
    own = kept(world)
    world.client.put(f"/v1/memories/{own}", json={"text": "I live in Rome"})
    event = world.client.get(f"/v1/memories/{own}/history").json()["results"][-1]["id"]
    assert world.client.post("/v1/console/undo", json={"event_id": event}).json()["undone"] == 1
    assert texts(world) == ["I live in Oslo"]
    wanted = {"since": "2000-01-01", "user_id": "alice"}
    assert world.client.post("/v1/console/rollback", json=wanted).json()["undone"] > 0
    assert texts(world) == ["I live in Oslo"], "unless told so it only looks"
    world.client.post("/v1/console/rollback", json={**wanted, "dry_run": False})
    assert texts(world) == []


def test_a_memory_is_shared_taken_back_and_handed_over(world: World) -> None:
    own = kept(world)
    assert act(world, own, "share", user_id="bob").json()["event"] == "LINK"
    assert texts(world, "bob") == ["I live in Oslo"]
    assert act(world, own, "unshare", user_id="bob", reason="by mistake").json()["event"] == "UNLINK"
    assert texts(world, "bob") == []
    scopes = {"from_scope": {"user_id": "alice"}, "to_scope": {"user_id": "al"}}
    moved = world.client.post("/v1/console/reassign", json=scopes).json()
    assert (moved["moved"], texts(world), texts(world, "al")) == (1, [], ["I live in Oslo"])
    world.client.post("/v1/console/undo", json={"job_id": moved["job_id"]})
    assert texts(world) == ["I live in Oslo"]


@pytest.mark.req("D-15")
def test_feedback_and_answers_go_into_the_figures(world: World) -> None:
    own = kept(world)
    pack = world.client.post("/v1/context", json={"query": "Where do I live?", "user_id": "alice"}).json()
    preview = world.client.post("/v1/console/context", json={"query": "Where do I live?", "user_id": "alice"}).json()
    assert (preview["chosen"], "Oslo" in preview["text"]) == ([own], True)
    values = {"receipt_id": pack["receipt_id"], "answer": "You live in Oslo."}
    assert world.client.post("/v1/console/answers", json=values).json()["used"] == [own]
    judged = world.client.post("/v1/console/feedback", json={"useful": True, "memory_id": own, "user_id": "alice"})
    assert judged.json()["ids"] == [own]
    figures = world.client.get("/v1/console/metrics?user_id=alice").json()
    assert (figures["memory_total_count"], figures["retrieval_hit_rate"]) == (1, 1.0)
    assert figures["counts"]["useful"] == 1


@pytest.mark.req("D-15")
def test_the_decisions_of_background_work_are_in_the_log(world: World) -> None:
    turns = [{"user": "I live in Oslo.", "assistant": "Noted."}]
    texts = {"agent_id": "coach", "conversation_id": "c", "turns": turns, "user_id": "alice"}
    world.client.post("/memory/ingest", json=texts)
    (run,) = world.client.get("/v1/jobs?task=facts&user_id=alice").json()["results"]
    assert run["details"]["event"] == "memory_decision"
    (decision,) = run["details"]["decisions"]
    assert (decision["action"], decision["fact"]) == ("add", "User lives in Oslo.")
    assert world.client.get("/v1/jobs?status=perhaps").status_code == 400


# --- settings and pauses ----------------------------------------------------------------------------------------------


def test_settings_are_set_for_a_user_by_their_key_and_for_all_by_an_administrator(world: World) -> None:
    alice = world.as_key(user_id="alice")
    assert alice.put("/v1/settings", json={"values": {"context.budget": 600}}).json()["scope"] == "user"
    assert alice.get("/v1/settings").json()["settings"]["context.budget"] == 600
    assert alice.put("/v1/settings?user_id=bob", json={"values": {"context.budget": 1}}).status_code == 403
    assert world.client.get("/v1/settings").json()["settings"]["context.budget"] != 600
    writer = world.as_key(verbs=["read", "write"])
    assert writer.put("/v1/settings", json={"values": {"context.budget": 700}}).status_code == 403
    assert world.client.put("/v1/settings", json={"values": {"context.budget": 700}}).status_code == 200
    assert world.client.put("/v1/settings", json={"values": {"nonsense": 1}}).status_code == 400
    assert alice.delete("/v1/settings?confirm=alice").json()["unset"] == 1
    assert alice.get("/v1/settings").json()["settings"]["context.budget"] == 700


def test_memory_stands_still_until_it_is_resumed(world: World) -> None:
    world.client.post("/v1/pause", json={"user_id": "alice"})
    texts = {"messages": "I like tea", "user_id": "alice", "infer": False}
    assert world.client.post("/v1/memories", json=texts).json()["status"] == "paused"
    assert [one["user_id"] for one in world.client.get("/v1/pause").json()["paused"]] == ["alice"]
    world.client.delete("/v1/pause?user_id=alice")
    assert world.client.post("/v1/memories", json=texts).json()["status"] == "ok"


# --- the service itself -----------------------------------------------------------------------------------------------


@pytest.mark.req("N-42")
def test_the_last_requests_are_shown_to_administrators_of_their_tenant(world: World) -> None:
    world.client.get("/v1/memories/search?q=swordfish&user_id=alice", headers={"X-Request-ID": "mine"})
    world.client.post("/v1/memories", json={})
    other = world.as_key("acme", verbs=["admin"])
    other.get("/v1/keys")
    answer = world.client.get("/v1/console/requests")
    last, first = answer.json()["results"][:2]
    assert (last["method"], last["route"], last["status"]) == ("POST", "/v1/memories", 400)
    assert (first["route"], first["status"], first["request_id"]) == ("/v1/memories/search", 200, "mine")
    assert "swordfish" not in answer.text
    assert {one["route"] for one in other.get("/v1/console/requests").json()["results"]} == {"/v1/keys"}
    assert world.as_key(verbs=["read"]).get("/v1/console/requests").status_code == 403


@pytest.mark.req("N-42")
def test_the_journal_is_bounded_in_number_and_age() -> None:
    journal = Journal(entries=3, hours=1)
    for at in (0.0, 10.0, 20.0, 30.0):
        journal.note(RequestRecord(at, "default", "k", "GET", f"/{at:.0f}", 200, 1.0, ""))
    assert [line.route for line in journal.of("default", 30.0)] == ["/30", "/20", "/10"]
    assert [line.route for line in journal.of("default", 3_625.0)] == ["/30"]
    assert list(journal.of("acme", 30.0)) == []


@pytest.mark.req("N-42")
def test_the_configuration_is_shown_without_secrets() -> None:
    canary = "canary-7f3a"
    service = {"name": "m", "base_url": "http://127.0.0.1:9", "api_key": canary}
    config = {
        **CONFIG,
        "llm": {
            "provider": "openai",
            "config": {"api_key": canary, "model": "m", "base_url": f"http://u:{canary}@h/v1"},
        },
        "gateway": {"upstreams": [service]},
    }
    with World.of(config) as world:
        answer = world.client.get("/v1/console/configuration")
        assert answer.status_code == 200
        assert canary not in answer.text
        visible = answer.json()["configuration"]
        assert visible["llm"]["config"] == {"api_key": "***", "model": "m", "base_url": "http://***@h/v1"}
        assert visible["server"]["port"] == 8420
        assert world.client.get("/v1/console/database").json()["integrity"] == ["ok"]
        assert world.as_key("acme", verbs=["admin"]).get("/v1/console/database").status_code == 403
        assert world.as_key("acme", verbs=["admin"]).get("/v1/console/configuration").status_code == 403


@pytest.mark.req("N-43")
def test_errors_carry_a_code_details_and_a_suggestion(world: World) -> None:
    client = world.client
    wrong = client.post("/v1/console/search", json={"statuses": ["odd"]})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")
    assert wrong.json()["hint"].startswith("any of active")
    detailed = client.post("/query", json={"topK": 0})
    fields = {one["field"] for one in detailed.json()["error"]["details"]}
    assert fields == {"body.vector", "body.topK"}
    missing = client.get("/agents/nobody")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert missing.headers["content-type"].startswith("application/problem+json")
    assert missing.json()["error"]["message"] == missing.json()["detail"]


@pytest.mark.req("N-43")
def test_a_model_that_fails_is_a_bad_gateway() -> None:
    nowhere = {"api_key": "k", "base_url": "http://127.0.0.1:9/v1", "model": "m", "retries": 0}
    with World.of({**CONFIG, "embedder": {"provider": "openai", "config": nowhere}}) as world:
        failed = world.client.put("/v1/memories/x", json={"text": "I live in Rome"})
        assert failed.status_code == 502
        assert failed.json()["retryable"] is True


# --- long work --------------------------------------------------------------------------------------------------------


def test_long_work_is_a_job_whose_state_can_be_asked_for(world: World) -> None:
    kept(world)
    started = world.client.post("/v1/console/reindex")
    assert started.status_code == 202
    done = ended(world, started.json())
    assert (done["task"], done["state"], done["result"]["failed"]) == ("reindex", "done", 0)
    tidied = ended(world, world.client.post("/v1/console/consolidate", json={"user_id": "alice"}).json())
    assert tidied["result"]["status"] == "completed"
    listed = world.client.get("/v1/console/jobs").json()["results"]
    assert [one["task"] for one in listed] == ["consolidate", "reindex"]
    other = world.as_key("acme", verbs=["admin"])
    assert other.get("/v1/console/jobs").json()["results"] == []
    assert other.get(f"/v1/console/jobs/{done['id']}").status_code == 404
    assert other.post(f"/v1/console/jobs/{done['id']}/cancel").status_code == 404
    assert world.client.post(f"/v1/console/jobs/{done['id']}/cancel").json()["state"] == "done"


def test_a_job_that_fails_says_why(world: World) -> None:
    with World.of({**CONFIG, "embedder": {"provider": "none"}}) as without:
        failed = ended(without, without.client.post("/v1/console/reindex").json())
    assert (failed["state"], failed["error"]["code"]) == ("failed", "config")


def test_work_is_cancelled_where_it_is_and_runs_once_at_a_time() -> None:
    async def scenario() -> None:
        works, steps, begun = Works(Tasks()), list[int](), asyncio.Event()

        async def work(progress: Callable[[int, int], None]) -> dict[str, Any]:
            for step in range(1_000):
                progress(step, 1_000)
                steps.append(step)
                begun.set()
                await asyncio.sleep(0.001)
            return {}

        job = works.start("default", "reindex", work)
        with pytest.raises(Exception, match="already running"):
            works.start("default", "reindex", work)
        other = works.start("acme", "reindex", work)
        await begun.wait()
        await works.cancel("default", job.id)
        await works.cancel("acme", other.id)
        assert (job.state, job.total, job.result) == ("cancelled", 1_000, None)
        assert job.finished_at
        assert len(steps) < 2_000

    asyncio.run(scenario())


def test_erasing_takes_the_id_typed_again_and_gives_a_report(world: World) -> None:
    kept(world)
    kept(world, "I like chess", user="bob")
    assert world.client.post("/v1/console/erase", json={"user_id": "alice", "confirm": "bob"}).status_code == 400
    assert world.client.post("/v1/console/erase", json={"confirm": ""}).status_code == 400
    assert texts(world) == ["I live in Oslo"]
    report = ended(world, world.client.post("/v1/console/erase", json={"user_id": "alice", "confirm": "alice"}).json())
    answer = report["result"]
    left = {check["check"] for check in answer["checks"] if not check["ok"]}
    assert (left, answer["pending"]) == ({"free space"}, True), "a tenant among others waits until it is quiet"
    assert (texts(world), texts(world, "bob")) == ([], ["I like chess"])
    verified = world.client.post("/v1/console/erasures/verify", json=answer).json()
    assert (verified["unchanged"], verified["sealed_by_this_store"], verified["left"]) == (True, True, {})
    world.run(erase_rows.compact_store, world.app.state.memstone.memory.engine.runtime)
    verified = world.client.post("/v1/console/erasures/verify", json=answer).json()
    assert (verified["ok"], verified["complete"]) == (True, True)
