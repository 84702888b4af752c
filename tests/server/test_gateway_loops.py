"""A client that runs tools of its own sends the same words again and again; they were said once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Dialect
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses
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
    remaining = sorted((one["role"], one["memory"]) for one in gate.turns("alice"))
    assert remaining == [("assistant", "Take an umbrella."), ("user", SAID)]


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


TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
RESULT: Any = {"role": "tool", "tool_call_id": "c0", "content": "rain"}
CALLED: Any = {"role": "assistant", "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "weather"}}]}


def shown(gate: Gate, *messages: Any) -> list[Any]:
    gate.openai(user_id="alice").chat.completions.create(model="m", messages=list(messages), tools=[TOOL])
    until(lambda: gate.tasks == 0)
    sent: list[Any] = gate.upstream.seen[-1]["messages"]
    return sent


@pytest.mark.req("N-14", "R-21")
def test_what_a_model_is_shown_stays_the_same_until_a_loop_ends(gate: Gate) -> None:
    """What the user has just said is known a moment later; shown then, it would be new to the cache, and to nobody."""
    first = shown(gate, USER)
    second = shown(gate, USER, CALLED, RESULT)
    assert gate.facts("alice")
    assert second[: len(first)] == first == [USER]
    again = shown(gate, USER)
    assert "User lives in Oslo" in str(again), "another loop begins with what is known by then"
    gate.memory.add("I have a green bicycle", user_id="alice")
    assert shown(gate, USER, CALLED, RESULT)[:2] == again


def test_what_was_deleted_is_not_shown_to_the_end_of_a_loop(gate: Gate) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")
    assert "User lives in Oslo" in str(shown(gate, USER))
    for one in gate.memory.get_all(user_id="alice")["results"]:
        gate.memory.delete(one["id"])
    assert "User lives in Oslo" not in str(shown(gate, USER, CALLED, RESULT))


def test_a_loop_of_somebody_else_is_shown_nothing_of_it(gate: Gate) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")
    assert "User lives in Oslo" in str(shown(gate, USER))
    loop: Any = [USER, CALLED, RESULT]
    gate.openai(user_id="bob").chat.completions.create(model="m", messages=loop, tools=[TOOL])
    assert "User lives in Oslo" not in gate.sent


@pytest.mark.parametrize("stream", [False, True])
def test_who_sends_results_alone_is_still_known(gate: Gate, *, stream: bool) -> None:
    """A service that keeps an answer keeps what belongs to the question, but no instructions."""
    gate.memory.identity.set_overrides(["Answer in French."], user_id="alice")
    gate.memory.add("I live in Oslo", user_id="alice")
    tool: Any = {"type": "function", "name": "weather", "parameters": {}, "strict": False}
    output: Any = {"type": "function_call_output", "call_id": "c0", "output": "rain"}
    client, items, last = gate.openai(user_id="alice"), list[Any]([USER]), None
    for number in range(3):
        gate.upstream.turns = [Turn("", [("c0", "weather", {})])] * (3 - number)
        made: Any = client.responses.create(
            model="m", input=items, tools=[tool], previous_response_id=last, instructions="Be brief.", stream=stream
        )
        last, items = (list(made)[-1].response if stream else made).id, [output]
    first, second, third = gate.upstream.seen
    assert "Answer in French." in first["instructions"]
    assert first["instructions"] == second["instructions"] == third["instructions"]
    assert (second["input"], third["input"]) == ([output], [output])
    client.responses.create(model="m", input=[output], tools=[tool], previous_response_id="another")
    assert "instructions" not in gate.upstream.seen[-1]
    other = gate.openai(user_id="bob")
    other.responses.create(model="m", input=[output], tools=[tool], previous_response_id=str(last))
    assert "instructions" not in gate.upstream.seen[-1]


WHERE: Any = {"role": "user", "content": "When does the office close, and where do I live?"}
WHEN: Any = {"role": "user", "content": "When does the office close?"}


def asserted(gate: Gate, *messages: Any, user: str) -> str:
    client = gate.openai(may_assert_user=True)
    client.chat.completions.create(model="m", messages=list(messages), tools=[TOOL], user=user)
    until(lambda: gate.tasks == 0)
    return gate.sent


def test_what_is_no_longer_shared_is_not_shown_to_the_end_of_a_loop(gate: Gate) -> None:
    """It is still there, but for somebody else."""
    (one,) = gate.memory.add("The office closes at six.", user_id="alice", infer=False)["results"]
    gate.memory.sharing.share(one["id"], user_id="bob")
    assert "at six" in asserted(gate, WHEN, user="bob")
    gate.memory.sharing.unshare(one["id"], user_id="bob")
    assert "at six" not in asserted(gate, WHEN, CALLED, RESULT, user="bob")


def test_words_in_which_something_deleted_was_said_are_not_shown_to_the_end_of_a_loop(gate: Gate) -> None:
    message: Any = {"role": "user", "content": "What exactly did I say about Zoltan, word for word?"}
    gate.memory.settings.set({"context.gate": "heuristic"}, user_id="alice")
    gate.memory.add("My dentist is Zoltan.", user_id="alice")
    assert "My dentist is Zoltan" in asserted(gate, message, user="alice")
    (fact,) = gate.memory.get_all(user_id="alice")["results"]
    gate.memory.delete(fact["id"])
    assert "dentist" not in asserted(gate, message, CALLED, RESULT, user="alice")


@pytest.mark.parametrize("key", [{"user_id": "alice"}, {"may_assert_user": True}])
def test_what_everybody_is_told_and_what_has_changed_stays_to_the_end_of_a_loop(
    gate: Gate, key: dict[str, Any]
) -> None:
    gate.memory.settings.set({"recall.bootstrap_min": 5}, user_id="alice")
    gate.memory.add("The office closes at five.", user_id="*", infer=False)
    gate.memory.add("I live in Oslo", user_id="alice")
    client = gate.openai(**key)
    client.chat.completions.create(model="m", messages=[WHERE], tools=[TOOL], user="alice")
    first: list[Any] = gate.upstream.seen[-1]["messages"]
    assert "closes at five" in str(first)
    gate.memory.add("I moved to Bergen", user_id="alice")
    assert "User lives in Oslo." not in gate.facts("alice")
    client.chat.completions.create(model="m", messages=[WHERE, CALLED, RESULT], tools=[TOOL], user="alice")
    assert gate.upstream.seen[-1]["messages"][: len(first)] == first
