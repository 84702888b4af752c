"""Agents over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.conftest import CONFIG
from tests.server.rooms import Room
from tests.server.world import World


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


@pytest.mark.req("S-64", "S-67")
def test_agents_are_listed_with_how_many_memories_they_have(world: World) -> None:
    made = world.client.post("/agents", json={"id": "coach", "name": "Coach", "model": "small"})
    assert (made.status_code, made.json()["memory_entry_count"]) == (201, 0)
    for text in ("I like tea", "I live in Oslo"):
        world.client.post("/v1/memories", json={"messages": text, "agent_id": "coach", "infer": False})
    world.client.post("/v1/memories", json={"messages": "I like chess", "agent_id": "guide", "infer": False})
    listed = world.client.get("/agents").json()
    assert {one["id"]: one["memory_entry_count"] for one in listed["agents"]} == {"coach": 2, "guide": 1}
    assert listed["total"] == 2


@pytest.mark.req("S-67")
def test_an_agent_that_a_conversation_names_is_registered_by_itself(world: World) -> None:
    turns = [{"user": "I like tea", "assistant": "Noted."}]
    world.client.post("/memory/ingest", json={"agent_id": "new", "conversation_id": "c", "turns": turns})
    assert world.client.get("/agents/new").json()["settings"] == {"disableMemory": False, "searchMemoryEnabled": False}


@pytest.mark.req("S-67")
def test_an_agent_is_changed_and_removed_with_all_it_has(world: World) -> None:
    client = world.client
    client.post("/agents", json={"id": "coach", "name": "Coach", "system_prompt": "Be kind."})
    changed = client.put("/agents/coach", json={"settings": {"searchMemoryEnabled": True}}).json()
    assert changed["system_prompt"] == "Be kind."
    assert changed["settings"]["searchMemoryEnabled"] is True
    assert changed["settings"]["disableMemory"] is False
    client.post("/v1/memories", json={"messages": "I like tea", "agent_id": "coach", "infer": False})
    assert client.delete("/agents/coach").json() == {"id": "coach", "deleted": 1}
    assert client.get("/agents/coach").status_code == 404
    assert client.delete("/agents/coach").status_code == 404
    assert client.get("/v1/memories?agent_id=coach").json()["results"] == []


@pytest.mark.req("S-67")
def test_an_agent_whose_memory_is_off_keeps_nothing(world: World) -> None:
    world.client.post("/agents", json={"id": "coach", "settings": {"disableMemory": True}})
    texts = {"messages": "I like tea", "agent_id": "coach", "infer": False}
    assert world.client.post("/v1/memories", json=texts).json()["status"] == "disabled"
    assert world.client.get("/agents/coach").json()["memory_entry_count"] == 0


def test_an_agent_without_an_id_gets_one(world: World) -> None:
    made = world.client.post("/agents", json={"name": "Nameless"}).json()
    assert world.client.get(f"/agents/{made['id']}").json()["name"] == "Nameless"


@pytest.mark.req("S-67")
def test_a_key_bound_to_an_agent_reaches_that_one_only(world: World) -> None:
    world.client.post("/agents", json={"id": "coach"})
    world.client.post("/agents", json={"id": "guide"})
    coach = world.as_key(agent_id="coach")
    assert coach.get("/agents/coach").status_code == 200
    assert coach.get("/agents/guide").status_code == 403
    assert coach.put("/agents/guide", json={"name": "mine"}).status_code == 403
    assert coach.get("/agents").status_code == 403
    assert coach.delete("/agents/coach").status_code == 403, "that takes the verb admin"


@pytest.mark.parametrize(
    "wrong", [{"id": "two words"}, {"id": "a", "settings": {"nonsense": 1}}, {"id": "a", "colour": "red"}]
)
def test_an_agent_that_makes_no_sense_is_not_made(world: World, wrong: dict[str, object]) -> None:
    assert world.client.post("/agents", json=wrong).status_code == 400
    assert world.client.get("/agents").json()["agents"] == []
