"""Services with habits of their own: what they say besides, what they leave out, what they want to see again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client import REGISTRY
from starlette.responses import StreamingResponse

from memstone.core.dialects.anthropic import Messages, MessageTools
from memstone.core.dialects.base import Call, PromptBlock
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import ResponseTools
from memstone.core.prompt.inject import Position, SystemRole
from tests.patience import LONG
from tests.server.gate import Gate, ask, gated, said
from tests.server.scripted import CHAT, EVENTS, answers, chunk, in_turn, pieces, post, whole
from tests.server.upstream import Turn

CALL = ("call-1", "memory_search", {"query": "where does the user live"})
WHERE = "Where do I live?"
DONE = "data: [DONE]\n\n"
MEMORIES = {"X-Memstone-Include": "memories"}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, inject={"chat": False}, policy={"search_tool": True}) as made:
        yield made


@pytest.mark.parametrize("stream", [False, True])
def test_the_thoughts_before_a_search_go_back_to_the_model_that_had_them(searching: Gate, *, stream: bool) -> None:
    details = [{"type": "reasoning.text", "text": "Hm."}, {"type": "reasoning.encrypted", "data": "x"}]
    function = {"name": "memory_search", "arguments": '{"query": "where"}'}
    signed = {"id": "c", "type": "function", "function": function, "extra_content": {"google": {"signature": "s"}}}
    thought = {"reasoning_content": "Let me look.", "reasoning_details": details}
    message = {"role": "assistant", "content": None, **thought, "tool_calls": [signed]}
    parts: list[dict[str, Any]] = [{"reasoning_content": "Let me "}, {"reasoning_content": "look."}]
    parts += [{"reasoning_details": [one]} for one in details]
    first = pieces(*(chunk(**one) for one in parts), chunk(tool_calls=[{**signed, "index": 0}]), chunk("tool_calls"))
    answer = whole(json.dumps({"id": "1", "choices": [{"index": 0, "message": message}]}))
    end = json.dumps({"id": "2", "choices": [{"index": 0, "message": {"role": "assistant", "content": "In Oslo."}}]})
    last = pieces(chunk(content="In Oslo."), chunk("stop"), DONE) if stream else whole(end)
    answers(searching, CHAT, in_turn(first if stream else answer, last))
    assert said(ask(searching.openai(user_id="alice"), WHERE, stream=stream), stream=stream) == "In Oslo."
    assert searching.upstream.seen[1]["messages"][1] == message


def test_a_service_that_keeps_nothing_gets_no_thought_that_is_only_a_number() -> None:
    bare, sealed = {"type": "reasoning", "id": "rs_1"}, {"type": "reasoning", "id": "rs_2", "encrypted_content": "x"}
    call = {"type": "function_call", "call_id": "c", "name": "memory_search", "arguments": "{}"}
    reply, results = {"output": [bare, sealed, call]}, [(Call("c", "memory_search", {}), "found")]
    stored = ResponseTools().add_results({"input": "hi"}, reply, results)
    unkept = ResponseTools().add_results({"input": "hi", "store": False}, reply, results)
    assert stored["input"][1:4] == [bare, sealed, call]
    assert unkept["input"][1:3] == [sealed, call]


def test_words_that_are_empty_do_not_go_back_with_a_search() -> None:
    call = {"type": "tool_use", "id": "c", "name": "memory_search", "input": {}}
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    reply = {"content": [thought, {"type": "text", "text": " \n"}, call]}
    asked = MessageTools().add_results({"messages": []}, reply, [(Call("c", "memory_search", {}), "found")])
    assert asked["messages"][0]["content"] == [thought, call]


def test_a_model_that_thinks_for_long_is_heard_to_live_before_it_speaks(searching: Gate) -> None:
    """What may be the words before a search is held back, but nobody must take a quiet line for a dead one."""
    spoken, alive = threading.Event(), b""
    waits = [": OPENROUTER PROCESSING\n\n", 'event: ping\ndata: {"type": "ping"}\n\n', chunk(content="Wait. ")]

    def slowly() -> Iterator[str]:
        yield from waits
        assert spoken.wait(LONG)
        yield from (chunk(content="In Oslo."), chunk("stop"), DONE)

    answers(searching, CHAT, lambda: StreamingResponse(slowly(), media_type=EVENTS))
    body = {"model": "m", "messages": [{"role": "user", "content": WHERE}], "stream": True}
    headers = {"Authorization": f"Bearer {searching.key(user_id='alice')}"}
    with httpx2.stream("POST", searching.url + CHAT, json=body, headers=headers, timeout=LONG) as answer:
        for piece in answer.iter_raw():
            alive += piece
            if alive.count(b"\n\n") >= 2:
                assert b"data" not in alive or spoken.is_set()
                spoken.set()
    assert alive.endswith((waits[-1] + chunk(content="In Oslo.") + chunk("stop") + DONE).encode())


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
def test_events_may_leave_their_name_to_what_they_hold(gate: Gate, path: str) -> None:
    key = "input" if path == "/v1/responses" else "messages"
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, key: [{"role": "user", "content": WHERE}], "stream": True}
    named = post(gate, body, path, **MEMORIES).text
    events = [one.partition("\n")[2] + "\n\n" for one in named.split("\n\n") if one and "memories" not in one]
    answers(gate, path, pieces(*events))
    nameless = post(gate, body, path, **MEMORIES).text
    assert nameless.count("User lives in Oslo") == 1
    assert [one for one in nameless.split("\n\n") if "memories" not in one] == "".join(events).split("\n\n")
    assert nameless.index("User lives in Oslo") < nameless.index(
        "response.completed" if key == "input" else "message_stop"
    )


def test_a_stream_without_its_mark_is_whole_and_tells_what_was_shown(gate: Gate) -> None:
    before = cut()
    answers(gate, CHAT, pieces(chunk(content="In Oslo."), chunk("stop")))
    body = {"model": "m", "messages": [{"role": "user", "content": WHERE}], "stream": True}
    text = post(gate, body, **MEMORIES).text
    assert text.startswith(chunk(content="In Oslo.") + chunk("stop"))
    assert "User lives in Oslo" in text
    assert "error" not in text
    assert cut() == before


def cut() -> float:
    return REGISTRY.get_sample_value("memstone_gateway_streams_cut_total", {"by": "upstream"}) or 0.0


@pytest.mark.parametrize("position", list(Position))
@pytest.mark.parametrize("role", list(SystemRole))
def test_who_writes_the_newer_name_of_a_role_does_not_find_the_older_beside_it(
    position: Position, role: SystemRole
) -> None:
    items = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    sent = Chat().with_memory({"messages": items}, PromptBlock("who what", "who", "what", position, role))["messages"]
    assert "system" not in {one["role"] for one in sent}
    assert {"who", "what"} <= set(" ".join(one["content"] for one in sent).split())
    if position is Position.SYSTEM_MERGE and role is not SystemRole.NO:
        assert len(sent) == 2


def test_what_a_caller_marks_for_the_cache_is_the_same_in_the_next_request() -> None:
    block, mark = PromptBlock("who what", "who", "what"), {"cache_control": {"type": "ephemeral"}}
    marked = {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "rain"}
    first = Messages().with_memory({"messages": [marked]}, block)["messages"]
    more = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Where do I live?"}]
    then = Messages().with_memory({"messages": [marked, *more]}, block)["messages"]
    assert first[0]["content"] == [*then[0]["content"], {"type": "text", "text": "what"}]
    both = {"role": "user", "content": [result, {"type": "text", "text": "and", **mark}, {"type": "text", "text": "x"}]}
    texts = [one.get("text") for one in Messages().with_memory({"messages": [both]}, block)["messages"][0]["content"]]
    assert texts == [None, "and", "what", "x"]


def test_a_model_whose_calls_have_no_number_searches_too(searching: Gate) -> None:
    searching.upstream.turns = [Turn("", [("", *CALL[1:])]), Turn("In Oslo.")]
    assert said(ask(searching.openai(user_id="alice"), WHERE)) == "In Oslo."
    assert searching.upstream.seen[1]["messages"][-1]["role"] == "tool"
