"""``/api/memory/health`` and its neighbours: whether memory works, what it is made of, tries and long work."""

from __future__ import annotations

import logging
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

from memstone.engine.status import PROBE_KEY, PROBE_OWNER
from memstone.language.text.normal import estimate_tokens
from tests.server.conftest import CONFIG
from tests.server.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient


def kept(client: TestClient, key: str, content: str, **more: Any) -> None:
    entry = {"key": key, "content": content, "apiKeyId": "alice", **more}
    assert client.post("/api/memory", json=entry).status_code == 200


def settled(client: TestClient) -> int:
    """How many still wait for a vector, when nothing is at work any more."""
    found: dict[str, Any] = {"pending": -1}
    for _ in range(10_000):
        found = client.post("/api/memory/reindex", json={}).json()
        if not found["started"] and not found["pending"]:
            break
        time.sleep(0.01)
    waiting: int = found["pending"]
    return waiting


@pytest.mark.req("O-80", "R-33")
def test_health_makes_a_round_trip_and_leaves_no_row_anywhere(world: World, caplog: pytest.LogCaptureFixture) -> None:
    kept(world.client, "city", "Lives in Oslo")
    before = world.client.get("/v1/stats").json()
    with caplog.at_level(logging.INFO, "memstone"):
        answer = world.client.get("/api/memory/health").json()
    lines = [one.getMessage() for one in caplog.records if one.name == "memstone"]
    assert lines == ["memory.verify.start", "memory.verify.complete"]
    assert answer["working"] is True
    assert answer["latencyMs"] >= 0
    assert "error" not in answer
    after = world.client.get("/v1/stats").json()
    counted = ("memories", "events", "fulltext", "vectors", "pending")
    assert {name: before[name] for name in counted} == {name: after[name] for name in counted}
    assert world.client.get("/api/memory", params={"apiKeyId": PROBE_OWNER}).json()["total"] == 0
    assert world.client.get("/api/memory", params={"q": PROBE_KEY}).json()["total"] == 0


@pytest.mark.req("O-80")
def test_health_says_what_is_wrong_and_is_there_for_every_reader(tmp_path: Path) -> None:
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}}
    with World.of(config) as world:
        assert world.as_key(user_id="alice", verbs=["read"]).get("/api/memory/health").json()["working"] is True
        with sqlite3.connect(tmp_path / "m.db") as database:
            database.execute("ALTER TABLE links RENAME TO gone")
        answer = world.client.get("/api/memory/health").json()
        assert answer["working"] is False
        assert answer["error"]


@pytest.mark.req("N-10")
def test_a_preview_ranks_with_reasons_and_counts_nothing_as_used(world: World) -> None:
    kept(world.client, "tea", "Likes green tea in the morning")
    kept(world.client, "trip", "Went to Bergen by train")
    asked = {"query": "green tea", "apiKeyId": "alice"}
    found = world.client.post("/api/memory/retrieve-preview", json=asked).json()
    first = found["items"][0]
    assert (first["key"], first["tier"], first["apiKeyId"]) == ("tea", "hybrid", "alice")
    assert first["tokens"] == estimate_tokens(first["content"])
    assert first["vecScore"] > 0
    assert first["ftsScore"] > 0
    assert first["score"] > found["items"][-1]["score"] or len(found["items"]) == 1
    assert found["resolution"]["strategy"] == "hybrid"
    assert found["resolution"]["fallbackReason"] is None
    assert found["totals"]["maxTokens"] == 1_400
    assert found["totals"]["tokens"] == sum(one["tokens"] for one in found["items"])
    memory = world.app.state.memstone.memory
    assert world.run(memory.admin.metrics, everybody=True)["counts"]["injected"] == 0
    assert all(one["use_count"] == 0 for one in world.run(memory.profile.facts, user_id="alice")["results"])


@pytest.mark.req("N-10")
def test_a_preview_fits_into_its_tokens_and_takes_another_strategy(client: TestClient) -> None:
    kept(client, "long", "Tea " + "and very much more about it " * 40)
    kept(client, "short", "Tea is green")
    asked = {"query": "tea", "apiKeyId": "alice", "maxTokens": 20}
    found = client.post("/api/memory/retrieve-preview", json=asked).json()
    assert [one["key"] for one in found["items"]] == ["short"]
    assert (found["totals"]["found"], found["totals"]["shown"]) == (2, 1)
    newest = client.post("/api/memory/retrieve-preview", json={**asked, "strategy": "recent", "limit": 1}).json()
    assert [one["key"] for one in newest["items"]] == ["short"]
    assert newest["items"][0]["tier"] == "recent"


@pytest.mark.req("N-10")
def test_a_preview_refuses_what_cannot_be(client: TestClient) -> None:
    several: list[dict[str, Any]] = [{"query": ""}, {"maxTokens": 16_001}, {"limit": 101}, {"limit": 0}, {"more": 1}]
    for wrong in several:
        assert client.post("/api/memory/retrieve-preview", json={"query": "tea", **wrong}).status_code == 400


@pytest.mark.req("N-10")
def test_without_an_embedder_a_preview_says_why_it_fell_back() -> None:
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as world:
        kept(world.client, "tea", "Likes green tea")
        asked = {"query": "green tea", "apiKeyId": "alice"}
        found = world.client.post("/api/memory/retrieve-preview", json=asked).json()
        assert [one["tier"] for one in found["items"]] == ["keyword"]
        assert "no embedder" in found["resolution"]["fallbackReason"]
        status = world.client.get("/api/memory/engine-status").json()
        assert status["keyword"]["available"] is True
        for name in ("embedding", "vectorStore", "rerank", "qdrant"):
            assert status[name]["available"] is False
            assert status[name]["reason"]
        assert world.client.post("/api/memory/reindex", json={}).json() == {"started": False, "pending": 0}


@pytest.mark.req("N-10")
def test_the_status_has_a_block_for_every_part(world: World) -> None:
    kept(world.client, "tea", "Likes green tea")
    status = world.client.get("/api/memory/engine-status").json()
    assert set(status) >= {"keyword", "embedding", "vectorStore", "qdrant", "rerank"}
    assert all({"available", "reason"} <= set(block) for block in status.values())
    assert status["embedding"]["provider"] == "hash"
    assert status["vectorStore"]["needsReindex"] is False
    assert status["qdrant"] == {"available": False, "reason": "not_configured"}
    bound = world.as_key(user_id="alice", verbs=["read"])
    assert bound.get("/api/memory/engine-status").status_code == 200


@pytest.mark.req("N-10")
def test_the_providers_of_embeddings_are_listed_with_the_one_that_is_used(client: TestClient) -> None:
    found = {one["id"]: one for one in client.get("/api/memory/embedding-providers").json()["providers"]}
    assert {"local", "openai", "ollama"} <= set(found)
    assert found["local"]["local"] is True
    assert (found["openai"]["available"], found["openai"]["reason"]) == (False, "no_key")
    assert "openai/text-embedding-3-small" in [one["id"] for one in found["openai"]["models"]]
    assert "hash" not in found


@pytest.mark.req("N-10")
def test_old_entries_are_shortened_by_age_and_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    long = "The first sentence. The second one. The third one. The fourth one. The fifth one."
    with World.of({**CONFIG, "store": {"url": f"sqlite:///{path}"}}) as world:
        kept(world.client, "old", long, type="episodic")
        kept(world.client, "theirs", long, type="episodic", apiKeyId="bob")
        with sqlite3.connect(path) as database:
            database.execute("UPDATE memories SET created_at = '2026-01-01T00:00:00.000000Z'")
        kept(world.client, "new", "Yesterday. " + long, type="episodic")
        dry = world.client.post("/api/memory/summarize", json={"dryRun": True, "apiKeyId": "alice"}).json()
        assert (dry["originalCount"], dry["summarizedCount"], dry["dryRun"]) == (2, 1, True)
        assert dry["tokensSaved"] > 0
        assert world.client.get("/api/memory", params={"q": "fifth"}).json()["total"] == 3
        done = world.client.post("/api/memory/summarize", json={"olderThanDays": 30}).json()
        assert (done["summarizedCount"], done["dryRun"]) == (2, False)
        left = world.client.get("/api/memory", params={"q": "fifth"}).json()["data"]
        assert [one["key"] for one in left] == ["new"]


@pytest.mark.req("N-10")
def test_summarizing_refuses_what_cannot_be(client: TestClient) -> None:
    several: list[dict[str, Any]] = [{"olderThanDays": 0}, {"olderThanDays": 366}, {"dryRun": "yes"}, {"x": 1}]
    for wrong in several:
        assert client.post("/api/memory/summarize", json=wrong).status_code == 400


@pytest.mark.req("N-10")
def test_reindexing_goes_on_in_the_background_and_is_for_whoever_reaches_all(world: World) -> None:
    kept(world.client, "tea", "Likes green tea")
    assert world.client.post("/api/memory/reindex", json={}).json() == {"started": False, "pending": 0}
    assert world.client.post("/api/memory/reindex", json={"force": True}).json()["started"] is True
    assert settled(world.client) == 0
    asked = {"query": "green tea", "apiKeyId": "alice"}
    assert world.client.post("/api/memory/retrieve-preview", json=asked).json()["items"][0]["vecScore"] > 0
    assert world.as_key(verbs=["write"]).post("/api/memory/reindex", json={}).status_code == 403
    bound = world.as_key(user_id="alice", verbs=["read", "write", "admin"])
    assert bound.post("/api/memory/reindex", json={}).status_code == 403


@pytest.mark.req("N-10")
def test_what_was_stored_without_an_embedder_waits_and_gets_its_vectors(tmp_path: Path) -> None:
    store = {"url": f"sqlite:///{tmp_path / 'm.db'}"}
    with World.of({"store": store, "embedder": {"provider": "none"}}) as world:
        for number in range(3):
            kept(world.client, f"k{number}", f"Likes tea number {number}")
    with World.of({"store": store, "embedder": {"provider": "hash"}}) as world:
        assert world.client.get("/api/memory/engine-status").json()["vectorStore"]["pending"] == 3
        assert world.client.post("/api/memory/reindex", json={}).json() == {"started": True, "pending": 3}
        assert settled(world.client) == 0
        assert world.client.get("/api/memory/engine-status").json()["vectorStore"]["needsReindex"] is False


@pytest.mark.req("O-95")
def test_a_read_by_id_follows_every_write_of_another_process_at_once(tmp_path: Path) -> None:
    """No copy is held that could be out of date, neither of an entry nor of its absence: see decision 18."""
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}}
    with World.of(config) as one, World.of(config) as other:
        entry = one.client.post("/api/memory", json={"key": "city", "content": "Oslo", "apiKeyId": "a"}).json()["id"]
        path = f"/api/memory/{entry['id']}"
        assert other.client.get(path).json()["memory"]["content"] == "Oslo"
        one.client.put(path, json={"content": "Bergen"})
        assert other.client.get(path).json()["memory"]["content"] == "Bergen"
        one.client.delete(path)
        assert other.client.get(path).status_code == 404
        again = one.client.post("/api/memory", json={"key": "city", "content": "Molde", "apiKeyId": "a"}).json()["id"]
        path = f"/api/memory/{again['id']}"
        assert other.client.get(path).json()["memory"]["content"] == "Molde"
        one.run(one.app.state.memstone.memory.admin.erase, user_id="a")
        assert other.client.get(path).status_code == 404, "what was erased is in no process"


@pytest.mark.req("O-95")
def test_a_miss_is_not_remembered(world: World) -> None:
    memory = world.app.state.memstone.memory
    exported = {"key": "city", "content": "Oslo", "apiKeyId": "a"}
    entry = world.client.post("/api/memory", json=exported).json()["id"]
    world.client.delete(f"/api/memory/{entry['id']}")
    assert world.client.get(f"/api/memory/{entry['id']}").status_code == 404
    world.run(memory.review.restore, entry["id"])
    assert world.client.get(f"/api/memory/{entry['id']}").json()["memory"]["content"] == "Oslo"
