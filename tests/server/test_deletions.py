"""Every deletion over HTTP, read off the route table: a dry run changes nothing, and nothing is emptied by accident."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from fastapi.routing import APIRoute

from memstone.remote.routes import ROUTES
from tests.server.calls import call_verb, operation_of
from tests.server.conftest import CONFIG
from tests.server.rooms import ended
from tests.server.stock import Stocked, dump, example_of, list_parameters, stock

WORDS: Final = re.compile(
    r"clear|clean|delete|drop|erase$|forget|prune|purge|reject|remove|reset|resume|revoke|rollback|unlink|unset|unshare"
)
"""What a route is called that takes something away, however it is asked for."""

NOT_CONFIGURED: Final = frozenset({"/api/settings/qdrant/cleanup"})
NEEDS_CONFIRM: Final = frozenset({"/v1/reset", "/memory/clear"})
"""Deletions that nothing can narrow."""
OF_ONE: Final = frozenset({"/v1/pause"})
"""Ends one pause: that of exactly those who are named, or of whom the key speaks for."""


@pytest.fixture
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    """A service with something of everything, for one test."""
    path = tmp_path_factory.mktemp("deletions") / "memory.db"
    with stock(CONFIG, path) as made:
        yield made


def deletions(stocked: Stocked) -> Iterator[tuple[str, str, APIRoute]]:
    for route in stocked.world.app.routes:
        if isinstance(route, APIRoute):
            for method in sorted(route.methods or ()):
                if method == "DELETE" or (method in {"POST", "PUT"} and WORDS.search(route.path.rpartition("/")[2])):
                    yield method, route.path_format, route


def flag(stocked: Stocked, method: str, path: str) -> tuple[str, bool]:
    """The name of the switch, and whether it is in the query."""
    described = stocked.world.app.openapi()
    operation = described["paths"][path][method.lower()]
    for one in list_parameters(described, operation):
        if one["in"] == "query" and one["name"] in {"dry_run", "dryRun"}:
            return one["name"], True
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = next(
            (one for one in content["schema"].get("anyOf", ()) if one.get("type") != "null"), content["schema"]
        )
        known = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        return next((name for name in ("dry_run", "dryRun") if name in known), ""), False
    return "", False


def request_of(stocked: Stocked, method: str, path: str) -> dict[str, Any]:
    """What deletes something that is there."""
    alice, names = {"user_id": "alice"}, stocked.names
    queries = {
        "/v1/memories": {"user_id": "alice", "run_id": "r1"},
        "/v1/settings": alice,
        "/v1/pause": {"user_id": "carol"},
        "/memory/identity/overrides/{position}": alice,
        "/v1/identity/overrides/{position}": alice,
    }
    bodies: dict[str, Any] = {
        "/v1/memories/batch": {"ids": [names["memory_id"]]},
        "/v1/memories/delete": {"user_id": "alice", "run_id": "r1"},
        "/v1/vectors/delete": {"ids": ["fact-1"]},
        "/v1/vectors/unlink": {"vector_id": "fact-1", "user_id": "alice"},
        "/v1/admin/erase": alice,
        "/v1/console/memories/{memory_id}/unshare": alice,
        "/v1/console/rollback": {"user_id": "alice", "since": "2020-01-01", "dry_run": False},
    }
    body = bodies.get(path, example_of(stocked.world, method, path) if method != "DELETE" else None)
    return {"params": queries.get(path, {}), **({} if body is None else {"json": dict(body)})}


def sent(stocked: Stocked, method: str, path: str, *, dry: bool) -> Any:
    name, by_query = flag(stocked, method, path)
    assert name, f"{method} {path} has no dry run"
    request = request_of(stocked, method, path)
    if by_query:
        request["params"] = {**request["params"], name: str(dry).lower()}
    else:
        request["json"] = {**request.get("json", {}), name: dry}
    real = stocked.real(path.replace("{memory_id}/reject", "{quarantined_id}/reject"))
    answer = stocked.world.client.request(method, real, **request)
    if answer.status_code == 202:
        job = ended(stocked.world, answer.json())
        assert job["state"] == "done", job
    return answer


def test_a_dry_run_of_every_deletion_changes_nothing_and_says_so(stocked: Stocked) -> None:
    before, tried = dump(stocked.path), 0
    for method, path, _ in deletions(stocked):
        answer = sent(stocked, method, path, dry=True)
        assert answer.is_success, (method, path, answer.text)
        assert dump(stocked.path) == before, (method, path)
        if path not in NOT_CONFIGURED:
            reply = ended(stocked.world, answer.json())["result"] if answer.status_code == 202 else answer.json()
            assert reply.get("dry_run") is True or reply.get("dryRun") is True, (method, path, reply)
        tried += 1
    assert tried > 24


def test_the_same_request_without_it_deletes(stocked: Stocked) -> None:
    """So the test above cannot pass because nothing would have been deleted."""
    emptying = [one for one in deletions(stocked) if one[1] not in NOT_CONFIGURED]
    for method, path, _ in emptying:
        stocked.restock()
        before = dump(stocked.path, keys=True)
        answer = sent(stocked, method, path, dry=False)
        assert answer.is_success, (method, path, answer.text)
        assert dump(stocked.path, keys=True) != before, (method, path)
        if path in NEEDS_CONFIRM:
            stocked.restock()


def test_a_dry_run_counts_what_a_deletion_deletes(stocked: Stocked) -> None:
    client = stocked.world.client
    scope = {"user_id": "alice", "run_id": "r1"}
    would = client.delete("/v1/memories", params={**scope, "dry_run": True}).json()
    assert would["deleted"] > 0
    assert client.delete("/v1/memories", params=scope).json() == {"deleted": would["deleted"]}
    again = client.delete("/v1/memories", params={**scope, "dry_run": True}).json()
    assert again == {"deleted": 0, "dry_run": True}


@pytest.mark.parametrize("value", ["", "maybe", "2"])
def test_a_dry_run_that_is_neither_true_nor_false_deletes_nothing(stocked: Stocked, value: str) -> None:
    before = dump(stocked.path)
    assert stocked.world.client.delete(f"/v1/memories?user_id=alice&dry_run={value}").status_code == 400
    assert call_verb(stocked.world.client, "delete_all", {"user_id": "a", "dry_run": value}).status_code == 400
    assert dump(stocked.path) == before


def bare(method: str, path: str) -> dict[str, Any]:
    """A request that names nothing."""
    return {"json": {}} if method == "POST" else {}


def confirming(method: str, confirm: str) -> dict[str, Any]:
    return {"params" if method == "DELETE" else "json": {"confirm": confirm}}


def unnarrowed(stocked: Stocked) -> list[tuple[str, str]]:
    """Deletions that can be asked for without naming anything: neither their path nor their form asks for it."""
    return [
        (method, path)
        for method, path, route in deletions(stocked)
        if "{" not in path and path not in NOT_CONFIGURED | OF_ONE
    ]


def test_what_nothing_narrows_must_be_confirmed(stocked: Stocked) -> None:
    keys = (stocked.world.client, stocked.world.as_key(user_id="alice"), stocked.world.as_key(agent_id="helper"))
    before = dump(stocked.path)
    for method, path in unnarrowed(stocked):
        for client in keys:
            answer = client.request(method, path, **bare(method, path))
            assert answer.status_code in {400, 403}, (method, path, answer.text)
            assert dump(stocked.path) == before, (method, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/v1/memories"), ("POST", "/v1/memories/delete"), ("DELETE", "/v1/settings")],
)
def test_a_key_of_one_user_empties_what_it_reaches_when_that_is_confirmed(
    stocked: Stocked, method: str, path: str
) -> None:
    alice = stocked.world.as_key(user_id="alice")
    for confirm in ("", "default", "bob"):
        answer = alice.request(method, path, **confirming(method, confirm))
        assert answer.status_code == 400
        assert "confirm=alice" in answer.json()["hint"]
    done = alice.request(method, path, **confirming(method, "alice")).json()
    assert done.get("deleted") or done.get("unset")


def test_settings_of_a_tenant_are_all_removed_only_when_that_is_confirmed(stocked: Stocked) -> None:
    client = stocked.world.client
    assert client.delete("/v1/settings").status_code == 400
    assert call_verb(client, "settings.unset", {}).status_code == 400
    assert client.delete("/v1/settings?names=context.budget").json()["unset"] == 1
    assert client.put("/v1/settings", json={"values": {"context.budget": 900}}).is_success
    assert client.delete("/v1/settings?confirm=default").json()["unset"] == 1


def test_every_verb_that_deletes_has_a_dry_run(stocked: Stocked) -> None:
    named = {operation_of(name) for name in ROUTES if WORDS.search(name) and name not in ("reset", "settings.resume")}
    assert named <= {f"{method} {path}" for method, path, _ in deletions(stocked)}


def test_a_deletion_of_memories_is_never_about_a_whole_tenant_and_says_what_is(stocked: Stocked) -> None:
    for query in ("", "?confirm=default", "?confirm=default&dry_run=true"):
        answer = stocked.world.client.delete(f"/v1/memories{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "scope")
        assert "POST /memory/clear" in answer.json()["hint"]
