"""Whose memory a chat is about, and what happens when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from memstone.errors import Forbidden
from memstone.model.access import ApiKey, Subjects
from memstone.model.policy import Identity
from memstone.server.access import Caller
from memstone.server.gateway.identity import who
from tests.server.gate import Gate, ask, gated, until

ALICE = {"x-openwebui-user-id": "alice"}
BOB = {"x-openwebui-user-id": "bob"}


@pytest.fixture(params=["gateway", "shared", "facts"])
def gate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gate]:
    with gated(tmp_path, profile=request.param) as made:
        yield made


@pytest.mark.req("X-1", "P-7", "O-2")
def test_two_users_on_one_key_never_meet_even_when_a_header_is_dropped(gate: Gate) -> None:
    client = gate.openai(may_assert_user=True)
    ask(client, "I live in Oslo", extra_headers=ALICE)
    ask(client, "I live in Rome", extra_headers=BOB)
    until(lambda: gate.facts("alice") and gate.facts("bob"))
    ask(client, "Where do I live? My name is Eve.")
    assert "Oslo" not in gate.sent
    assert "Rome" not in gate.sent
    ask(client, "Where do I live? My name is Eve.", extra_headers={"x-openwebui-user-id": ""})
    assert "Oslo" not in gate.sent
    assert "Rome" not in gate.sent
    ask(client, "Where do I live?", extra_headers=ALICE)
    assert "User lives in Oslo" in gate.sent
    assert "Rome" not in gate.sent
    ask(client, "I have a dog", extra_headers=BOB)
    until(lambda: len(gate.facts("bob")) == 2)
    users = {one["user_id"] for one in gate.memory.export() if one.get("user_id")}
    assert users <= {"alice", "bob"}
    assert "Eve" not in str(list(gate.memory.export()))


@pytest.mark.req("X-1")
def test_a_key_that_may_not_name_anybody_remembers_nobody_when_somebody_is_named(gate: Gate) -> None:
    client = gate.openai()
    ask(client, "I live in Oslo", extra_headers=ALICE)
    ask(client, "I live in Rome", extra_headers=BOB)
    until(lambda: gate.tasks == 0)
    assert not any(one.get("memory") for one in gate.memory.export())


def caller(**subjects: Any) -> Caller:
    unused: Any = None
    return Caller(ApiKey("default", "k1", "", "", subjects=Subjects(**subjects)), unused)


def user(made: Caller, sources: tuple[str, ...], headers: dict[str, str], body: dict[str, Any] | None = None) -> Any:
    return who(made, headers, body or {}, Identity(sources, nobody="off"), "r1").user_id


@pytest.mark.req("X-1", "O-1", "O-2")
def test_the_sources_are_asked_in_their_order_and_never_end_at_the_key() -> None:
    trusted, plain = caller(may_assert_user=True), caller()
    header, body = {"x-who": "h"}, {"user": "b"}
    assert user(trusted, ("header:X-Who", "body"), header, body) == "h"
    assert user(trusted, ("body", "header:x-who"), header, body) == "b"
    assert user(trusted, ("header:x-who",), {}, body) is None
    assert user(trusted, ("header:x-who", "api_key"), {}) is None
    assert user(trusted, ("api_key",), {}) is None
    assert user(plain, ("header:x-who", "api_key"), {}) is None
    assert user(plain, ("api_key",), {}) == "key:k1"
    assert user(plain, ("api_key",), {"x-memstone-user": "h"}) is None
    assert user(trusted, ("body",), {}, {"user": 7}) is None
    assert user(trusted, ("body",), {}, {"user": "x" * 300}) is None
    assert user(trusted, ("body",), {"x-memstone-user": "own"}, body) == "own"


@pytest.mark.req("X-1")
def test_a_key_of_one_user_is_that_user_and_nobody_else() -> None:
    bound = caller(user_id="alice")
    assert user(bound, ("api_key",), {}) == "alice"
    assert user(bound, ("header:x-who",), {"x-who": "alice"}) == "alice"
    with pytest.raises(Forbidden):
        user(bound, ("header:x-who",), {"x-who": "bob"})


@pytest.mark.req("X-1")
def test_two_people_in_one_request_are_nobody(tmp_path: Path) -> None:
    with gated(tmp_path) as gate:
        gate.memory.add("I live in Oslo", user_id="alice")
        for names in (("alice", "bob"), ("bob", "alice")):
            assert asked(gate, gate.key(may_assert_user=True), *names) == 200
            assert "Oslo" not in gate.sent
            assert asked(gate, gate.key(user_id="alice"), *names) == 403
        assert asked(gate, gate.key(may_assert_user=True), "alice", "alice") == 200
        assert "Oslo" in gate.sent


def asked(gate: Gate, key: str, *names: str) -> int:
    headers = [("authorization", f"Bearer {key}"), *(("x-memstone-user", name) for name in names)]
    body = {"model": "m", "messages": [{"role": "user", "content": "Where do I live?"}]}
    return httpx2.post(f"{gate.url}/v1/chat/completions", json=body, headers=headers, timeout=60).status_code


@pytest.mark.req("X-1")
def test_nobody_is_called_everybody(tmp_path: Path) -> None:
    """What stands under that name is shown to all; a chat must not write there, whoever gave themselves that name."""
    with gated(tmp_path) as gate:
        client = gate.openai(may_assert_user=True)
        ask(client, "I live in Oslo", extra_headers={"X-Memstone-User": "*"})
        ask(client, "I live in Oslo", user="*")
        until(lambda: gate.tasks == 0)
        assert not any(one.get("memory") for one in gate.memory.export())
        ask(client, "Where do I live?", user="bob")
        assert "Oslo" not in gate.sent


@pytest.mark.req("O-4")
def test_the_session_is_that_of_a_header_else_the_request_itself() -> None:
    policy = Identity(("api_key",))
    assert who(caller(), {"x-memstone-session": "s"}, {}, policy, "r1").run_id == "s"
    assert who(caller(), {"x-claude-code-session-id": "c"}, {}, policy, "r1").run_id == "c"
    assert who(caller(), {"x-openwebui-chat-id": "c"}, {}, policy, "r1").run_id == "c"
    assert who(caller(), {}, {}, policy, "r1").run_id == "r1"


def test_somebody_who_names_another_user_reaches_no_model(tmp_path: Path) -> None:
    with gated(tmp_path) as gate:
        with pytest.raises(openai.PermissionDeniedError):
            ask(gate.openai(user_id="alice"), "hello", extra_headers={"X-Memstone-User": "bob"})
        assert gate.upstream.seen == []
