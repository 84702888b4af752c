"""What memory only listens to cannot break a chat: odd requests and answers pass as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import structlog

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import PromptBlock, repair_surrogates
from memstone.core.dialects.responses import Responses
from memstone.core.prompt.inject import Position, insert_block
from memstone.server.gateway.counts import SKIPPED
from memstone.server.gateway.sse import SseParser, event_of
from tests.server.gate import Gate, ask, gated, said, until
from tests.server.scripted import CHAT, answers, chunk, pieces, post, whole

USER: dict[str, Any] = {"role": "user", "content": "Where do I live?"}
DONE = "data: [DONE]\n\n"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, upstream={"retries": 0}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


def test_a_message_that_is_none_goes_on_beside_what_memory_says(gate: Gate) -> None:
    for odd in ("hello", None, 5, ["x"], {"role": 5, "content": {"a": 1}}):
        assert post(gate, {"model": "m", "messages": [odd, USER]}).status_code == 200
        sent = gate.upstream.seen[-1]["messages"]
        assert odd in sent
        assert USER in sent
        assert "Oslo" in gate.sent


@pytest.mark.parametrize("position", Position)
def test_memory_has_a_place_in_every_list(position: Position) -> None:
    for messages in ([None, USER], ["x"], [5, {"role": "system", "content": "S"}]):
        placed = insert_block(messages, ("A B", "A", "B"), position)  # type: ignore[arg-type]  # odd on purpose
        assert "A" in str(placed)
        assert [one for one in placed if not isinstance(one, dict)] == [
            one for one in messages if not isinstance(one, dict)
        ]


@pytest.mark.parametrize("position", Position)
def test_a_prompt_that_is_no_text_stays_what_it_is(position: Position) -> None:
    block = PromptBlock("A B", "A", "B", position)
    for prompt in (5, {"a": 1}):
        messages = Messages().with_memory({"system": prompt, "messages": [USER]}, block)
        responses = Responses().with_memory({"instructions": prompt, "input": "Hi"}, block)
        assert (messages["system"], responses["instructions"]) == (prompt, prompt)
        assert all("A" in str(one) and "B" in str(one) for one in (messages, responses))


READABLE = [
    b'{"model":"m","temperature":NaN,"messages":[{"role":"user","content":"Where do I live?"}]}',
    b'{"model":"m","messages":[{"role":"assistant","content":"hi \\ud83d"},{"role":"user","content":"Hello"}]}',
    b'{"model":"m","messages":[{"role":"user","content":"I like tea \\ud83d"}]}',
    b'{"model":"m","messages":[{"role":"user","content":"a\\u0000b"}]}',
    b'{"model":"m","messages":[{"role":"user","content":{"a":1}}]}',
    b'{"model":"m","messages":{"a":1}}',
]


def test_what_could_be_read_goes_on_as_it_came(gate: Gate) -> None:
    for text in READABLE:
        assert post(gate, text, **{"x-memory": "inject-off"}).status_code == 200
        assert repr(gate.upstream.seen[-1]) == repr(json.loads(text))
        assert post(gate, text).status_code == 200


def test_half_a_character_does_not_cost_the_rest(gate: Gate) -> None:
    answers(gate, CHAT, whole('{"choices":[{"index":0,"message":{"role":"assistant","content":"Hm \\ud83d"}}]}'))
    post(gate, b'{"model":"m","messages":[{"role":"user","content":"I like green tea \\ud83d"}]}')
    until(lambda: gate.tasks == 0)
    remaining = {one["memory"] for one in gate.turns("alice")}
    assert {"I like green tea \ufffd", "Hm \ufffd"} <= remaining


ODD_ANSWERS = [
    '{"choices":[null]}',
    '{"choices":{"a":1}}',
    '{"choices":[{"message":"hello"}]}',
    '{"choices":[],"usage":[1]}',
    '{"choices":[],"usage":"none"}',
    '{"choices":[{"index":"x","message":{"content":5,"tool_calls":[{"function":5}]}}]}',
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi \\ud83d"}}]}',
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"logprobs":{"a":NaN}}]}',
    "[1]",
    "not JSON",
    "[" * 100_000,
]


@pytest.mark.parametrize("searching", [False, True])
def test_an_odd_answer_comes_back_byte_for_byte(gate: Gate, *, searching: bool) -> None:
    gate.memory.settings.set({"policy.search_tool": searching}, user_id="alice")
    for text in ODD_ANSWERS:
        answers(gate, CHAT, whole(text))
        answer = post(gate, {"model": "m", "messages": [USER]})
        assert (answer.status_code, answer.text) == (200, text)
        reply = post(gate, {"model": "m", "messages": [USER]}, **{"X-Memstone-Include": "memories"})
        assert reply.status_code == 200
        if text.startswith("{"):
            found = json.loads(reply.text)
            assert "Oslo" in found.pop("memories")[0]["memory"]
            assert repr(found) == repr(json.loads(text))


ODD_EVENTS = [
    '{"choices":[],"usage":[1]}',
    '{"choices":[],"usage":"none"}',
    '{"choices":[{"index":0,"delta":"x"}]}',
    '{"choices":[{"index":0,"delta":{"content":5,"tool_calls":[{"index":"a","function":{"name":5}}]}}]}',
    '{"choices":[null]}',
    '{"choices":5}',
    "5",
    '{"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}',
]


@pytest.mark.parametrize("searching", [False, True])
def test_an_odd_event_is_passed_on_and_so_is_what_follows(gate: Gate, *, searching: bool) -> None:
    gate.memory.settings.set({"policy.search_tool": searching}, user_id="alice")
    for number, event in enumerate(ODD_EVENTS):
        sent = [f"data: {event}\n\n", chunk(content=f"rest {number}"), chunk("stop"), DONE]
        answers(gate, CHAT, pieces(*sent))
        answer = post(gate, {"model": "m", "stream": True, "messages": [USER]})
        assert (answer.status_code, answer.text) == (200, "".join(sent))
        until(lambda: gate.tasks == 0)
        assert any(one["memory"].endswith(f"rest {number}") for one in gate.turns("alice"))


@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_understood_is_counted_and_logged(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("no")

    for name in ("parse_reply", "piece", "with_memory"):
        monkeypatch.setattr(f"memstone.core.dialects.chat.Chat.{name}", broken)
    before = SKIPPED.labels("unreadable")._value.get()
    with structlog.testing.capture_logs() as logs:
        answer = ask(gate.openai(user_id="alice"), "Where do I live?", stream=stream)
        assert said(answer, stream=stream) == "Noted."
    assert {one["kind"] for one in logs if one["event"] == "memory.chat.unread"} == {"KeyError"}
    assert SKIPPED.labels("unreadable")._value.get() > before
    assert gate.upstream.seen[-1]["messages"] == [USER]


def test_a_stream_that_closes_inside_an_event_ends_in_an_error_that_can_be_read(gate: Gate) -> None:
    answers(gate, CHAT, pieces(chunk(content="one"), 'data: {"id":"1","choi'))
    with pytest.raises(openai.APIError, match="ended its response early"):
        list(ask(gate.openai(user_id="alice"), "hi", stream=True))
    text = post(gate, {"model": "m", "stream": True, "messages": [USER]}).text
    assert text.startswith(chunk(content="one") + 'data: {"error"')


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_last_event_without_its_empty_line_is_the_last_event(gate: Gate, end: str) -> None:
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": []}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    done = {"type": "response.completed", "sequence_number": 1, "response": {**response, **more}}
    answers(gate, "/v1/responses", pieces(f"event: response.completed\ndata: {json.dumps(done)}{end}"))
    events = list(gate.openai(user_id="alice").responses.create(model="m", input="hi", stream=True))
    assert [one.type for one in events] == ["response.completed"]
    answers(gate, CHAT, pieces(chunk(content="one"), chunk("stop"), f"data: [DONE]{end}"))
    assert said(ask(gate.openai(user_id="alice"), "hi", stream=True), stream=True) == "one"
    answers(gate, CHAT, pieces(chunk(content="one"), chunk(content="two").strip() + end))
    text = post(gate, {"model": "m", "stream": True, "messages": [USER]}).text
    assert '\n\ndata: {"error"' in text.replace("\r", "")
    assert "two" in text


@pytest.mark.parametrize("searching", [False, True])
def test_a_whole_answer_to_who_wanted_a_stream_is_a_whole_answer(gate: Gate, *, searching: bool) -> None:
    gate.memory.settings.set({"policy.search_tool": searching}, user_id="alice")
    text = '{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}]}'
    answers(gate, CHAT, whole(text))
    answer = post(gate, {"model": "m", "stream": True, "messages": [USER]})
    assert (answer.text, answer.headers["content-type"]) == (text, "application/json")
    until(lambda: gate.tasks == 0)
    assert "whole" in [one["memory"] for one in gate.turns("alice")]


def test_signs_that_look_like_line_ends_are_a_part_of_what_was_said(gate: Gate) -> None:
    words = ("My name ", "is \u2028 Bob", " and \x85 more", " \x0b\x0c\x1c end.")
    raw = [
        f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': w}}]}, ensure_ascii=False)}\n\n"
        for w in words
    ]
    answers(gate, CHAT, pieces(*raw, DONE))
    post(gate, {"model": "m", "stream": True, "messages": [USER]})
    until(lambda: gate.tasks == 0)
    assert "Bob and" in " ".join(next(one["memory"] for one in gate.turns("alice") if "Bob" in one["memory"]).split())
    assert event_of("data: a\u2028b\r\ndata: c\rdata: d\n\n".encode()).data == "a\u2028b\nc\nd"


def test_a_character_in_two_halves_is_one_character(gate: Gate) -> None:
    answers(gate, CHAT, pieces(chunk(content="Nice \ud83d"), chunk(content="\ude00!"), DONE))
    post(gate, {"model": "m", "stream": True, "messages": [USER]})
    until(lambda: gate.tasks == 0)
    assert "Nice \U0001f600!" in [one["memory"] for one in gate.turns("alice")]
    assert repair_surrogates([{"a": "\ud83d"}, "\ud83d\ude00", 5, "\u00fc"]) == [
        {"a": "\ufffd"},
        "\U0001f600",
        5,
        "\u00fc",
    ]


def test_line_ends_may_be_mixed() -> None:
    events = SseParser()
    found = [event.data for event in events.feed(b"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r\ndata: d\n\n")]
    assert (found, events.rest, events.last) == (["a", "b", "c", "d"], b"", None)
