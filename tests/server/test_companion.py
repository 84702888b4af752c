"""The routes of a companion's host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.conftest import CONFIG
from tests.server.rooms import Room
from tests.server.world import World

SAID = "I moved to Oslo last week and started a new job at the harbour, which I like a lot."
CONVERSATION: dict[str, Any] = {
    "agent_id": "coach",
    "conversation_id": "monday",
    "turns": [
        {"user": SAID, "assistant": "How is it?"},
        {"user": "I am allergic to peanuts.", "assistant": "Noted.", "date": "2026-03-01"},
    ],
    "session_date": "2026-02-01",
    "user_id": "alice",
}


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of({**CONFIG, "preset": "companion"}) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


def transcript(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.client.get("/memory/transcript?conversation_id=monday").json()["results"]
    return found


@pytest.mark.req("S-63", "N-17")
def test_a_conversation_is_kept_and_distilled_at_once(world: Room) -> None:
    answer = world.client.post("/memory/ingest", json=CONVERSATION).json()
    assert answer["status"] == "ok"
    assert (answer["turns_ingested"], answer["distillation"]) == (2, "distilled")
    assert answer["episode_id"]
    (episode,) = world.client.get("/memory/episodes?user_id=alice").json()["results"]
    assert "Oslo" in episode["summary"]
    lines = transcript(world)
    assert [one["index"] for one in lines] == [0, 1, 2, 3]
    assert [one["role"] for one in lines] == ["user", "assistant", "user", "assistant"]
    assert [one["occurred_at"][:10] for one in lines] == ["2026-02-01", "2026-02-01", "2026-03-01", "2026-03-01"]
    assert [one["token_count"] for one in lines] == [len(SAID) // 4, 2, 6, 1]


@pytest.mark.req("S-63")
def test_ingested_again_a_conversation_takes_the_place_of_the_old_one(world: Room) -> None:
    world.client.post("/memory/ingest", json=CONVERSATION)
    shorter = {**CONVERSATION, "turns": [{"user": SAID, "assistant": "Tell me more."}]}
    assert world.client.post("/memory/ingest", json=shorter).json()["turns_ingested"] == 1
    assert [one["content"] for one in transcript(world)] == [SAID, "Tell me more."]
    assert len(world.client.get("/memory/episodes?user_id=alice").json()["results"]) == 1


@pytest.mark.req("S-63")
def test_with_skip_extraction_only_the_words_are_kept(world: Room) -> None:
    answer = world.client.post("/memory/ingest", json={**CONVERSATION, "skip_extraction": True}).json()
    assert answer["distillation"] == "no_signals"
    assert len(transcript(world)) == 4
    assert world.client.get("/memory/episodes?user_id=alice").json()["results"] == []
    assert world.client.get("/v1/memories?user_id=alice").json()["results"] == []


@pytest.mark.req("S-63", "N-43")
@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_id": None},
        {"conversation_id": " "},
        {"turns": []},
        {"turns": [{"user": "hello"}]},
        {"turns": [{"user": " ", "assistant": ""}]},
        {"turns": [{"user": "hello", "assistant": "hi", "mood": "good"}]},
        {"turns": "hello"},
        {"session_date": "soon"},
        {"skip_extraction": "perhaps"},
        {"extra": 1},
    ],
)
def test_a_body_that_is_wrong_is_refused_and_nothing_is_kept(world: World, wrong: dict[str, Any]) -> None:
    answer = world.client.post("/memory/ingest", json={**CONVERSATION, **wrong})
    assert answer.status_code == 400
    assert answer.json()["code"] in {"invalid_input", "scope"}
    assert transcript(world) == []


@pytest.mark.req("S-63")
def test_a_bound_key_takes_in_conversations_of_its_own_user_only(world: Room) -> None:
    bob = world.as_key(user_id="bob")
    assert bob.post("/memory/ingest", json=CONVERSATION).status_code == 403
    own = {name: value for name, value in CONVERSATION.items() if name != "user_id"}
    assert bob.post("/memory/ingest", json=own).status_code == 200
    assert {one["user_id"] for one in transcript(world)} == {"bob"}
    alice = world.as_key(user_id="alice")
    assert alice.get("/memory/transcript?conversation_id=monday").json()["results"] == []
    assert alice.get("/memory/transcript?user_id=bob").status_code == 403


def test_what_somebody_wrote_about_themselves_is_kept_and_changed(world: Room) -> None:
    client = world.client
    client.post("/memory/identity/overrides", json={"text": "Call me Al", "user_id": "alice"})
    client.post("/memory/identity/overrides", json={"text": "I am vegan", "user_id": "alice"})
    visible = client.get("/memory/identity?user_id=alice").json()["overrides"]
    assert [one["text"] for one in visible] == ["Call me Al", "I am vegan"]
    gone = client.delete("/memory/identity/overrides/0?user_id=alice").json()["overrides"]
    assert [one["text"] for one in gone] == ["I am vegan"]
    both = client.put("/memory/identity/overrides", json={"texts": ["A", "B"], "user_id": "alice"}).json()["overrides"]
    assert [one["text"] for one in both] == ["A", "B"]
    assert client.delete("/memory/identity/overrides/9?user_id=alice").status_code == 404
    own = world.as_key(user_id="alice").get("/memory/identity").json()
    assert [one["text"] for one in own["overrides"]] == ["A", "B"]


@pytest.mark.req("S-66")
def test_consolidation_and_sync_are_run_when_asked_for(world: Room) -> None:
    session = {"user_id": "alice", "agent_id": "coach", "run_id": "tuesday"}
    world.client.post("/v1/memories", json={"messages": SAID, **session})
    synced = world.client.post("/memory/sync").json()
    assert (synced["stored"] > 0, synced["waiting"]) == (True, 0)
    assert world.client.get("/memory/episodes?user_id=alice").json()["results"]
    done = world.client.post("/memory/consolidate").json()
    assert done["status"] == "completed"
    assert world.client.get("/v1/console/dashboard").json()["last_consolidation"]["status"] == "success"


@pytest.mark.req("S-66")
def test_all_layers_are_cleared_by_an_administrator_who_types_the_tenants_name(world: Room) -> None:
    world.client.post("/memory/ingest", json=CONVERSATION)
    assert world.as_key(verbs=["write"]).post("/memory/clear", json={"confirm": world.tenant}).status_code == 403
    bound = world.as_key(verbs=["admin"], agent_id="coach")
    assert bound.post("/memory/clear", json={"confirm": world.tenant}).status_code == 403
    assert world.client.post("/memory/clear", json={"confirm": "sure"}).status_code == 400
    assert transcript(world)
    assert world.client.post("/memory/clear", json={"confirm": world.tenant}).json() == {"status": "cleared"}
    assert set(world.client.get("/v1/console/dashboard").json()["counts"].values()) == {0}


def test_whose_identity_is_asked_for_when_nobody_is_named(world: World) -> None:
    assert world.client.get("/memory/identity").json()["user_id"] == "owner"
    assert world.as_key(user_id="alice").get("/memory/identity").json()["user_id"] == "alice"
