"""A model that looks for itself: the caller sees one answer, and nothing of the search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.gate import Gate, ask, gated, said, until
from tests.server.upstream import Turn

CALL = ("call-1", "memory_search", {"query": "where does the user live"})
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
LONG = "Let me think about that for a while, because it is not as simple as it looks. " * 5


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, inject={"chat": False}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        made.memory.add("I live in Rome", user_id="bob")
        made.memory.settings.set({"policy.search_tool": True}, user_id="alice")
        yield made


def tools_of(body: dict[str, Any]) -> list[str]:
    return [one.get("name") or one["function"]["name"] for one in body.get("tools", [])]


@pytest.mark.req("S-65")
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_searches_and_only_its_last_answer_is_given_back(gate: Gate, *, stream: bool) -> None:
    gate.upstream.turns = [Turn("Let me see.", [CALL]), Turn("You live in Oslo.")]
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
    answer = ask(gate.openai(user_id="alice"), "Where do I live?", stream=stream, **more)
    pieces = list(answer) if stream else [answer]
    assert said(pieces if stream else answer, stream=stream) == "You live in Oslo."
    assert "memory_search" not in str(pieces)
    assert pieces[-1].usage.total_tokens == 4
    first, second = gate.upstream.seen
    assert tools_of(first) == ["memory_search"]
    assert "user_id" not in str(first["tools"])
    result = json.loads(second["messages"][-1]["content"])
    assert "Oslo" in result["data"]["memories"][0]["content"]
    assert second["messages"][-2]["tool_calls"][0]["id"] == second["messages"][-1]["tool_call_id"] == "call-1"


@pytest.mark.req("S-65")
@pytest.mark.parametrize("stream", [False, True])
def test_the_messages_dialect_searches_too(gate: Gate, *, stream: bool) -> None:
    gate.upstream.turns = [Turn("Let me see.", [CALL]), Turn("You live in Oslo.")]
    client = gate.anthropic(user_id="alice")
    wanted: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Where do I live?"}]}
    if stream:
        with client.messages.stream(**wanted) as events:
            answer: Any = events.get_final_message()
    else:
        answer = client.messages.create(**wanted)
    assert [(one.type, one.text.strip()) for one in answer.content] == [("text", "You live in Oslo.")]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2, 2)
    asked, reply = gate.upstream.seen[1]["messages"][-2:]
    assert [one["type"] for one in asked["content"]] == ["text", "tool_use"]
    assert asked["content"][1]["input"] == CALL[2]
    assert "Oslo" in reply["content"][0]["content"]


@pytest.mark.req("S-65")
@pytest.mark.parametrize("stream", [False, True])
def test_the_responses_dialect_searches_too(gate: Gate, *, stream: bool) -> None:
    gate.upstream.turns = [Turn("", [CALL]), Turn("You live in Oslo.")]
    client = gate.openai(user_id="alice")
    answer: Any = client.responses.create(model="m", input="Where do I live?", stream=stream)
    events = list(answer) if stream else []
    full = events[-1].response if stream else answer
    assert full.output_text == "You live in Oslo."
    assert full.usage.total_tokens == 4
    assert "memory_search" not in str(events)
    call, output = gate.upstream.seen[1]["input"][-2:]
    assert (call["type"], output["type"]) == ("function_call", "function_call_output")
    assert "Oslo" in output["output"]


def test_after_three_rounds_the_model_has_to_answer(gate: Gate) -> None:
    gate.upstream.turns = [Turn("", [CALL]), Turn("", [CALL]), Turn("Enough.")]
    assert said(ask(gate.openai(user_id="alice"), "Where do I live?")) == "Enough."
    assert [one.get("tool_choice") for one in gate.upstream.seen] == [None, None, "none"]


def test_without_the_setting_there_is_no_tool(gate: Gate) -> None:
    ask(gate.openai(user_id="bob"), "Where do I live?")
    assert "tools" not in gate.upstream.seen[-1]
    ask(gate.openai(user_id="alice"), "Where do I live?", extra_headers={"x-memory": "off"})
    assert "tools" not in gate.upstream.seen[-1]


def test_while_memory_is_paused_there_is_no_tool(gate: Gate) -> None:
    gate.memory.settings.pause(user_id="alice")
    ask(gate.openai(user_id="alice"), "Where do I live?")
    assert "tools" not in gate.upstream.seen[-1]


@pytest.mark.req("S-62")
def test_the_setting_of_an_agent_counts_where_it_is_run_and_not_where_a_header_names_it(gate: Gate) -> None:
    gate.memory.agents.save("nurse", model="m", settings={"searchMemoryEnabled": True})
    ask(gate.openai(user_id="bob"), "Where do I live?", extra_headers={"X-Agent-Id": "nurse"})
    assert tools_of(gate.upstream.seen[-1]) == []
    ask(gate.openai(user_id="alice"), "Where do I live?", extra_headers={"X-Agent-Id": "nurse"})
    assert tools_of(gate.upstream.seen[-1]) == ["memory_search"], "it is on for alice, whichever agent is named"
    headers = {"Authorization": f"Bearer {gate.key(user_id='bob')}"}
    asked = {"messages": [{"role": "user", "content": "Where do I live?"}]}
    assert httpx2.post(f"{gate.url}/agents/nurse/run", json=asked, headers=headers, timeout=120).status_code == 200
    assert tools_of(gate.upstream.seen[-1]) == ["memory_search"]


@pytest.mark.req("S-65", "S-67")
@pytest.mark.parametrize("disabled", [False, True])
@pytest.mark.parametrize("searches", [False, True])
def test_the_two_switches_of_an_agent_are_independent(tmp_path: Path, *, disabled: bool, searches: bool) -> None:
    with gated(tmp_path) as gate:
        gate.memory.add("I live in Oslo", user_id="alice", agent_id="nurse", infer=False)
        gate.memory.agents.save(
            "nurse", model="m", settings={"disableMemory": disabled, "searchMemoryEnabled": searches}
        )
        gate.upstream.turns = [Turn("", [CALL]), Turn("Oslo.")] if searches else [Turn("Hm.")]
        headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
        asked = {"messages": [{"role": "user", "content": "Where do I live?"}]}
        assert httpx2.post(f"{gate.url}/agents/nurse/run", json=asked, headers=headers, timeout=120).status_code == 200
        until(lambda: gate.tasks == 0)
        assert tools_of(gate.upstream.seen[0]) == (["memory_search"] if searches else [])
        assert ("Oslo" in str(gate.upstream.seen[0])) is not disabled, "shown unasked"
        assert ("Oslo" in str(gate.upstream.seen[-1]["messages"])) is (searches or not disabled)
        assert bool(gate.turns("alice")) is not disabled, "recorded"


@pytest.mark.req("S-65", "O-56")
@pytest.mark.parametrize(
    ("setting", "offered"),
    [({"policy.enabled": False}, False), ({"context.budget": 0}, False), ({"policy.shows": False}, True)],
)
def test_who_wants_no_memory_at_all_is_not_searched_either(
    tmp_path: Path, setting: dict[str, Any], *, offered: bool
) -> None:
    with gated(tmp_path, policy={"search_tool": True}) as gate:
        gate.memory.agents.save("nurse", model="m", settings={"disableMemory": True, "searchMemoryEnabled": True})
        gate.memory.settings.set(setting, user_id="alice")
        ask(gate.openai(user_id="alice"), "Where do I live?")
        assert tools_of(gate.upstream.seen[-1]) == (["memory_search"] if offered else [])


@pytest.mark.parametrize("choice", ["none", "required", {"type": "function", "function": {"name": "weather"}}])
def test_a_caller_who_chooses_the_tool_is_left_alone(gate: Gate, choice: Any) -> None:
    ask(gate.openai(user_id="alice"), "Where do I live?", tools=[WEATHER], tool_choice=choice)
    assert tools_of(gate.upstream.seen[-1]) == ["weather"]


def test_a_model_cannot_name_another_user(gate: Gate) -> None:
    gate.upstream.turns = [Turn("", [("c", "memory_search", {"query": "live", "user_id": "bob"})]), Turn("Hm.")]
    gate.memory.settings.set({"policy.search_tool": True})
    client = gate.openai(may_assert_user=True)
    ask(client, "Where does Bob live?", extra_headers={"X-Memstone-User": "alice"})
    answer = json.loads(gate.upstream.seen[-1]["messages"][-1]["content"])
    assert answer["success"] is False
    assert "Rome" not in gate.sent


@pytest.mark.parametrize("stream", [False, True])
def test_the_callers_own_calls_come_as_they_are(gate: Gate, *, stream: bool) -> None:
    gate.upstream.turns = [Turn("", [("w", "weather", {"city": "Oslo"})])]
    answer = ask(gate.openai(user_id="alice"), "Weather?", tools=[WEATHER], stream=stream)
    pieces = list(answer) if stream else [answer]
    assert "weather" in str(pieces)
    assert len(gate.upstream.seen) == 1


def test_calls_of_both_at_once_end_in_an_answer_with_the_callers_alone(gate: Gate) -> None:
    weather = ("w", "weather", {"city": "Oslo"})
    gate.upstream.turns = [Turn("", [CALL, weather]), Turn("", [weather])]
    answer = ask(gate.openai(user_id="alice"), "Weather at home?", tools=[WEATHER])
    assert [one.function.name for one in answer.choices[0].message.tool_calls] == ["weather"]
    between = gate.upstream.seen[1]["messages"][-2]
    assert [one["function"]["name"] for one in between["tool_calls"]] == ["memory_search"]
    gate.upstream.turns = [Turn("", [weather, CALL])]
    pieces = list(ask(gate.openai(user_id="alice"), "Weather at home?", tools=[WEATHER], stream=True))
    assert "weather" in str(pieces)
    assert "memory_search" not in str(pieces)


@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_a_model_that_speaks_at_length_before_it_calls_goes_on_speaking(gate: Gate, dialect: str) -> None:
    gate.upstream.turns = [Turn(LONG, [CALL]), Turn("You live in Oslo.")]
    if dialect == "chat":
        text = said(ask(gate.openai(user_id="alice"), "Where do I live?", stream=True), stream=True)
    else:
        wanted: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Where do I live?"}]}
        with gate.anthropic(user_id="alice").messages.stream(**wanted) as events:
            message: Any = events.get_final_message()
        assert [one.type for one in message.content] == ["text", "text"]
        text = "".join(one.text for one in message.content)
    assert text.split() == [*LONG.split(), *"You live in Oslo.".split()]
    assert "memory_search" not in text


def test_arguments_that_cannot_be_read_are_answered_with_an_error(gate: Gate) -> None:
    gate.upstream.turns = [Turn("", [("c", "memory_search", {"scope": "elsewhere", "query": "x"})]), Turn("Hm.")]
    assert said(ask(gate.openai(user_id="alice"), "Where?")) == "Hm."
    assert json.loads(gate.upstream.seen[-1]["messages"][-1]["content"])["error"]["code"] == "invalid_input"
