from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from memstone import Memory
from memstone.server.app import create_app
from tests.server.gate import Gate, ask, gated, until
from tests.server.upstream import Upstream, served


@pytest.fixture
def gate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gate]:
    with gated(tmp_path, preset=getattr(request, "param", "gateway")) as made:
        yield made


def shown(upstream: Upstream) -> str:
    return str(upstream.seen[-1])


def settled(gate: Gate, user: str, count: int = 1) -> None:
    """Wait until what was said is learned."""
    until(lambda: len(gate.facts(user)) >= count)


@pytest.mark.req("O-1", "O-3", "O-59")
@pytest.mark.parametrize("stream", [False, True])
def test_what_one_session_said_is_shown_in_the_next(gate: Gate, *, stream: bool) -> None:
    client = gate.openai()
    pool = f"key:{gate.memory.admin.keys.list()[0]['id']}"
    answer = ask(client, "I live in Oslo", stream=stream)
    text = (
        "".join(one.choices[0].delta.content or "" for one in answer) if stream else answer.choices[0].message.content
    )
    assert text.strip() == "Noted."
    assert gate.upstream.seen[0]["messages"] == [{"role": "user", "content": "I live in Oslo"}]
    settled(gate, pool)
    list(ask(client, "Where do I live?", stream=stream))
    assert "User lives in Oslo" in shown(gate.upstream)
    assert gate.upstream.seen[-1]["messages"][-1] == {"role": "user", "content": "Where do I live?"}


def test_the_keys_stay_apart(gate: Gate) -> None:
    client = gate.openai()
    ask(client, "hello", extra_headers={"X-Secret": "1", "Cookie": "a=b"})
    sent = gate.upstream.headers[-1]
    assert sent["authorization"] == "Bearer sk-upstream"
    assert not {"cookie", "x-secret", "x-api-key"} & set(sent)
    ask(client, "hello", extra_headers={"X-Upstream-Authorization": "Bearer sk-mine"})
    assert gate.upstream.headers[-1]["authorization"] == "Bearer sk-mine"
    assert "x-upstream-authorization" not in gate.upstream.headers[-1]


def test_an_upstream_that_fails_is_tried_again_before_the_first_byte(gate: Gate) -> None:
    gate.upstream.broken = [503]
    assert ask(gate.openai(), "hello").choices[0].message.content == "Noted."
    assert len(gate.upstream.seen) == 2
    gate.upstream.broken = [503, 503]
    with pytest.raises(openai.InternalServerError) as failed:
        ask(gate.openai(), "hello")
    assert failed.value.status_code == 503


@pytest.mark.req("N-13")
@pytest.mark.parametrize("wish", ["off", "inject-off", "extract-off"])
def test_a_request_may_go_without_memory(gate: Gate, wish: str) -> None:
    client = gate.openai()
    pool = f"key:{gate.memory.admin.keys.list()[0]['id']}"
    gate.memory.add("I live in Oslo", user_id=pool)
    ask(client, "Where do I live? I like tea.", extra_headers={"x-memory": wish})
    assert ("Oslo" in shown(gate.upstream)) == (wish == "extract-off")
    if wish == "inject-off":
        settled(gate, pool, 2)
    else:
        ask(client, "I have a dog")
        settled(gate, pool, 2)
        assert not any("tea" in one["memory"] for one in gate.memory.get_all(user_id=pool)["results"])


@pytest.mark.req("X-1", "P-7")
@pytest.mark.parametrize("gate", ["shared"], indirect=True)
def test_a_key_that_may_name_users_remembers_nobody_when_nobody_is_named(gate: Gate) -> None:
    client = gate.openai(may_assert_user=True)
    ask(client, "I live in Oslo", extra_headers={"x-openwebui-user-id": "alice"})
    settled(gate, "alice")
    before = gate.memory.stats()["memories"]
    ask(client, "Where do I live? My name is Eve.")
    assert "Oslo" not in shown(gate.upstream)
    ask(client, "Where do I live?", extra_headers={"x-openwebui-user-id": "bob"})
    assert "Oslo" not in shown(gate.upstream)
    ask(client, "Where do I live?", extra_headers={"X-Memstone-User": "alice"})
    assert gate.memory.get_all(user_id="key:" + gate.memory.admin.keys.list()[0]["id"])["results"] == []
    assert not any("Eve" in one["memory"] for one in gate.memory.get_all(user_id="alice")["results"])
    assert before <= gate.memory.stats()["memories"]


def test_a_key_of_one_user_cannot_ask_for_another(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    with pytest.raises(openai.PermissionDeniedError):
        ask(client, "hello", extra_headers={"X-Memstone-User": "bob"})
    assert gate.upstream.seen == []


@pytest.mark.parametrize("stream", [False, True])
def test_the_messages_dialect_is_served_to_its_own_client(gate: Gate, *, stream: bool) -> None:
    client = gate.anthropic(user_id="alice")
    gate.memory.add("I live in Oslo", user_id="alice")
    wanted: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Where do I live?"}]}
    if stream:
        with client.messages.stream(**wanted) as answer:
            assert "".join(answer.text_stream).strip() == "Noted."
    else:
        assert client.messages.create(**wanted).content[0].text == "Noted."
    sent = gate.upstream.seen[-1]
    assert "User lives in Oslo" in str(sent)
    assert str(sent["messages"][-1]["content"]).rstrip("'}]").endswith("Where do I live?")
    assert all(one["role"] != "system" for one in sent["messages"])


@pytest.mark.req("N-16.2")
def test_the_responses_dialect_is_served_to_its_own_client(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    gate.memory.add("I live in Oslo", user_id="alice")
    assert client.responses.create(model="m", input="Where do I live?").output_text == "Noted."
    assert "User lives in Oslo" in str(gate.upstream.seen[-1])
    assert gate.upstream.seen[-1]["input"].endswith("Where do I live?")


def test_models_and_embeddings_are_passed_on(gate: Gate) -> None:
    client = gate.openai()
    assert [one.id for one in client.models.list()] == ["m"]
    counted = gate.anthropic().messages.count_tokens(model="m", messages=[{"role": "user", "content": "hi"}])
    assert counted.input_tokens == 7
    assert client.embeddings.create(model="m", input="x", encoding_format="float").data[0].embedding == [0.5, 0.5]


@pytest.mark.req("P-27")
@pytest.mark.parametrize("stream", [False, True])
def test_the_memories_come_along_for_those_who_ask(gate: Gate, *, stream: bool) -> None:
    client = gate.openai(user_id="alice")
    gate.memory.add("I live in Oslo", user_id="alice")
    answer = ask(client, "Where do I live?", stream=stream, extra_headers={"X-Memstone-Include": "memories"})
    pieces = list(answer) if stream else [answer]
    carried = [one.model_extra["memories"] for one in pieces if "memories" in (one.model_extra or {})]
    assert len(carried) == 1
    assert "Oslo" in carried[0][0]["memory"]
    plain = ask(client, "Where do I live?", stream=False)
    assert "memories" not in (plain.model_extra or {})


def test_an_upstream_that_breaks_off_is_reported_and_what_was_said_is_kept(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    gate.upstream.cut_after = 1
    gate.upstream.reply = "Oslo is nice in winter"
    with pytest.raises(openai.APIError):
        list(ask(client, "I live in Oslo", stream=True))
    settled(gate, "alice")
    turns = gate.memory.get_all(user_id="alice", layers=["turn"])["results"]
    assert sorted(one["role"] for one in turns) == ["assistant", "user"]


def test_a_model_that_nobody_runs_is_an_error_with_a_hint(gate: Gate, tmp_path: Any) -> None:
    upstreams = [{"name": "u", "base_url": "http://127.0.0.1:9", "models": ["gpt-"]}]
    config = {
        "store": {"url": f"sqlite:///{tmp_path}/h.db"},
        "embedder": {"provider": "hash"},
        "gateway": {"upstreams": upstreams},
    }
    with (
        Memory(config) as memory,
        served(create_app(config)) as url,
        openai.OpenAI(api_key=memory.admin.keys.create()["key"], base_url=f"{url}/v1", max_retries=0) as client,
    ):
        with pytest.raises(openai.BadRequestError, match="no upstream serves"):
            client.chat.completions.create(model="claude", messages=[{"role": "user", "content": "x"}])
        with pytest.raises(openai.APIStatusError) as failed:
            client.chat.completions.create(model="gpt-1", messages=[{"role": "user", "content": "x"}])
    assert failed.value.status_code == 502
