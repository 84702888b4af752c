"""Services that do not take what memory adds to a request: the chat goes on without it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from prometheus_client import REGISTRY
from starlette.responses import JSONResponse

from memstone.server.gateway import outages
from tests.server.gate import Gate, ask, gated, said
from tests.server.scripted import CHAT, answers, chunk, in_turn, pieces, post, whole

WHERE = "Where do I live?"
NO = {"error": {"message": "this model does not support tools", "code": "bad"}}
DONE = "data: [DONE]\n\n"
SEARCH = {"name": "memory_search", "arguments": '{"query": "where"}'}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, upstream={"retries": 0}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        made.memory.settings.set({"policy.search_tool": True}, user_id="bob")
        yield made


def refused(status: int) -> Any:
    return lambda: JSONResponse(NO, status)


def answered(text: str) -> Any:
    message = {"role": "assistant", "content": text}
    return whole(json.dumps({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))


def skipped() -> float:
    return REGISTRY.get_sample_value("memstone_gateway_memory_skipped_total", {"reason": "refused"}) or 0.0


@pytest.mark.parametrize("status", [400, 404, 413, 422, 500])
@pytest.mark.parametrize("user", ["alice", "bob"])
def test_what_a_service_refuses_with_memory_is_asked_without(gate: Gate, status: int, user: str) -> None:
    before = skipped()
    answers(gate, CHAT, in_turn(refused(status), answered("Hello.")))
    answer = gate.openai(user_id=user).chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": WHERE}]
    )
    assert said(answer.parse()) == "Hello."
    assert answer.headers["x-memstone-receipt"] == "none"
    with_memory, without = gate.upstream.seen
    assert ("Oslo" in str(with_memory), "tools" in with_memory) == (user == "alice", user == "bob")
    assert without == {"model": "m", "messages": [{"role": "user", "content": WHERE}]}
    assert skipped() == before + 1


def test_what_is_refused_without_memory_too_is_the_answer_and_not_memorys_fault(gate: Gate) -> None:
    before = skipped()
    answers(gate, CHAT, refused(400))
    with pytest.raises(openai.BadRequestError, match="does not support tools"):
        ask(gate.openai(user_id="alice"), WHERE)
    assert len(gate.upstream.seen) == 2
    assert skipped() == before


def asked(gate: Gate, user: str, *failing: int | None) -> int:
    """How often a service is asked for one chat that it answers in these ways, where None is an answer."""
    before = len(gate.upstream.seen)
    answers(gate, CHAT, in_turn(*(answered("Hello.") if one is None else refused(one) for one in failing)))
    with suppress(openai.APIStatusError):
        ask(gate.openai(user_id=user), WHERE)
    return len(gate.upstream.seen) - before


def test_a_service_that_fails_without_memory_too_is_asked_once_for_a_while(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(gate, "alice", 500, 500) == 2
    assert [asked(gate, user, 500) for user in ("alice", "bob", "carol", "alice")] == [1, 1, 1, 1]
    assert asked(gate, "alice", 400, None) == 2, "what it refuses is another matter"
    assert asked(gate, "alice", 500, 500) == 2, "it has answered"
    assert asked(gate, "alice", 500) == 1
    assert asked(gate, "carol", None) == 1
    assert asked(gate, "alice", 500, 503) == 2, "it has answered"
    monkeypatch.setattr(gate.app.state.memstone.upstreams._outages, "_now", lambda: time.monotonic() + 31)
    assert asked(gate, "alice", 500, None) == 2, "that was long ago"


def test_an_outage_is_of_one_model_and_of_whoever_runs_it(gate: Gate) -> None:
    assert asked(gate, "alice", 500, 500) == 2
    answers(gate, CHAT, in_turn(refused(500), answered("Hello.")))
    other = {"model": "n", "messages": [{"role": "user", "content": WHERE}]}
    assert post(gate, other).status_code == 200
    assert asked(gate, "alice", 500) == 1


@pytest.mark.parametrize("second", [400, 429])
def test_what_fails_in_another_way_without_memory_is_no_outage(gate: Gate, second: int) -> None:
    assert asked(gate, "alice", 500, second) == 2
    assert asked(gate, "alice", 500, None) == 2


def test_as_many_outages_are_kept_as_there_is_room_for() -> None:
    now = [0.0]
    known = outages.Outages(lambda: now[0])
    for number in range(2_000):
        known.begins(number)
    assert (known.has(0), known.has(1_000), known.has(1_999)) == (False, True, True)
    assert len(known._until) == 1_000
    now[0] += outages.SECONDS
    known.begins("fresh")
    assert list(known._until) == ["fresh"]
    assert (known.of("fresh").is_on, known.has(1_999)) == (True, False)


def test_what_memory_adds_nothing_to_is_not_asked_twice(gate: Gate) -> None:
    answers(gate, CHAT, refused(400))
    with pytest.raises(openai.BadRequestError):
        ask(gate.openai(user_id="carol"), WHERE)
    assert len(gate.upstream.seen) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_search_whose_result_is_refused_ends_in_an_answer_without_it(gate: Gate, *, stream: bool) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    asks = {"index": 0, "id": "c", "type": "function", "function": SEARCH}
    message = {"role": "assistant", "content": None, "tool_calls": [asks]}
    text = json.dumps({"id": "1", "choices": [{"index": 0, "message": message}], "usage": usage})
    counted = f"data: {json.dumps({'id': '1', 'choices': [], 'usage': usage})}\n\n"
    end = pieces(chunk(content="Hello."), chunk("stop"), counted, DONE)
    first = pieces(chunk(tool_calls=[asks]), chunk("tool_calls"), counted, DONE) if stream else whole(text)
    hello = {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
    last = end if stream else whole(json.dumps({"id": "2", "choices": [hello], "usage": usage}))
    answers(gate, CHAT, in_turn(first, refused(400), last))
    answer = ask(gate.openai(user_id="bob"), WHERE, stream=stream)
    got = list(answer) if stream else [answer]
    assert said(got if stream else answer, stream=stream) == "Hello."
    assert [one.usage.total_tokens for one in got if one.usage] == [4], "what the search cost is told"
    assert "tools" not in gate.upstream.seen[-1]
    assert len(gate.upstream.seen[-1]["messages"]) == 1


def test_what_fails_for_another_reason_without_memory_says_nothing_about_memory(gate: Gate) -> None:
    before = skipped()
    answers(gate, CHAT, in_turn(refused(400), refused(429)))
    with pytest.raises(openai.RateLimitError):
        ask(gate.openai(user_id="alice"), WHERE)
    assert skipped() == before


@pytest.mark.parametrize("stream", [False, True])
def test_no_receipt_is_named_where_memory_was_refused_in_a_later_round(gate: Gate, *, stream: bool) -> None:
    gate.memory.settings.set({"policy.search_tool": True}, user_id="alice")
    asks = {"index": 0, "id": "c", "type": "function", "function": SEARCH}
    message = {"role": "assistant", "content": None, "tool_calls": [asks]}
    reply = whole(json.dumps({"id": "1", "choices": [{"index": 0, "message": message}]}))
    first = pieces(chunk(tool_calls=[asks]), chunk("tool_calls"), DONE) if stream else reply
    last = pieces(chunk(content="Hello."), chunk("stop"), DONE) if stream else answered("Hello.")
    answers(gate, CHAT, in_turn(first, refused(400), last))
    answer = post(gate, {"model": "m", "messages": [{"role": "user", "content": WHERE}], "stream": stream})
    assert "Oslo" in str(gate.upstream.seen[0])
    assert "Oslo" not in gate.sent
    assert answer.headers["x-memstone-receipt"] == "none"


@pytest.mark.req("X-24")
@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"]
)
def test_a_key_that_may_only_read_spends_nothing_upstream(tmp_path: Path, path: str) -> None:
    with gated(tmp_path) as gate:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "input": "hello", "max_tokens": 9}

        def asked(**key: Any) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {gate.key(**key)}"}
            return httpx2.post(f"{gate.url}{path}", json=body, headers=headers, timeout=60)

        refused = asked(verbs=["read"], user_id="alice")
        assert (refused.status_code, gate.upstream.seen) == (403, [])
        assert "`write` permission" in refused.text
        assert (asked(user_id="alice").status_code, len(gate.upstream.seen)) == (200, 1)


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_the_upstream_refuses_is_not_taken_for_the_callers_own(gate: Gate, *, stream: bool) -> None:
    gate.upstream.broken = [401]
    with pytest.raises(openai.AuthenticationError) as refusal:
        gate.openai(user_id="alice").chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hello"}], stream=stream
        )
    assert "no (the upstream 127.0.0.1 refused the key it was sent; the key of this service is valid)" in str(
        refusal.value
    )
    wrong = openai.OpenAI(api_key="rt_wrong", base_url=f"{gate.url}/v1", max_retries=0)
    with wrong as client, pytest.raises(openai.AuthenticationError) as own:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
    assert "this key is not valid" in str(own.value)
