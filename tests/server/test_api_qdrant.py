"""``/api/settings/qdrant`` over a server that answers as Qdrant does: from the settings to a search, and down again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.config import Settings
from memstone.server.app import create_app
from memstone.server.stored_settings import with_stored
from memstone.testing.wire import WireServer
from tests.server.conftest import CONFIG
from tests.server.world import World
from tests.stores.fake_qdrant import FakeQdrant

KEY = "qd-test-0123456789"


@pytest.fixture
def fake() -> FakeQdrant:
    return FakeQdrant(KEY)


@pytest.fixture
def server(fake: FakeQdrant) -> Iterator[WireServer]:
    with WireServer(fake) as running:
        yield running


@contextmanager
def service(path: Path, server: WireServer) -> Iterator[World]:
    """A service over a file, as it starts with what is stored."""
    private = [server.url.removeprefix("http://")]
    config = {**CONFIG, "store": {"url": f"sqlite:///{path}"}, "server": {"private_urls": private}}
    with World.over(create_app(with_stored(Settings.of(config)))) as world:
        yield world


def enable(world: World, server: WireServer, **more: Any) -> dict[str, Any]:
    change = {"enabled": True, "host": server.url, "apiKey": KEY, **more}
    answer = world.client.put("/api/settings/qdrant", json=change)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def world(tmp_path: Path, server: WireServer) -> Iterator[World]:
    """A service that was restarted after Qdrant was switched on, with memories from before."""
    path = tmp_path / "memories.db"
    with service(path, server) as before:
        before.client.post("/api/memory", json={"content": "I drink green tea", "key": "drink", "type": "factual"})
        assert enable(before, server)["status"] == "restart_required"
    with service(path, server) as after:
        yield after


def search(world: World, query: str = "green tea", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = world.client.post("/api/settings/qdrant/search", json={"query": query, **more}).json()
    return found


@pytest.mark.req("O-18", "O-19", "O-23", "R-6", "S-42")
def test_what_was_stored_before_is_found_in_qdrant_after_it_is_switched_on(world: World, fake: FakeQdrant) -> None:
    assert world.client.get("/api/settings/qdrant").json()["status"] == "active"

    world.client.post("/v1/memories", json={"messages": "I drink green tea", "user_id": "alice", "infer": False})
    world.client.post("/v1/memories/search", json={"query": "green tea", "user_id": "alice"})

    ((name, collection),) = fake.collections.items()
    assert name.startswith("omniroute_memory_")
    assert collection.vectors["distance"] == "Cosine"
    payloads = [point["payload"] for point in collection.points.values()]
    assert any(one["user_id"] == "alice" and one["status"] == "active" and one["created_at"] for one in payloads)
    assert len(payloads) >= 1


@pytest.mark.req("O-19", "N-7.1")
def test_a_search_finds_only_the_memories_of_the_key_and_at_most_twenty(world: World) -> None:
    for n in range(25):
        body = {"content": f"I drink green tea number {n}", "key": f"drink-{n}", "type": "factual"}
        assert world.client.post("/api/memory", json=body).status_code in (200, 201)
    world.client.post("/v1/memories", json={"messages": "I drink green tea too", "user_id": "bob", "infer": False})

    found = search(world, topK=50)

    assert (found["ok"], found["status"], len(found["results"])) == (True, "ok", 20)
    assert not any("too" in one["content"] for one in found["results"])
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.req("O-20", "R-18")
def test_a_deleted_memory_leaves_qdrant_with_the_next_search(world: World, fake: FakeQdrant) -> None:
    answer = world.client.post("/v1/memories", json={"messages": "I own a boat", "user_id": "u", "infer": False}).json()
    world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"})
    (collection,) = fake.collections.values()
    before = len(collection.points)

    world.client.delete(f"/v1/memories/{answer['results'][0]['id']}")
    world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"})

    assert len(collection.points) == before - 1


@pytest.mark.req("O-21", "R-18")
def test_cleanup_counts_then_deletes_what_the_ledger_does_not_know(
    world: World, fake: FakeQdrant, server: WireServer
) -> None:
    world.client.post("/v1/memories", json={"messages": "I own a boat", "user_id": "u", "infer": False})
    world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"})
    (collection,) = fake.collections.values()
    known = next(iter(collection.points.values()))
    stray = "6b1d7e0a-0000-4000-8000-000000000001"
    collection.points[stray] = {**known, "id": stray, "payload": {**known["payload"], "_point_id": stray, "seq": 9_999}}

    dry = world.client.post("/api/settings/qdrant/cleanup", json={"dryRun": True}).json()
    assert (dry["ok"], dry["status"], dry["deletedCount"]) == (True, "dry_run", 1)
    assert stray in collection.points

    done = world.client.post("/api/settings/qdrant/cleanup").json()
    assert (done["ok"], done["deletedCount"], done["latencyMs"] > 0) == (True, 1, True)
    assert stray not in collection.points
    server.requests.clear()
    again = world.client.post("/api/settings/qdrant/cleanup").json()
    assert again["deletedCount"] == 0
    assert not any("delete" in request.path for request in server.requests), "nothing to delete is no request"


@pytest.mark.req("O-21", "O-21.1", "N-7.1")
def test_cleanup_deletes_the_points_of_memories_older_than_a_number_of_days(
    world: World, fake: FakeQdrant, tmp_path: Path
) -> None:
    for text in ("I own a boat", "I keep bees"):
        world.client.post("/v1/memories", json={"messages": text, "user_id": "u", "infer": False})
    with closing(sqlite3.connect(tmp_path / "memories.db")) as database, database:
        database.execute("UPDATE memories SET created_at = '2010-01-01T00:00:00.000000Z' WHERE text = 'I own a boat'")
    world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"})
    (collection,) = fake.collections.values()
    before = len(collection.points)

    def clean_up(**body: Any) -> int:
        count: int = world.client.post("/api/settings/qdrant/cleanup", json=body).json()["deletedCount"]
        return count

    assert clean_up(dryRun=True) == clean_up() == 0
    assert clean_up(dryRun=True, retentionDays=30) == 1
    assert clean_up(dryRun=True, retentionDays=10**6) == 1, "more than ten years is ten years"
    assert clean_up(dryRun=True, retentionDays=-5) == 1, "less than a day is a day"
    assert clean_up(retentionDays=30) == 1
    assert len(collection.points) == before - 1
    assert clean_up(retentionDays=30) == 0
    found = world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"}).json()["results"]
    assert "I own a boat" in [one["memory"] for one in found], "the memory itself stays"


@pytest.mark.req("O-22")
def test_health_says_whether_it_is_ready_and_how_fast(world: World, fake: FakeQdrant, server: WireServer) -> None:
    health = world.client.get("/api/settings/qdrant/health").json()
    assert (health["ok"], health["latencyMs"] > 0, "error" in health) == (True, True, False)
    assert "/readyz" in [request.path for request in server.requests]

    fake.ready = False
    health = world.client.get("/api/settings/qdrant/health").json()
    assert (health["ok"], health["error"]) == (False, "127.0.0.1 answered 503")

    world.client.put("/api/settings/qdrant", json={"enabled": False})
    health = world.client.get("/api/settings/qdrant/health").json()
    assert health == {"ok": False, "status": "not_configured", "latencyMs": 0.0, "error": "not_configured"}


@pytest.mark.req("O-24", "N-1", "N-15")
def test_with_qdrant_down_memories_are_stored_and_found_and_the_answer_says_why(
    world: World, server: WireServer
) -> None:
    server.handler = None  # from now on it answers 500
    stored = world.client.post("/v1/memories", json={"messages": "I own a boat", "user_id": "u", "infer": False})
    assert stored.status_code in (200, 201)

    found = world.client.post("/v1/memories/search", json={"query": "boat", "user_id": "u"}).json()

    assert [one["memory"] for one in found["results"]] == ["I own a boat"]
    assert [one["channel"] for one in found["degraded"]] == ["vector_store"]
    cleanup = world.client.post("/api/settings/qdrant/cleanup").json()
    assert (cleanup["ok"], cleanup["status"], len(cleanup["error"]) <= 300) == (False, "error", True)


@pytest.mark.req("O-18.1", "R-18")
def test_erasing_takes_the_text_out_of_qdrant(server: WireServer, fake: FakeQdrant) -> None:
    store = {"provider": "qdrant", "config": {"url": server.url, "api_key": KEY}, "payload_text": True}
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "vector_store": store}) as memory:
        memory.add("I own a boat", user_id="alice", infer=False)
        memory.add("I keep bees", user_id="bob", infer=False)
        memory.search("boat", user_id="alice")

        def texts() -> list[str]:
            points = [point for one in fake.collections.values() for point in one.points.values()]
            return sorted(point["payload"]["text"] for point in points)

        assert texts() == ["I keep bees", "I own a boat"]
        memory.admin.erase(user_id="alice")
        assert texts() == ["I keep bees"]
