"""Whose memory a chat is about, and what happens when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from memstone.engine.access.keys import bounds_of
from memstone.errors import Forbidden
from memstone.model.access import ApiKey, Subjects
from memstone.model.policy import Identity
from memstone.server.access import Caller
from memstone.server.gateway.identity import resolve_chat_identity
from tests.server.gate import Gate, ask, gated, until

ALICE = {"x-openwebui-user-id": "alice"}
BOB = {"x-openwebui-user-id": "bob"}


@pytest.fixture(params=["gateway", "shared", "facts"])
def gate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gate]:
    with gated(tmp_path, preset=request.param) as made:
        yield made


@pytest.mark.req("X-1", "P-7", "O-2")
def test_two_users_on_one_key_never_meet_even_when_a_header_is_dropped(gate: Gate) -> None:
    client = gate.openai(may_assert_user=True)
    own = "key:" + gate.memory.admin.keys.list()[0]["id"]
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
    assert "Eve" not in gate.sent
    ask(client, "I have a dog", extra_headers=BOB)
    until(lambda: len(gate.facts("bob")) == 2)
    said_by_nobody = [one for one in gate.memory.export(everybody=True) if "Eve" in str(one.get("memory"))]
    if gate.preset != "gateway":
        assert said_by_nobody == []
    assert {one["links"][0]["user_id"] for one in said_by_nobody} <= {own}
    assert bool(gate.facts(own)) == (gate.preset == "gateway")


@pytest.mark.req("X-39", "X-1")
def test_a_key_that_may_not_name_anybody_remembers_each_name_apart(gate: Gate) -> None:
    client = gate.openai()
    own = "key:" + gate.memory.admin.keys.list()[0]["id"]
    ask(client, "I live in Oslo", extra_headers=ALICE)
    ask(client, "I live in Rome", user="bob")
    until(lambda: gate.facts(f"{own}:alice") and gate.facts(f"{own}:bob"))
    ask(client, "Where do I live?", extra_headers=ALICE)
    assert "User lives in Oslo" in gate.sent
    assert "Rome" not in gate.sent
    ask(client, "Where do I live?", user="bob")
    assert "User lives in Rome" in gate.sent
    assert "Oslo" not in gate.sent
    for unknown in ({"user": "carl"}, {}, {"user": f"{own}:alice"}, {"user": own}):
        ask(client, "Where do I live?", **unknown)
        assert "Oslo" not in gate.sent
        assert "Rome" not in gate.sent
    assert gate.facts("alice") == gate.facts("bob") == [], "people of that name are somebody else"


def caller(policy: Identity, **key: Any) -> Caller:
    unused: Any = None
    verbs = key.pop("verbs", ("read", "write"))
    made = ApiKey("default", "k1", "", "", subjects=Subjects(**key), verbs=verbs)
    return Caller(made, unused, bounds_of(made, policy))


def user(sources: tuple[str, ...], headers: dict[str, str], body: dict[str, Any] | None = None, **key: Any) -> Any:
    policy = Identity(sources, nobody="off")
    return resolve_chat_identity(caller(policy, **key), headers, body or {}, policy, "r1").user_id


TRUSTED: dict[str, Any] = {"may_assert_user": True}
OPERATOR: dict[str, Any] = {"verbs": ("read", "write", "admin")}


@pytest.mark.req("X-1", "O-1", "O-2")
@pytest.mark.parametrize("key", [TRUSTED, OPERATOR, TRUSTED | OPERATOR])
def test_the_sources_are_asked_in_their_order_and_never_end_at_the_key(key: dict[str, Any]) -> None:
    header, body = {"x-who": "h"}, {"user": "b"}
    assert user(("header:X-Who", "body"), header, body, **key) == "h"
    assert user(("body", "header:x-who"), header, body, **key) == "b"
    assert user(("header:x-who",), {}, body, **key) is None
    assert user(("header:x-who", "api_key"), {}, **key) is None
    assert user(("api_key",), {}, **key) == "key:k1"
    assert user(("api_key",), {}, body, **key) == "b"
    assert user(("body",), {}, {"user": 7}, **key) is None
    assert user(("body",), {}, {"user": "x" * 300}, **key) is None
    assert user(("body",), {"x-memstone-user": "own"}, body, **key) == "own"
    for nobody in ("*", "key:k1", "key:k2", "key:k2:ann", "two words"):
        assert user(("body",), {}, {"user": nobody}, **key) is None


@pytest.mark.req("X-39", "O-1")
def test_a_plain_key_has_a_pool_for_each_name_and_one_of_its_own() -> None:
    assert user(("header:x-who", "api_key"), {}) is None
    assert user(("api_key",), {}) == "key:k1"
    assert user(("api_key",), {"x-memstone-user": "h"}) == "key:k1:h"
    assert user(("api_key",), {"x-retain-user": "h"}) == "key:k1:h"
    assert user(("header:x-who",), {}, {"user": "b"}) == "key:k1:b"
    assert user(("header:x-who",), {"x-who": "h"}, {"user": "b"}) == "key:k1:h"
    for nobody in ("*", "key:k1", "key:k1:ann", "two words", "x" * 300):
        assert user(("api_key",), {}, {"user": nobody}) is None
    assert user(("api_key",), {}, {"user": " "}) == "key:k1"


@pytest.mark.req("X-1", "X-39")
def test_the_default_owner_is_the_owner_for_who_may_name_users_and_the_keys_pool_for_others() -> None:
    policy = Identity(("body",), nobody="owner", owner="me")
    named = {
        name: resolve_chat_identity(caller(policy, **key), {}, {}, policy, "r1").user_id for name, key in KEYS.items()
    }
    assert named == {"trusted": "me", "operator": "me", "plain": "key:k1", "of an agent": "key:k1"}


KEYS: dict[str, dict[str, Any]] = {
    "trusted": TRUSTED,
    "operator": OPERATOR,
    "plain": {},
    "of an agent": {"agent_id": "helper"},
}


@pytest.mark.req("X-1")
def test_a_key_of_one_user_is_that_user_and_nobody_else() -> None:
    bound: dict[str, Any] = {"user_id": "alice"}
    assert user(("api_key",), {}, **bound) == "alice"
    assert user(("header:x-who",), {"x-who": "alice"}, **bound) == "alice"
    assert user(("api_key",), {}, {"user": "bob"}, **bound) == "alice"
    with pytest.raises(Forbidden):
        user(("header:x-who",), {"x-who": "bob"}, **bound)


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


@pytest.mark.req("P-7", "X-1")
@pytest.mark.parametrize("header", ["X-Memstone-User", "X-OpenWebUI-User-Id"])
@pytest.mark.parametrize("trusted", [True, False])
def test_a_user_in_the_body_beside_a_header_is_passed_on_and_not_followed(
    gate: Gate, header: str, *, trusted: bool
) -> None:
    client = gate.openai(may_assert_user=trusted)
    ask(client, "I live in Rome", extra_headers={header: "bob"}, user="alice")
    until(lambda: gate.tasks == 0)
    ask(client, "Where do I live?", extra_headers={header: "alice"}, user="bob")
    assert "Rome" not in gate.sent
    assert gate.upstream.seen[-1]["user"] == "bob"
    ask(client, "Where do I live?", extra_headers={header: "bob"}, user="alice")
    assert "Rome" in gate.sent


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
        assert not any(one.get("memory") for one in gate.memory.export(everybody=True))
        ask(client, "Where do I live?", user="bob")
        assert "Oslo" not in gate.sent


def session(headers: dict[str, str], body: dict[str, Any] | None = None) -> str | None:
    policy = Identity(("api_key",))
    return resolve_chat_identity(caller(policy), headers, body or {}, policy, "r1").run_id


@pytest.mark.req("O-4")
def test_the_session_is_that_of_a_header_else_the_request_itself() -> None:
    assert session({"x-memstone-session": "s"}) == "s"
    assert session({"x-claude-code-session-id": "c"}) == "c"
    assert session({"x-openwebui-chat-id": "c"}) == "c"
    assert session({}, {"session_id": "b"}) == "b"
    assert session({}) == "r1"


ODD = ["x" * 257, "x" * 5_000, "a chat of mine", "tab\tbed", "zero\u200bwidth"]


@pytest.mark.req("O-4")
def test_a_session_id_of_any_form_is_a_session() -> None:
    """What cannot be stored as an id stands for itself by its hash, so that it is the same session each time."""
    hashed = [session({"x-memstone-session": one}) for one in ODD]
    assert len(set(hashed)) == len(ODD)
    assert all(one is not None and one.startswith("sha256:") and len(one) < 256 for one in hashed)
    assert hashed == [session({}, {"session_id": one}) for one in ODD]
    for blank in ("", " ", "\t "):
        assert session({"x-memstone-session": blank}) == session({}, {"session_id": blank}) == "r1"
        assert session({"x-memstone-session": blank, "x-session-id": "next"}) == "next"


@pytest.mark.req("O-4")
@pytest.mark.parametrize("name", ["x-memstone-session", "x-agent-id"])
def test_no_form_of_a_session_or_an_agent_switches_memory_off(tmp_path: Path, name: str) -> None:
    with gated(tmp_path) as gate:
        gate.memory.add("I live in Oslo", user_id="alice")
        client = gate.openai(user_id="alice")
        for form in ("", "x" * 300, "a chat of mine"):
            ask(client, "Where do I live?", extra_headers={name: form})
            assert "User lives in Oslo" in gate.sent, form
        ask(client, "I have a green bicycle", extra_headers={name: "x" * 300})
        until(lambda: len(gate.facts("alice")) == 2)


def test_somebody_who_names_another_user_reaches_no_model(tmp_path: Path) -> None:
    with gated(tmp_path) as gate:
        with pytest.raises(openai.PermissionDeniedError):
            ask(gate.openai(user_id="alice"), "hello", extra_headers={"X-Memstone-User": "bob"})
        assert gate.upstream.seen == []
