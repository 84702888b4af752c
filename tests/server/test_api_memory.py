"""``/api/memory``: entries under keys, in the shapes of the gateway's clients."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.conftest import CONFIG
from tests.server.world import World

if TYPE_CHECKING:
    from starlette.testclient import TestClient

CITY = {"key": "user:city", "content": "Lives in Oslo", "apiKeyId": "alice"}


def created(client: TestClient, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/memory", json={**CITY, **more})
    assert answer.status_code == 200, answer.text
    entry: dict[str, Any] = answer.json()["id"]
    return entry


@pytest.mark.req("O-77")
def test_create_gives_the_whole_entry_under_its_key(client: TestClient) -> None:
    answer = client.post("/api/memory", json={**CITY, "metadata": {"from": "chat"}, "sessionId": "s1"}).json()
    entry = answer["id"]
    assert answer["success"] is True
    assert answer["memoryId"] == entry["id"]
    assert set(entry) >= {"apiKeyId", "sessionId", "type", "key", "content", "metadata", "createdAt", "updatedAt"}
    assert (entry["apiKeyId"], entry["sessionId"], entry["type"]) == ("alice", "s1", "factual")
    assert (entry["key"], entry["content"], entry["metadata"]) == ("user:city", "Lives in Oslo", {"from": "chat"})
    assert entry["expiresAt"] is None


@pytest.mark.req("O-77", "X-22")
def test_the_same_key_is_the_same_entry_with_other_words_and_merged_metadata(client: TestClient) -> None:
    first = created(client, metadata={"a": 1})
    second = created(client, content="Lives in Bergen", metadata={"b": 2})
    assert second["id"] == first["id"]
    assert (second["content"], second["metadata"]) == ("Lives in Bergen", {"a": 1, "b": 2})
    assert client.get("/api/memory", params={"apiKeyId": "alice"}).json()["total"] == 1
    # It is the same memory for every other family of routes.
    assert client.get(f"/v1/memories/{first['id']}").json()["memory"] == "Lives in Bergen"


@pytest.mark.req("O-77")
def test_what_is_wrong_with_an_entry_is_said_and_nothing_is_stored(client: TestClient) -> None:
    several: list[dict[str, Any]] = [
        {"content": ""},
        {"key": ""},
        {"type": "secret"},
        {"metadata": "text"},
        {"expiresAt": "soon"},
        {"surprise": 1},
        {"content": None},
    ]
    for wrong in several:
        answer = client.post("/api/memory", json={**CITY, **wrong})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]
        assert client.get("/api/memory").json()["total"] == 0


@pytest.mark.req("O-77")
def test_an_entry_may_expire(client: TestClient) -> None:
    later = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    assert created(client, expiresAt=later)["expiresAt"].startswith(later[:10])
    assert client.get("/api/memory").json()["total"] == 1


@pytest.mark.req("O-77", "O-11")
@pytest.mark.parametrize("past", ["2020-01-01", "2020-01-01T10:00:00Z", "2020-01-01T10:00:00+02:00"])
def test_an_expiry_that_is_past_is_refused_before_anything_is_written(client: TestClient, past: str) -> None:
    entry = created(client)
    for answer in (
        client.post("/api/memory", json={**CITY, "key": "old", "expiresAt": past}),
        client.post("/api/memory", json={**CITY, "content": "Lives in Bergen", "expiresAt": past}),
        client.put(f"/api/memory/{entry['id']}", json={"expiresAt": past}),
    ):
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith("expiresAt is in the past: 2020-01-01T")
    assert client.get(f"/api/memory/{entry['id']}").json()["memory"] == entry
    everything = client.get("/v1/memories", params={"user_id": "alice", "show_expired": True}).json()["results"]
    assert [one["id"] for one in everything] == [entry["id"]]
    assert len(client.get(f"/v1/memories/{entry['id']}/history").json()["results"]) == 1


def test_what_is_stored_with_a_past_expiry_elsewhere_is_stored_as_expired_and_says_so(client: TestClient) -> None:
    texts = {"messages": "I live in Oslo", "user_id": "alice", "infer": False, "expires_at": "2020-01-01"}
    answer = client.post("/v1/memories", json=texts).json()
    assert any("expires_at" in one for one in answer["warnings"])
    stored = client.get("/v1/memories", params={"user_id": "alice", "show_expired": True}).json()["results"]
    assert [one["id"] for one in stored] == [answer["results"][0]["id"]]
    turns = {"turns": [{"role": "user", "content": "hello"}], "user_id": "bob", "expires_at": "2020-01-01"}
    reply = client.post("/v1/ingest", json=turns).json()
    assert reply["stored"] == 1
    assert any("expires_at" in one for one in reply["warnings"])
    changed = client.post("/v1/memories", json={"messages": "I like tea", "user_id": "eve", "infer": False}).json()
    path = f"/v1/memories/{changed['results'][0]['id']}"
    assert client.put(path, json={"expires_at": "2020-01-01"}).status_code == 200
    assert client.get(path).status_code == 404


@pytest.mark.req("O-77", "O-9")
def test_an_entry_whose_key_has_expired_is_there_again_when_it_is_created_again(world: World) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    first = created(world.client, expiresAt=soon)
    world.run(asyncio.sleep, 1.1)
    assert world.client.get("/api/memory").json()["total"] == 0
    again = created(world.client, content="Lives in Bergen")
    assert world.client.get("/api/memory").json()["data"] == [again]
    assert again["content"] == "Lives in Bergen"
    assert again["expiresAt"] is None
    assert first["key"] == again["key"]


@pytest.mark.req("O-77", "O-41")
def test_an_entry_is_created_where_memory_is_switched_off_but_not_where_it_is_paused(world: World) -> None:
    client = world.client
    assert client.put("/api/settings/memory", json={"enabled": False}).status_code == 200
    entry = created(client)
    assert client.get("/api/memory").json()["data"] == [entry]
    assert client.put(f"/api/memory/{entry['id']}", json={"content": "Lives in Bergen"}).status_code == 200
    learned = client.post("/v1/memories", json={"messages": "I like tea", "user_id": "alice"}).json()
    assert (learned["results"], learned["status"]) == ([], "disabled"), "the switch is about what is learned"
    assert client.post("/v1/pause", json={"user_id": "alice"}).status_code == 200
    refused = client.post("/api/memory", json={**CITY, "key": "other"})
    assert refused.status_code == 409
    assert refused.json()["hint"] == "resume() ends it"
    assert client.get("/api/memory").json()["total"] == 1


@pytest.mark.req("O-77")
@pytest.mark.parametrize("name", ["content", "key"])
@pytest.mark.parametrize("blank", [" ", "\n\t", "\u2003"])
def test_what_is_blank_is_refused_in_words_that_name_the_field(client: TestClient, name: str, blank: str) -> None:
    entry = created(client)
    for answer in (
        client.post("/api/memory", json={**CITY, name: blank}),
        client.put(f"/api/memory/{entry['id']}", json={name: blank}),
    ):
        assert answer.status_code == 400
        assert answer.json()["detail"] == f"body.{name}: must not be blank"
    assert client.get("/api/memory").json()["data"] == [entry]


@pytest.mark.req("O-76")
def test_a_list_has_pages_and_figures_about_all_that_match(client: TestClient) -> None:
    for number in range(5):
        kind = "episodic" if number == 4 else "factual"
        created(client, key=f"k{number}", content=f"Fact number {number}", type=kind, sessionId="s1")
    created(client, key="other", apiKeyId="bob", content="Likes tea")
    page = client.get("/api/memory", params={"apiKeyId": "alice", "limit": 2, "page": 2}).json()
    assert [one["key"] for one in page["data"]] == ["k2", "k1"]
    assert (page["total"], page["page"], page["limit"], page["totalPages"]) == (5, 2, 2, 3)
    assert page["stats"]["byType"] == {"factual": 4, "episodic": 1}
    assert page["stats"]["total"] == 5
    assert page["stats"]["tokensUsed"] == 5 * 4
    assert set(page) == {"data", "total", "page", "limit", "totalPages", "stats"}
    assert set(page["stats"]) == {"total", "byType", "tokensUsed", "hitRate", "cacheStats"}
    assert set(page["stats"]["cacheStats"]) == {"hits", "misses"}
    everybody = client.get("/api/memory").json()
    assert (everybody["total"], everybody["limit"], everybody["page"]) == (6, 50, 1)


@pytest.mark.req("O-13", "O-76")
def test_a_list_is_in_the_order_of_creation_whatever_was_changed_since(client: TestClient) -> None:
    for key in ("a", "b", "c"):
        created(client, key=key, content=f"Fact about {key}")
    created(client, key="a", content="Another fact about a")
    listed = client.get("/api/memory").json()["data"]
    assert [one["key"] for one in listed] == ["c", "b", "a"]
    assert client.get("/api/memory", params={"limit": 1, "offset": 2}).json()["data"] == listed[2:]


@pytest.mark.req("O-76")
@pytest.mark.parametrize("preset", ["gateway", "facts", "shared", "companion"])
@pytest.mark.parametrize("trusted", [False, True])
def test_a_page_that_is_imported_again_is_known_already(preset: str, *, trusted: bool) -> None:
    with World.of({**CONFIG, "preset": preset}) as world:
        client = world.client
        for entry in (CITY, {"key": "tea", "content": "Likes tea", "sessionId": "s1"}, {**CITY, "sessionId": "s2"}):
            assert client.post("/api/memory", json=entry).status_code == 200
        client.post("/v1/memories", json={"messages": "word for word", "user_id": "alice", "infer": False})
        page = client.get("/api/memory").json()
        for _ in range(2):
            answer = world.run(
                world.app.state.memstone.memory.admin.import_from, json.dumps(page).encode(), trusted=trusted
            )
            assert answer["format"] == "gateway"
            assert (answer["stored"], answer["known"], answer["quarantined"]) == (0, len(page["data"]), 0)
        assert client.get("/api/memory").json()["data"] == page["data"]
        assert client.get("/v1/console/quarantine").json()["results"] == []


def test_an_imported_page_with_other_words_under_a_key_waits_for_approval(client: TestClient, world: World) -> None:
    created(client)
    page = client.get("/api/memory").json()
    page["data"][0]["content"] = "Lives in Bergen"
    answer = world.run(world.app.state.memstone.memory.admin.import_from, json.dumps(page).encode())
    assert (answer["stored"], answer["quarantined"]) == (1, 1)
    assert [one["content"] for one in client.get("/api/memory").json()["data"]] == ["Lives in Oslo"]


@pytest.mark.req("O-76")
def test_an_offset_wins_over_a_page_and_tells_which_page_it_is_on(client: TestClient) -> None:
    for number in range(5):
        created(client, key=f"k{number}", content=f"Fact number {number}")
    page = client.get("/api/memory", params={"limit": 2, "page": 1, "offset": 3}).json()
    assert [one["key"] for one in page["data"]] == ["k1", "k0"]
    assert page["page"] == 3 // 2 + 1


@pytest.mark.req("O-76")
def test_a_list_is_narrowed_by_type_session_and_words(client: TestClient) -> None:
    created(client, key="tea", content="Likes green tea", sessionId="s1")
    created(client, key="trip", content="Went to Bergen", sessionId="s2", type="episodic")

    def keys(**wanted: Any) -> list[str]:
        return [one["key"] for one in client.get("/api/memory", params=wanted).json()["data"]]

    assert keys(type="episodic") == ["trip"]
    assert keys(sessionId="s1") == ["tea"]
    assert keys(q="green") == ["tea"]
    assert keys(q="TRIP") == ["trip"]
    assert keys(q="") == ["trip", "tea"]


@pytest.mark.req("O-76")
def test_a_list_refuses_pages_that_cannot_be(client: TestClient) -> None:
    several: list[dict[str, Any]] = [{"limit": 0}, {"limit": 201}, {"page": 0}, {"offset": -1}, {"type": "secret"}]
    for wrong in several:
        assert client.get("/api/memory", params=wrong).status_code == 400


@pytest.mark.req("O-78", "O-79")
def test_an_entry_is_read_and_deleted_by_its_id(client: TestClient) -> None:
    entry = created(client)
    assert client.get(f"/api/memory/{entry['id']}").json() == {"memory": entry}
    assert client.delete(f"/api/memory/{entry['id']}").json() == {"success": True}
    for answer in (client.get(f"/api/memory/{entry['id']}"), client.delete(f"/api/memory/{entry['id']}")):
        assert answer.status_code == 404
        assert answer.json()["error"] == "Not found"


@pytest.mark.req("N-10")
def test_an_entry_is_changed_in_some_of_its_fields(client: TestClient) -> None:
    entry = created(client, metadata={"a": 1})
    changed = client.put(f"/api/memory/{entry['id']}", json={"content": "Lives in Bergen", "type": "semantic"}).json()
    assert changed["success"] is True
    assert (changed["memory"]["content"], changed["memory"]["type"]) == ("Lives in Bergen", "semantic")
    assert (changed["memory"]["key"], changed["memory"]["metadata"]) == ("user:city", {"a": 1})
    renamed = client.put(f"/api/memory/{entry['id']}", json={"key": "home", "metadata": {"b": 2}}).json()["memory"]
    assert (renamed["key"], renamed["metadata"], renamed["content"]) == ("home", {"b": 2}, "Lives in Bergen")


@pytest.mark.req("N-10")
def test_a_change_is_a_strict_subset(client: TestClient) -> None:
    several: list[dict[str, Any]] = [{}, {"apiKeyId": "bob"}, {"content": ""}, {"content": None}, {"type": "x"}]
    for wrong in several:
        entry = created(client)
        assert client.put(f"/api/memory/{entry['id']}", json=wrong).status_code == 400
        missing = client.put("/api/memory/not-there", json={"content": "x"})
        assert (missing.status_code, missing.json()["error"]) == (404, "Not found")


@pytest.mark.req("O-76", "X-22")
def test_without_a_key_there_is_nothing_and_a_reader_does_not_write(world: World) -> None:
    assert world.anonymous().get("/api/memory").status_code == 401
    reader = world.as_key(verbs=["read"])
    assert reader.post("/api/memory", json=CITY).status_code == 403
    assert reader.get("/api/memory").status_code == 403, "everybody's are an administrator's"
    assert reader.get("/api/memory", params={"apiKeyId": "alice"}).status_code == 200
    assert reader.get("/api/settings/memory").status_code == 403


def test_a_key_without_a_user_has_a_pool_of_its_own(world: World) -> None:
    first, second = world.as_key(), world.as_key()
    own = first.post("/api/memory", json={"key": "city", "content": "Lives in Oslo"}).json()["id"]
    other = second.post("/api/memory", json={"key": "city", "content": "Lives in Bergen"}).json()["id"]
    assert own["id"] != other["id"]
    assert own["apiKeyId"] != other["apiKeyId"]
    assert world.client.get("/v1/memories", params={"user_id": f"key:{own['apiKeyId']}"}).json()["results"]
    # The id of a key names its pool to an administrator and to the key itself, and to nobody else.
    named = {"apiKeyId": own["apiKeyId"]}
    for client in (world.client, first):
        assert [one["id"] for one in client.get("/api/memory", params=named).json()["data"]] == [own["id"]]
    assert second.get("/api/memory", params=named).json()["data"] == []


def test_a_key_that_stands_for_a_user_means_that_user(world: World) -> None:
    alice = world.as_key(user_id="alice")
    entry = alice.post("/api/memory", json={"key": "city", "content": "Lives in Oslo"}).json()["id"]
    assert entry["apiKeyId"] == "alice"
    key_id = alice.headers["authorization"].split("_")[1]
    assert alice.get("/api/memory", params={"apiKeyId": key_id}).json()["total"] == 1
    assert world.client.get("/api/memory", params={"apiKeyId": key_id}).json()["total"] == 1


@pytest.mark.req("X-22")
def test_an_owner_outside_the_key_is_refused_everywhere(world: World) -> None:
    created(world.client, apiKeyId="bob")
    alice = world.as_key(user_id="alice", verbs=["read", "write", "admin"])
    assert alice.post("/api/memory", json={**CITY, "apiKeyId": "bob"}).status_code == 403
    assert alice.post("/api/memory", json={"key": "k", "content": "c", "userId": "bob"}).status_code == 403
    assert alice.get("/api/memory", params={"apiKeyId": "bob"}).status_code == 403
    preview = {"query": "city", "apiKeyId": "bob"}
    assert alice.post("/api/memory/retrieve-preview", json=preview).status_code == 403
    assert alice.post("/api/memory/summarize", json={"apiKeyId": "bob"}).status_code == 403
    both = {**CITY, "userId": "carol"}
    assert world.client.post("/api/memory", json=both).status_code == 400
    assert alice.get("/api/memory").json()["total"] == 0


def test_a_key_of_one_user_reaches_no_entry_of_another(world: World) -> None:
    entry = created(world.client, apiKeyId="bob")
    alice = world.as_key(user_id="alice")
    path = f"/api/memory/{entry['id']}"
    assert alice.get(path).status_code == 404
    assert alice.put(path, json={"content": "mine"}).status_code == 404
    assert alice.delete(path).status_code == 404
    assert world.client.get(path).json()["memory"]["content"] == "Lives in Oslo"
    page = alice.get("/api/memory").json()
    assert (page["total"], page["stats"]["tokensUsed"], page["stats"]["byType"]) == (0, 0, {})


@pytest.mark.req("O-14")
def test_the_pool_of_a_key_that_was_brought_over_is_known_by_that_key(world: World) -> None:
    memory = world.app.state.memstone.memory
    world.run(memory.add, "Likes jasmine tea", user_id="key:old-1", run_id="s1", infer=False)
    created(world.client, apiKeyId="alice")
    (entry,) = world.client.get("/api/memory", params={"apiKeyId": "old-1"}).json()["data"]
    assert (entry["content"], entry["apiKeyId"], entry["sessionId"]) == ("Likes jasmine tea", "old-1", "s1")
    (other,) = world.client.get("/api/memory", params={"apiKeyId": "alice"}).json()["data"]
    assert other["content"] != entry["content"]


@pytest.mark.req("D-7", "O-76")
def test_the_hit_rate_is_used_of_shown_and_null_before_there_is_any(world: World) -> None:
    created(world.client, content="My sister is called Ingrid and lives in Tromso", key="sister")
    assert world.client.get("/api/memory", params={"apiKeyId": "alice"}).json()["stats"]["hitRate"] is None
    asked = {"query": "What is my sister called?", "user_id": "alice", "gate": "always"}
    pack = world.client.post("/v1/context", json=asked).json()
    assert pack["citations"]
    memory = world.app.state.memstone.memory
    world.run(memory.review.record_answer, pack["receipt_id"], "Your sister is called Ingrid, in Tromso.")
    rate = world.client.get("/api/memory", params={"apiKeyId": "alice"}).json()["stats"]["hitRate"]
    assert rate == world.run(memory.admin.metrics, user_id="alice")["retrieval_hit_rate"] == 1.0
    assert world.client.get("/api/memory").json()["stats"]["hitRate"] == 1.0
    assert world.client.get("/api/memory", params={"apiKeyId": "bob"}).json()["stats"]["hitRate"] is None
    agent = world.as_key(agent_id="helper", verbs=["read"])
    assert agent.get("/api/memory").json()["stats"]["hitRate"] is None


@pytest.mark.req("O-96")
def test_the_figures_are_those_of_a_cache_that_is_used(world: World) -> None:
    created(world.client)
    before = world.client.get("/api/memory").json()["stats"]["cacheStats"]
    for _ in range(2):
        question = {"query": "Which city?", "apiKeyId": "alice"}
        assert world.client.post("/api/memory/retrieve-preview", json=question).status_code == 200
    after = world.client.get("/api/memory").json()["stats"]["cacheStats"]
    assert after["misses"] == before["misses"] + 1
    assert after["hits"] >= before["hits"] + 1
    assert world.app.state.memstone.settings.embedding_cache.model_dump() == {"entries": 1_000, "seconds": 300.0}
