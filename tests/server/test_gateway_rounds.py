"""A model that searches, in streams of every shape: the caller sees one answer that is true to its form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from memstone.core.dialects.anthropic import MessageTools
from memstone.core.dialects.responses import ResponseTools
from tests.server.gate import Gate, ask, gated, said, until
from tests.server.scripted import CHAT, answers, chunk, in_turn, pieces, whole
from tests.server.upstream import Turn

CALL = ("call-1", "memory_search", {"query": "where does the user live"})
WEATHER_CALL = ("w", "weather", {"city": "Oslo"})
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
LONG = "Let me think about that for a while, because it is not as simple as it looks. " * 5
ASKED = "Where do I live?"
DONE = "data: [DONE]\n\n"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, upstream={"retries": 0}, inject={"chat": False}, policy={"search_tool": True}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


def call(index: int, name: str) -> dict[str, Any]:
    values = {"city": "Oslo"} if name == "weather" else CALL[2]
    function = {"name": name, "arguments": json.dumps(values)}
    return {"index": index, "id": f"c{index}", "type": "function", "function": function}


def called(chunks: list[Any]) -> list[tuple[int, str]]:
    pieces_of = [one for each in chunks for choice in each.choices for one in choice.delta.tool_calls or []]
    return [(one.index, one.function.name) for one in pieces_of if one.function.name]


def test_a_streamed_response_begins_while_the_model_still_speaks(gate: Gate) -> None:
    """The upstream sends an event when the one before it has come through, as soon as some words were said."""
    gate.upstream.reply, gate.upstream.pace = LONG, threading.Semaphore(4)
    headers, text = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}, b""
    body = {"model": "m", "input": "Tell me a story", "stream": True}
    with httpx2.stream("POST", f"{gate.url}/v1/responses", json=body, headers=headers, timeout=120) as answer:
        for piece in answer.iter_raw():
            text += piece
            gate.upstream.pace.release(piece.count(b"\n\n") or 1)
    assert text.endswith(b"\n\n")
    assert b"response.completed" in text


def test_a_response_that_has_begun_goes_on_after_the_search(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    gate.upstream.turns = [Turn(LONG, [CALL]), Turn("You live in Oslo.")]
    with client.responses.stream(model="m", input=ASKED) as stream:
        events = list(stream)
        whole_one = stream.get_final_response()
    assert whole_one.output_text == LONG + "You live in Oslo."
    assert "memory_search" not in str(events)
    assert "Oslo" in gate.upstream.seen[1]["input"][-1]["output"]
    assert [one["type"] for one in gate.upstream.seen[1]["input"][1:]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    gate.upstream.turns = [Turn(LONG, [CALL]), Turn("You live in Oslo.")]
    raw: Any = list(client.responses.create(model="m", input=ASKED, stream=True))
    assert [one.sequence_number for one in raw] == list(range(len(raw)))
    assert [one.type for one in raw].count("response.created") == 1
    assert {one.output_index for one in raw if hasattr(one, "output_index")} == {0, 1}
    assert raw[-1].response.id == raw[0].response.id
    assert raw[-1].response.usage.total_tokens == 4


def test_a_response_is_continued_where_the_service_has_ended_it(gate: Gate) -> None:
    """The service cannot continue its beginning: the call of our tool was answered in the round after it."""
    client = gate.openai(user_id="alice")
    gate.upstream.turns = [Turn(LONG, [CALL]), Turn("Wait. " + LONG, [CALL]), Turn("You live in Oslo.")]
    raw: Any = list(client.responses.create(model="m", input=ASKED, stream=True))
    assert raw[-1].response.id == "r3"
    for number, continued in (("r3", "r1"), ("another", "another")):
        client.responses.create(model="m", input="And now?", previous_response_id=number)
        assert gate.upstream.seen[-1]["previous_response_id"] == continued


def test_a_response_is_continued_by_whose_it_is_whoever_else_is_erased(gate: Gate) -> None:
    gate.memory.add("I live in Rome", user_id="bob")
    client = gate.openai(user_id="alice")
    gate.upstream.turns = [Turn(LONG, [CALL]), Turn("You live in Oslo.")]
    raw: Any = list(client.responses.create(model="m", input=ASKED, stream=True))
    assert raw[-1].response.id == "r2"
    gate.memory.admin.erase(user_id="bob")
    for asks, continued in ((client, "r1"), (gate.openai(user_id="bob"), "r2"), (gate.openai(user_id="alice"), "r1")):
        asks.responses.create(model="m", input="And now?", previous_response_id="r2")
        assert gate.upstream.seen[-1]["previous_response_id"] == continued
    gate.memory.admin.erase(user_id="alice")
    client.responses.create(model="m", input="And now?", previous_response_id="r2")
    assert gate.upstream.seen[-1]["previous_response_id"] == "r2"


@pytest.mark.parametrize("names", [("weather", "memory_search"), ("weather", "memory_search", "weather")])
def test_a_call_of_ours_behind_a_callers_is_taken_out_of_one_chunk(gate: Gate, names: tuple[str, ...]) -> None:
    calls = [call(index, name) for index, name in enumerate(names)]
    sent = [chunk(role="assistant", content="", tool_calls=calls), chunk("tool_calls"), DONE]
    answers(gate, CHAT, pieces(*sent))
    got = list(ask(gate.openai(user_id="alice"), "Weather?", tools=[WEATHER], stream=True))
    assert called(got) == [(at, "weather") for at in range(names.count("weather"))]
    assert got[-1].choices[0].finish_reason == "tool_calls"
    assert len(gate.upstream.seen) == 1


def test_a_call_of_ours_before_a_callers_is_answered_first(gate: Gate) -> None:
    both = [call(0, "memory_search"), call(1, "weather")]
    first = pieces(chunk(role="assistant", tool_calls=both), chunk("tool_calls"), DONE)
    answers(gate, CHAT, in_turn(first, pieces(chunk(tool_calls=[call(0, "weather")]), chunk("tool_calls"), DONE)))
    got = list(ask(gate.openai(user_id="alice"), "Weather at home?", tools=[WEATHER], stream=True))
    assert called(got) == [(0, "weather")]
    assert "Oslo" in gate.upstream.seen[1]["messages"][-1]["content"]


def test_the_blocks_of_a_message_are_counted_without_ours(gate: Gate) -> None:
    gate.upstream.turns = [Turn("", [WEATHER_CALL, CALL, ("x", "weather", {"city": "Rome"})])]
    tool: Any = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}
    asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Weather?"}], "tools": [tool]}
    with gate.anthropic(user_id="alice").messages.stream(**asked) as stream:
        message: Any = stream.get_final_message()
    assert [(one.name, one.input["city"]) for one in message.content] == [("weather", "Oslo"), ("weather", "Rome")]
    assert message.stop_reason == "tool_use"


def test_the_items_of_a_response_are_counted_without_ours(gate: Gate) -> None:
    gate.upstream.turns = [Turn("", [WEATHER_CALL, CALL, ("x", "weather", {"city": "Rome"})])]
    with gate.openai(user_id="alice").responses.stream(model="m", input="Weather?") as stream:
        events = list(stream)
        response: Any = stream.get_final_response()
    assert [one.call_id for one in response.output] == ["w", "x"]
    assert "memory_search" not in str(events)


def test_whose_message_it_is_is_said_once(gate: Gate) -> None:
    lead = [chunk(role="assistant", content=""), chunk(content=LONG)]
    ours = chunk(tool_calls=[call(0, "memory_search")])
    second = [chunk(role="assistant", content=""), chunk(content="You live in Oslo."), chunk("stop"), DONE]
    answers(gate, CHAT, in_turn(pieces(*lead, ours, chunk("tool_calls"), DONE), pieces(*second)))
    asked: Any = [{"role": "user", "content": ASKED}]
    with gate.openai(user_id="alice").chat.completions.stream(model="m", messages=asked) as stream:
        message = stream.get_final_completion().choices[0].message
    assert (message.role, message.content) == ("assistant", LONG + "You live in Oslo.")
    assert message.tool_calls is None


@pytest.mark.parametrize(("status", "kind"), [(403, openai.PermissionDeniedError), (429, openai.RateLimitError)])
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_refuses_the_second_round_is_the_answer(
    gate: Gate, status: int, kind: type[openai.APIStatusError], *, stream: bool
) -> None:
    def refused() -> Any:
        answer = whole('{"error":{"message":"not today"}}')()
        answer.status_code = status
        answer.headers["retry-after"] = "7"
        return answer

    asks = call(0, "memory_search")
    message = {"role": "assistant", "content": None, "tool_calls": [asks]}
    first = json.dumps({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    begun = pieces(chunk(tool_calls=[asks]), chunk("tool_calls"), DONE) if stream else whole(first)
    answers(gate, CHAT, in_turn(begun, refused))
    with pytest.raises(kind, match="not today") as failed:
        ask(gate.openai(user_id="alice"), ASKED, stream=stream)
    assert failed.value.response.headers["retry-after"] == "7"
    until(lambda: gate.tasks == 0)
    assert ASKED not in [one["memory"] for one in gate.turns("alice")]


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/responses"])
def test_once_an_answer_has_begun_a_refusal_is_told_in_its_own_words(gate: Gate, path: str) -> None:
    text = '{"type":"error","error":{"type":"overloaded_error","message":"not today","code":"busy"}}'
    first: dict[str, Any] = {
        CHAT: lambda: ask(gate.openai(user_id="alice"), ASKED, stream=True),
        "/v1/messages": lambda: gate.anthropic(user_id="alice").messages.create(
            model="m", max_tokens=9, stream=True, messages=[{"role": "user", "content": ASKED}]
        ),
        "/v1/responses": lambda: gate.openai(user_id="alice").responses.create(model="m", input=ASKED, stream=True),
    }
    gate.upstream.turns = [Turn(LONG, [CALL])]
    answers(gate, path, whole(text), after=1)  # a stream was asked for, and this is none
    stream: Any = first[path]()
    if path == "/v1/responses":
        error = list(stream)[-1]
        assert (error.type, error.message, error.code) == ("error", "not today", "busy")
        return
    with pytest.raises(Exception, match="not today"):
        list(stream)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_in_the_last_round_never_reaches_the_caller(tmp_path: Path, rounds: int, *, stream: bool) -> None:
    settings: Any = {"inject": {"chat": False}, "policy": {"search_tool": True}, "gateway": {"tool_rounds": rounds}}
    with gated(tmp_path, **settings) as gate:
        gate.memory.add("I live in Oslo", user_id="alice")
        gate.upstream.turns = [Turn("Hm.", [CALL])] * max(rounds, 2)
        answer = ask(gate.openai(user_id="alice"), ASKED, tools=[WEATHER], stream=stream)
        got = list(answer) if stream else [answer]
        assert said(got if stream else answer, stream=stream) == "Hm."
        assert "memory_search" not in str(got)
        assert got[-1].choices[0].finish_reason == "stop"
        assert [len(one["tools"]) for one in gate.upstream.seen] == [2] * (max(rounds, 2) - 1) + [1]
        assert "Oslo" in str(gate.upstream.seen[1]["messages"])


@pytest.mark.parametrize("stream", [False, True])
def test_messages_and_responses_have_no_call_in_the_last_round_either(gate: Gate, *, stream: bool) -> None:
    gate.upstream.turns = [Turn("Hm.", [CALL])] * 3
    asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}]}
    if stream:
        with gate.anthropic(user_id="alice").messages.stream(**asked) as events:
            message: Any = events.get_final_message()
    else:
        message = gate.anthropic(user_id="alice").messages.create(**asked)
    assert ([one.type for one in message.content], message.stop_reason) == (["text"], "end_turn")
    gate.upstream.turns = [Turn("Hm.", [CALL])] * 3
    answer: Any = gate.openai(user_id="alice").responses.create(model="m", input=ASKED, stream=stream)
    response = list(answer)[-1].response if stream else answer
    assert [one.type for one in response.output] == ["message"]
    assert len(gate.upstream.seen) == 6


def test_what_a_tool_of_the_service_was_given_is_no_text() -> None:
    begun = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
    ]
    assert MessageTools().merge_events(events)["content"] == [{**begun, "input": {"query": "x"}}]


def test_a_conversation_that_the_service_writes_down_gets_no_tool(gate: Gate) -> None:
    assert not ResponseTools().free({"conversation": "conv_1", "input": "hi"}, "memory_search")
    gate.openai(user_id="alice").responses.create(model="m", input="hi", conversation="conv_1")
    assert "tools" not in gate.upstream.seen[-1]
