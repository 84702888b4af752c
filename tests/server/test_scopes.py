"""How far is looked: in one session, at all of an owner's, or also at what is everybody's; over REST and in chats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import openai
import pytest

from tests.server.conftest import CONFIG
from tests.server.gate import Gate, ask, gated
from tests.server.world import World

HERE, THERE, ALL, BOBS = "tea with milk here", "tea with lemon there", "tea is free for all", "tea of bob"
FOUND: Final = {
    "session": {HERE},
    "owner": {HERE, THERE},
    "apiKey": {HERE, THERE},
    "global": {HERE, THERE, ALL},
}


@pytest.fixture(scope="module", params=["facts", "gateway"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A service in which tea is known in two sessions of alice, of bob, and of everybody."""
    with World.of({**CONFIG, "preset": request.param, "context": {"false_injection": 0.0}}) as made:
        for text, scope in (
            (HERE, {"user_id": "alice", "run_id": "r1"}),
            (THERE, {"user_id": "alice", "run_id": "r2"}),
            (BOBS, {"user_id": "bob", "run_id": "r1"}),
            (ALL, {"user_id": "*"}),
        ):
            texts = {"messages": text, "infer": False, **scope}
            assert made.client.post("/v1/memories", json=texts).json()["status"] == "ok"
        yield made


def asked_by(path: str, scope: str) -> tuple[str, str, dict[str, Any]]:
    """How each route is asked: its method, and the query or the body."""
    who: dict[str, Any] = {"user_id": "alice", "run_id": "r1", "scope": scope}
    return {
        "GET /v1/memories/search": ("GET", "/v1/memories/search", {"params": {"q": "tea", **who}}),
        "POST /v1/memories/search": ("POST", "/v1/memories/search", {"json": {"query": "tea", **who}}),
        "POST /v1/context": ("POST", "/v1/context", {"json": {"query": "tea", "gate": "always", **who}}),
        "POST /api/memory/retrieve-preview": (
            "POST",
            "/api/memory/retrieve-preview",
            {"json": {"query": "tea", "userId": "alice", "sessionId": "r1", "scope": scope}},
        ),
    }[path]


ROUTES: Final = (
    "GET /v1/memories/search",
    "POST /v1/memories/search",
    "POST /v1/context",
    "POST /api/memory/retrieve-preview",
)


@pytest.mark.req("O-26", "X-31", "D-3", "O-26.1")
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("scope", FOUND)
def test_a_search_looks_as_far_as_its_scope(world: World, path: str, scope: str) -> None:
    keys = [world.client, world.as_key(user_id="alice"), world.as_key(may_assert_user=True)]
    for key in keys:
        method, where, more = asked_by(path, scope)
        answer = key.request(method, where, **more)
        assert answer.status_code == 200, answer.text
        assert {text for text in (HERE, THERE, ALL, BOBS) if text in answer.text} == FOUND[scope]


@pytest.mark.req("O-26")
@pytest.mark.parametrize("path", ROUTES)
def test_a_scope_that_does_not_exist_is_refused(world: World, path: str) -> None:
    method, where, more = asked_by(path, "planet")
    assert world.client.request(method, where, **more).status_code == 400


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path) as made:
        yield made


def told(gate: Gate, key: str, session: str | None, scope: str | None) -> set[str]:
    """What a chat with a key is shown."""
    headers = {"x-memstone-session": session, "x-memstone-scope": scope}
    with gate_client(gate, key) as client:
        ask(client, "Do I like tea?", extra_headers={name: value for name, value in headers.items() if value})
    return {text for text in (HERE, THERE, ALL) if text in gate.sent}


def gate_client(gate: Gate, key: str) -> openai.OpenAI:
    return openai.OpenAI(api_key=key, base_url=f"{gate.url}/v1", max_retries=0)


def known(gate: Gate) -> str:
    """A key whose pool has two sessions, and something that is everybody's."""
    key = gate.memory.admin.keys.create()
    pool = f"key:{key['id']}"
    gate.memory.add(HERE, user_id=pool, run_id="r1", infer=False)
    gate.memory.add(THERE, user_id=pool, run_id="r2", infer=False)
    gate.memory.add(ALL, user_id="*", infer=False)
    return str(key["key"])


@pytest.mark.req("O-26", "O-45", "X-31", "O-1", "O-26.1")
def test_a_chat_looks_as_far_as_its_header_says(gate: Gate) -> None:
    key = known(gate)
    for scope, found in FOUND.items():
        assert told(gate, key, "r1", scope) == found
    assert told(gate, key, "r1", None) == FOUND["apiKey"], "this is where a chat looks by itself"
    assert told(gate, key, "r3", "session") == set()
    assert told(gate, key, None, "session") == FOUND["apiKey"], "a request without a session has none to look into"
    assert told(gate, key, "r1", "planet") == set(), "what is not understood wants less, not more"


@pytest.mark.req("O-26", "O-27", "O-71")
@pytest.mark.parametrize(("scope", "shown"), [("session", "session"), ("owner", "apiKey"), ("global", "global")])
def test_a_chat_looks_as_far_as_its_settings_say(gate: Gate, scope: str, shown: str) -> None:
    key = known(gate)
    gate.memory.settings.set({"context.scope": scope})
    assert told(gate, key, "r1", None) == FOUND[scope]
    assert told(gate, key, "r1", "apiKey") == FOUND["apiKey"], "the request has the last word"
    assert gate.memory.settings.get(names="gateway")["effective"]["scope"] == shown
