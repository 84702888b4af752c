"""The header that names a user, on every route: whoever is named there need not be named again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.remote.routes import ROUTES
from tests.server.conftest import CONFIG
from tests.server.stock import example_of, list_parameters
from tests.server.world import World

MADE: Final = frozenset(route.path for route in ROUTES.values() if route.made)
ALICE: Final = {"x-openwebui-user-id": "alice"}
USERS: Final = frozenset({"user_id", "userId", "apiKeyId"})
NOT_ABOUT_ONE: Final = frozenset({"/v1/keys", "/v1/accounts", "/v1/accounts/{account}", "/v1/auth/login"})
"""Whom a key or an account is made for is not whom a request is about."""


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A service of the shared preset in which alice and bob are known."""
    with World.of({**CONFIG, "preset": "shared", "write": {"mode": "inline"}}) as world:
        for user, text in (("alice", "I live in Oslo. I like tea."), ("bob", "I live in Rome. I like wine.")):
            world.client.post("/v1/memories", json={"messages": text, "user_id": user, "run_id": "s1"})
            world.client.post("/memory/identity/overrides", json={"text": f"Call me {user}", "user_id": user})
            vector = {"id": f"v-{user}", "values": [0.1, 0.7, 0.2], "metadata": {"content": f"{user} likes chess"}}
            world.client.post("/insert", json={"vectors": [vector], "userId": user})
        yield world


def takes_user(world: World) -> Iterator[tuple[str, str, set[str]]]:
    """Every operation that can be told about whom it is, and under which names."""
    described = world.app.openapi()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            named = {one["name"] for one in list_parameters(described, operation) if one["in"] == "query"}
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = content.get("schema", {})
                schema = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
                form = described["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
                named |= set(form.get("properties", ()))
            if named & USERS and path not in NOT_ABOUT_ONE:
                yield method, path, named & USERS


@pytest.mark.req("P-7", "P-19")
def test_no_route_lets_a_request_name_another_user_than_its_header(shared: World) -> None:
    """The routes are read off the description, so that new ones are covered."""
    key = shared.as_key(may_assert_user=True)
    wrong, tried = list[Any](), 0
    for method, path, names in takes_user(shared):
        tried += 1
        for name in names:
            body = example_of(shared, method, path)
            asked: dict[str, Any] = {"params": {name: "bob"}}
            if isinstance(body, dict) and (name in body or path in MADE):
                asked = {"json": {**body, name: "bob"}}
            answer = key.request(method, path.replace("{", "").replace("}", ""), headers=ALICE, **asked)
            if answer.is_success or "Rome" in answer.text or "wine" in answer.text:
                wrong.append((method, path, name, answer.status_code, answer.text[:120]))
    assert tried > 60
    assert not wrong


@pytest.mark.req("P-7", "P-26")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/memories", None),
        ("GET", "/v1/memories/search?q=tea", None),
        ("POST", "/v1/memories/search", {"query": "tea"}),
        ("POST", "/v1/context", {"query": "What do I like to drink?", "gate": "always"}),
        ("GET", "/v1/export", None),
        ("GET", "/v1/events", None),
        ("GET", "/api/memory", None),
        ("POST", "/api/memory/retrieve-preview", {"query": "tea"}),
        ("GET", "/memory/transcript", None),
        ("GET", "/v1/console/dashboard", None),
        ("POST", "/v1/memories/list", {}),
        ("POST", "/query", {"vector": [0.1, 0.7, 0.2], "topK": 5}),
        ("POST", "/vectors/query", {"vector": [0.1, 0.7, 0.2], "topK": 5}),
        ("GET", "/memory/identity", None),
    ],
)
def test_who_is_named_by_the_header_is_whom_a_route_is_about(shared: World, method: str, path: str, body: Any) -> None:
    key = shared.as_key(may_assert_user=True)
    answer = key.request(method, path, headers=ALICE, **({} if body is None else {"json": body}))
    assert answer.status_code == 200, answer.text
    assert any(word in answer.text for word in ("tea", "alice likes chess", "Call me alice"))
    assert not any(word in answer.text for word in ("wine", "bob likes chess", "Call me bob"))


@pytest.mark.req("P-7", "P-26", "P-16")
def test_vectors_are_stored_asked_for_and_taken_away_for_who_is_named_by_the_header(shared: World) -> None:
    key, eve = shared.as_key(may_assert_user=True), {"x-openwebui-user-id": "eve"}
    vector = {"id": "v-eve", "values": [0.5, 0.5, 0.0], "metadata": {"content": "eve likes go"}}
    assert key.post("/insert", json={"vectors": [vector]}, headers=eve).json()["count"] == 1
    asked = {"vector": [0.5, 0.5, 0.0]}
    assert [one["id"] for one in key.post("/query", json=asked, headers=eve).json()["matches"]] == ["v-eve"]
    assert key.post("/delete-memory", json={"vectorId": "v-eve"}, headers=ALICE).status_code == 404
    gone = key.post("/delete-memory", json={"vectorId": "v-eve"}, headers=eve).json()
    assert (gone["event"], gone["reason"]) == ("DELETE", "manual_deletion")
    assert key.post("/delete-memory", json={"vectorId": "v-eve"}).status_code == 400, "nobody is named"


@pytest.mark.req("P-26", "P-8")
def test_the_vector_service_knows_what_chats_formed(shared: World) -> None:
    key = shared.as_key(may_assert_user=True)
    (tea,) = [one for one in key.get("/v1/memories", headers=ALICE).json()["results"] if "tea" in one["memory"]]
    (current,) = key.post("/getByIds", json={"ids": [tea["id"]]}, headers=ALICE).json()["vectors"]
    assert current["metadata"]["content"] == tea["memory"]
    best = key.post("/query", json={"vector": current["values"], "topK": 1}, headers=ALICE).json()["matches"]
    assert [one["id"] for one in best] == [tea["id"]]
    bob = {"x-openwebui-user-id": "bob"}
    assert key.post("/getByIds", json={"ids": [tea["id"]]}, headers=bob).json()["vectors"] == []
    assert key.post("/delete-memory", json={"vectorId": tea["id"]}, headers=bob).status_code == 404
    would = key.post("/delete-memory", json={"vectorId": tea["id"], "dryRun": True}, headers=ALICE).json()
    assert (would["event"], would["dry_run"]) == ("DELETE", True)
