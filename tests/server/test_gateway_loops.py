"""A client that runs tools of its own sends the same words again and again; they were said once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retain.core.dialects.anthropic import Messages
from retain.core.dialects.base import Dialect
from retain.core.dialects.chat import Chat
from retain.core.dialects.responses import Responses
from tests.server.gate import Gate, gated, until
from tests.server.upstream import Turn

SAID = "I live in Oslo and own a red bicycle. What is the weather?"
USER = {"role": "user", "content": SAID}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path) as made:
        yield made


def chat(gate: Gate) -> None:
    client, messages = gate.openai(user_id="alice"), list[Any]([USER])
    for number in range(3):
        made: Any = client.chat.completions.create(model="m", messages=messages)
        messages += [
            made.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": f"c{number}", "content": "rain"},
        ]
    client.chat.completions.create(model="m", messages=messages)


def messages(gate: Gate) -> None:
    client, turns = gate.anthropic(user_id="alice"), list[Any]([USER])
    for number in range(3):
        made = client.messages.create(model="m", max_tokens=9, messages=turns)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "rain"}
        note = {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}
        turns += [
            {"role": "assistant", "content": [block.model_dump() for block in made.content]},
            {"role": "user", "content": [result, note]},
        ]
    client.messages.create(model="m", max_tokens=9, messages=turns)


def responses(gate: Gate) -> None:
    client, items = gate.openai(user_id="alice"), list[Any]([USER])
    for number in range(3):
        client.responses.create(model="m", input=items)
        items += [
            {"type": "function_call", "call_id": f"c{number}", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "rain"},
        ]
    client.responses.create(model="m", input=items)


@pytest.mark.parametrize("loop", [chat, messages, responses])
def test_without_a_session_the_words_of_the_user_are_kept_once(gate: Gate, loop: Any) -> None:
    gate.upstream.turns = [Turn("", [(f"c{number}", "weather", {})]) for number in range(3)]
    gate.upstream.reply = "Take an umbrella."
    loop(gate)
    until(lambda: gate.tasks == 0)
    assert len(gate.upstream.seen) == 4
    kept = sorted((one["role"], one["memory"]) for one in gate.turns("alice"))
    assert kept == [("assistant", "Take an umbrella."), ("user", SAID)]


GIVEN = {"type": "tool_result", "tool_use_id": "c", "content": "rain"}
CASES: list[tuple[Dialect, dict[str, Any], bool]] = [
    (Chat(), {"messages": [USER]}, False),
    (Chat(), {"messages": [USER, {"role": "tool"}, USER]}, False),
    (Chat(), {"messages": [USER, {"role": "assistant"}]}, False),
    (Chat(), {"messages": [USER, {"role": "tool"}, {"role": "system"}]}, True),
    (Chat(), {"messages": [USER, {"role": "function"}]}, True),
    (Chat(), {"messages": 5}, False),
    (Messages(), {"messages": [USER]}, False),
    (Messages(), {"messages": [USER, {"role": "user", "content": [GIVEN]}]}, True),
    (Messages(), {"messages": [USER, {"role": "user", "content": [GIVEN, {"type": "text", "text": "And?"}]}]}, False),
    (Messages(), {"messages": [USER, {"role": "user", "content": [GIVEN]}, USER]}, False),
    (Responses(), {"input": SAID}, False),
    (Responses(), {"input": [USER, {"type": "custom_tool_call_output"}]}, True),
    (Responses(), {"input": [USER, {"type": "function_call_output"}, USER]}, False),
]


@pytest.mark.parametrize(("dialect", "body", "goes_on"), CASES)
def test_whether_a_tool_has_answered_since_the_user_spoke(
    dialect: Dialect, body: dict[str, Any], *, goes_on: bool
) -> None:
    assert dialect.goes_on(body) is goes_on


def test_an_answer_to_a_chore_is_not_kept_in_a_loop_either(gate: Gate) -> None:
    chore = {"role": "user", "content": "Find a title.\n<chat_history>\nUSER: hi\n</chat_history>"}
    sent: Any = [chore, {"role": "tool", "tool_call_id": "c", "content": "rain"}]
    gate.openai(user_id="alice").chat.completions.create(model="m", messages=sent)
    until(lambda: gate.tasks == 0)
    assert gate.turns("alice") == []
