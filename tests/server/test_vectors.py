"""The vector service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.conftest import CONFIG
from tests.server.rooms import Room
from tests.server.world import World

TEA = {"id": "tea", "values": [1.0, 2.0, 3.0], "metadata": {"content": "likes tea", "topic": "drinks"}}
CHESS = {"id": "chess", "values": [3.0, 0.0, 0.0], "metadata": {"content": "plays chess"}}


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


def put(world: World, *vectors: dict[str, Any], user: str | None = "alice", path: str = "/insert") -> Any:
    return world.client.post(path, json={"vectors": list(vectors), **({"userId": user} if user else {})})


def found(world: World, vector: list[float], **rest: Any) -> list[dict[str, Any]]:
    matches: list[dict[str, Any]] = world.client.post("/query", json={"vector": vector, **rest}).json()["matches"]
    return matches


@pytest.mark.req("P-26")
@pytest.mark.parametrize("prefix", ["", "/vectors"])
def test_vectors_are_stored_and_the_nearest_are_found(world: World, prefix: str) -> None:
    assert put(world, TEA, CHESS, path=f"{prefix}/insert").json() == {"count": 2, "ids": ["tea", "chess"]}
    asked = {"vector": [1, 2, 3], "topK": 2, "userId": "alice", "returnValues": True}
    first, second = world.client.post(f"{prefix}/query", json=asked).json()["matches"]
    assert first == {"id": "tea", "score": 1.0, "values": TEA["values"], "metadata": TEA["metadata"]}
    assert (second["id"], second["score"]) == ("chess", pytest.approx(3 / 126**0.5, abs=1e-5))
    bare = world.client.post(f"{prefix}/query", json={**asked, "returnValues": False, "returnMetadata": False}).json()
    assert bare["matches"][0] == {"id": "tea", "score": 1.0}


@pytest.mark.req("P-26")
def test_an_id_that_is_there_is_not_overwritten_but_linked(world: World) -> None:
    put(world, TEA)
    assert put(world, {**TEA, "values": [9, 9, 9], "metadata": {}}, user="bob").json()["ids"] == ["tea"]
    (match,) = found(world, [1, 2, 3], userId="bob", returnValues=True)
    assert (match["values"], match["metadata"]) == (TEA["values"], TEA["metadata"])
    events = world.client.get("/v1/memories/tea/history").json()["results"]
    assert [(one["event"], one["user_id"]) for one in events] == [("ADD", "alice"), ("LINK", "bob")]


@pytest.mark.req("P-26")
def test_upsert_overwrites_for_all_who_hold_it_and_keeps_the_history(world: World) -> None:
    put(world, TEA)
    put(world, TEA, user="bob")
    new = {**TEA, "values": [0, 5, 0], "metadata": {"content": "likes coffee"}}
    assert put(world, new, path="/upsert").json()["count"] == 1
    for user in ("alice", "bob"):
        (match,) = found(world, [0, 1, 0], userId=user, returnValues=True)
        assert (match["score"], match["values"]) == (1.0, [0.0, 5.0, 0.0])
    put(world, new, path="/upsert")
    events = [one["event"] for one in world.client.get("/v1/memories/tea/history").json()["results"]]
    assert events == ["ADD", "LINK", "UPDATE"], "the same again changes nothing"


@pytest.mark.req("P-26")
def test_a_vector_is_taken_from_one_user_with_a_line_in_the_audit(world: World) -> None:
    put(world, TEA)
    put(world, TEA, user="bob")
    taken = world.client.post("/delete-memory", json={"userId": "alice", "vectorId": "tea"}).json()
    assert (taken["event"], taken["reason"]) == ("UNLINK", "manual_deletion")
    assert found(world, [1, 2, 3], userId="alice") == []
    assert [one["id"] for one in found(world, [1, 2, 3], userId="bob")] == ["tea"]
    last = {"userId": "bob", "vectorId": "tea", "reason": "left us"}
    assert world.client.post("/delete-memory", json=last).json()["event"] == "DELETE"
    reasons = [one["reason"] for one in world.client.get("/v1/memories/tea/history").json()["results"]]
    assert reasons[-2:] == ["manual_deletion", "left us"]
    assert world.client.post("/delete-memory", json=last).status_code == 404


@pytest.mark.req("P-26")
def test_vectors_are_fetched_and_deleted_by_their_ids(world: World) -> None:
    put(world, TEA, CHESS)
    current = world.client.post("/getByIds", json={"ids": ["chess", "nothing", "tea"]}).json()["vectors"]
    assert current == [CHESS, TEA]
    assert world.client.post("/deleteByIds", json={"ids": ["tea", "nothing"]}).json() == {"count": 1, "ids": ["tea"]}
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["chess"]
    assert put(world, TEA).json()["count"] == 1, "an id that was deleted may be used again"
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea", "chess"]


@pytest.mark.req("P-18", "R-9")
def test_a_query_without_a_user_is_an_administrators(world: World) -> None:
    put(world, TEA)
    put(world, CHESS, user="bob")
    reader = world.as_key(verbs=["read", "write"])
    refused = reader.post("/query", json={"vector": [1, 2, 3]})
    assert (refused.status_code, refused.json()["code"]) == (400, "scope")
    assert "tea" not in refused.text
    assert {one["id"] for one in found(world, [1, 2, 3])} == {"tea", "chess"}
    alice = world.as_key(user_id="alice", verbs=["read", "write", "admin"])
    own = alice.post("/query", json={"vector": [1, 2, 3]}).json()["matches"]
    assert [one["id"] for one in own] == ["tea"], "a bound key asks about its own user"


@pytest.mark.req("P-26", "R-9")
def test_what_was_brought_for_nobody_is_seen_by_nobody_until_they_are_linked(world: World) -> None:
    put(world, TEA, user=None)
    assert found(world, [1, 2, 3], userId="alice") == []
    put(world, TEA)
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea"]


@pytest.mark.req("P-26", "R-9")
def test_a_bound_key_neither_sees_nor_touches_vectors_of_others(world: World) -> None:
    put(world, TEA)
    bob = world.as_key(user_id="bob")
    assert bob.post("/query", json={"vector": [1, 2, 3], "userId": "alice"}).status_code == 403
    assert bob.post("/getByIds", json={"ids": ["tea"]}).json()["vectors"] == []
    assert bob.post("/deleteByIds", json={"ids": ["tea"]}).json()["count"] == 0
    assert bob.post("/delete-memory", json={"userId": "bob", "vectorId": "tea"}).status_code == 404
    put(world, CHESS, user="alice")
    put(world, CHESS, user="bob")
    shared = bob.post("/upsert", json={"vectors": [{**CHESS, "values": [5, 5, 5]}]})
    assert shared.status_code == 403, "others hold it, too"
    assert bob.post("/deleteByIds", json={"ids": ["chess"]}).json()["count"] == 1
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea", "chess"]


BOUND: dict[str, dict[str, Any]] = {
    "of a user": {"user_id": "bob"},
    "of an agent": {"agent_id": "helper"},
    "plain": {},
    "plain, in a name": {"name": "bob"},
    "of a neighbour": {"tenant": "next-door", "verbs": ["read", "write", "admin"]},
}


@pytest.mark.req("P-26", "P-19", "R-9")
@pytest.mark.parametrize("whose", BOUND)
@pytest.mark.parametrize("owner", ["a person", "another key", "the same key in another name"])
def test_an_id_that_others_use_is_as_free_as_any_other(world: Room, whose: str, owner: str) -> None:
    made = dict(BOUND[whose])
    name = made.pop("name", None)
    bob = world.as_key(**made)
    owners = {
        "a person": world.client,
        "another key": world.as_key(),
        "the same key in another name": world.anonymous(
            Authorization=bob.headers["authorization"], **{"X-Memstone-User": "alice"}
        ),
    }
    if owner == "the same key in another name" and whose != "plain, in a name":
        owner = "another key"
    other = {"vectors": [{**TEA, "metadata": {"content": "the owner's"}}], "userId": "alice"}
    assert owners[owner].post("/insert", json=other).status_code == 200
    if name is not None:
        bob = world.anonymous(Authorization=bob.headers["authorization"], **{"X-Memstone-User": name})
    user = {"userId": "bob"} if whose in ("of an agent", "plain", "of a neighbour") else {}
    answers = {}
    for vector_id in ("tea", "free"):
        own = {"vectors": [{**TEA, "id": vector_id, "metadata": {"content": "mine"}}], **user}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("/getByIds", {"ids": [vector_id]}),
            ("/deleteByIds", {"ids": [vector_id]}),
            ("/delete-memory", {"userId": "bob", "vectorId": vector_id}),
            ("/upsert", own),
            ("/insert", own),
            ("/getByIds", {"ids": [vector_id]}),
            ("/query", {"vector": TEA["values"], "topK": 9, "returnValues": True, **user}),
            ("/delete-memory", {"userId": "bob", "vectorId": vector_id}),
            ("/getByIds", {"ids": [vector_id]}),
            ("/insert", own),
            ("/deleteByIds", {"ids": [vector_id]}),
        ]
        got = [bob.post(path, json=body) for path, body in asked]
        visible = [(one.status_code, {**one.json(), "request_id": ""}) for one in got]
        answers[vector_id] = str(visible).replace(f"'{vector_id}'", "ID").replace(f" {vector_id}'", "ID")
        assert [one.status_code for one in got].count(200) == 10, visible
    assert answers["tea"] == answers["free"]
    assert "the owner's" not in answers["tea"]
    current = owners[owner].post("/getByIds", json={"ids": ["tea"]}).json()["vectors"]
    assert [one["metadata"] for one in current] == [{"content": "the owner's"}], "nobody has touched it"


@pytest.mark.req("P-26", "X-39")
def test_a_key_finds_what_it_brought_in_the_name_of_somebody(world: Room) -> None:
    plain = world.as_key()
    alice = world.anonymous(Authorization=plain.headers["authorization"], **{"X-Memstone-User": "alice"})
    assert alice.post("/insert", json={"vectors": [TEA]}).json() == {"count": 1, "ids": ["tea"]}
    assert plain.post("/getByIds", json={"ids": ["tea"]}).json()["vectors"] == [TEA]
    assert plain.post("/insert", json={"vectors": [CHESS], "userId": "alice"}).json()["count"] == 1
    assert alice.post("/getByIds", json={"ids": ["chess", "tea"]}).json()["vectors"] == [CHESS, TEA]
    matches = plain.post("/query", json={"vector": [1, 2, 3], "topK": 2, "userId": "alice"}).json()["matches"]
    assert [one["id"] for one in matches] == ["tea", "chess"]
    tea = {"userId": "alice", "vectorId": "tea"}
    gone = plain.post("/delete-memory", json=tea).json()
    assert (gone["event"], gone["user_id"]) == ("DELETE", "alice")
    assert "alice has no" in plain.post("/delete-memory", json=tea).json()["detail"]
    assert alice.post("/insert", json={"vectors": [TEA]}).json()["count"] == 1
    assert plain.post("/deleteByIds", json={"ids": ["tea", "chess"]}).json()["ids"] == ["tea", "chess"]
    assert alice.post("/getByIds", json={"ids": ["chess", "tea"]}).json()["vectors"] == []


@pytest.mark.req("P-26")
def test_writes_are_all_or_nothing(world: World) -> None:
    own = world.client.post("/v1/memories", json={"messages": "I like tea", "user_id": "alice", "infer": False})
    memory_id = own.json()["results"][0]["id"]
    refused = put(world, CHESS, {**TEA, "id": memory_id})
    assert refused.status_code == 409, "a memory without a vector of theirs is not theirs to touch"
    assert found(world, [3, 0, 0], userId="alice") == []


@pytest.mark.req("P-26")
def test_spaces_do_not_mix(world: World) -> None:
    put(world, TEA)
    put(world, {"id": "flat", "values": [1, 2]})
    assert [one["id"] for one in found(world, [1, 2], userId="alice")] == ["flat"]
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea"]
    states = {one["signature"]: one["state"] for one in world.client.get("/v1/stats").json()["indexes"]}
    assert {name for name, state in states.items() if state == "active"} == {"hash:bow-v1:256"}
    assert {"external:2", "external:3"} <= set(states)
    world.client.post("/v1/console/reindex")
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea"]
    by_words = world.client.get("/v1/memories/search?q=tea&user_id=alice").json()["results"]
    assert by_words[0]["id"] == "tea", "what they say is found by its words"


@pytest.mark.req("P-26")
def test_a_vector_without_words_is_shown_to_no_model(world: World) -> None:
    put(world, {"id": "silent-one", "values": [1, 2, 3]}, TEA)
    assert {one["id"] for one in found(world, [1, 2, 3], userId="alice")} == {"silent-one", "tea"}
    pack = world.client.post("/v1/context", json={"query": "what tea do I like?", "user_id": "alice", "gate": "always"})
    assert "likes tea" in pack.json()["text"]
    assert "silent-one" not in pack.json()["text"]


def test_a_disabled_vector_is_found_again_when_it_is_enabled(world: World) -> None:
    put(world, TEA)
    world.client.post("/v1/console/memories/tea/disable")
    assert found(world, [1, 2, 3], userId="alice") == []
    assert world.client.post("/getByIds", json={"ids": ["tea"]}).json()["vectors"] == []
    world.client.post("/v1/console/memories/tea/enable")
    assert [one["id"] for one in found(world, [1, 2, 3], userId="alice")] == ["tea"]


@pytest.mark.req("P-26", "N-43")
@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [{"id": "a", "values": []}],
        [{"id": "a", "values": [0, 0, 0]}],
        [{"id": "a", "values": ["x"]}],
        [{"id": " ", "values": [1]}],
        [{"id": "a\u0000b", "values": [1]}],
        [{"id": "a", "values": [1]}, {"id": "a", "values": [2]}],
        [{"id": "a", "values": [1]}, {"id": "b", "values": [1, 2]}],
        [{"id": "a", "values": [1e300]}],
        [{"id": "a", "values": [1], "metadata": {"content": "x" * 60_000}}],
        [{"id": "a", "values": [1], "owner": "me"}],
    ],
)
def test_vectors_that_make_no_sense_are_refused(world: World, wrong: list[dict[str, Any]]) -> None:
    answer = world.client.post("/insert", json={"vectors": wrong, "userId": "alice"})
    assert answer.status_code in {400, 413}
    assert answer.json()["code"] in {"invalid_input", "too_large"}
    assert world.client.get("/v1/memories?user_id=alice").json()["results"] == []


def test_secrets_in_metadata_are_masked(world: World) -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 6
    answer = put(world, {"id": "a", "values": [1], "metadata": {"content": f"my key is {secret}", "key": secret}})
    assert answer.json()["warnings"]
    assert secret not in world.client.post("/getByIds", json={"ids": ["a"]}).text


def test_nothing_is_stored_for_somebody_who_is_paused(world: World) -> None:
    world.client.post("/v1/pause", json={"user_id": "alice"})
    assert put(world, TEA).json()["status"] == "paused"
    assert world.client.post("/getByIds", json={"ids": ["tea"]}).json()["vectors"] == []
