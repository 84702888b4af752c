from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone import inject
from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Dialect, PromptBlock
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses
from memstone.core.prompt.fence import Fence
from memstone.core.prompt.inject import Position, SystemRole, insert_block
from memstone.core.prompt.planner import NOTICE, BlockItem, plan_block
from memstone.errors import InvalidInput
from memstone.model.context import ContextPack

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Where do I live?"},
]


def shown(
    position: Position, messages: list[dict[str, Any]] = CHAT, stable: str = "S", volatile: str = "V"
) -> list[Any]:
    return [
        (one["role"], one["content"]) for one in insert_block(messages, (stable + volatile, stable, volatile), position)
    ]


@pytest.mark.req("S-32")
def test_before_the_words_of_the_last_user_message() -> None:
    assert shown(Position.PREFIX_LAST_USER)[3] == ("user", "SV\n\nWhere do I live?")
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert shown(Position.PREFIX_LAST_USER, parts) == [
        ("user", [{"type": "text", "text": "SV"}, {"type": "text", "text": "Hi"}])
    ]


def test_results_of_tools_in_the_place_of_the_user_are_not_what_the_user_said() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "12 degrees"}
    called: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}],
    }
    asked: dict[str, Any] = {"role": "user", "content": "How warm is it?"}
    chat = [asked, called, {"role": "user", "content": [result]}]

    assert insert_block(chat, ("V", "", "V"), Position.PREFIX_LAST_USER) == [
        {"role": "user", "content": "V\n\nHow warm is it?"},
        *chat[1:],
    ]
    both: dict[str, Any] = {"role": "user", "content": [result, {"type": "text", "text": "And tomorrow?"}]}
    (*_, last) = insert_block([*chat[:2], both], ("V", "", "V"), Position.PREFIX_LAST_USER)
    assert last["content"] == [result, {"type": "text", "text": "V"}, {"type": "text", "text": "And tomorrow?"}]


@pytest.mark.req("S-32")
def test_what_stays_the_same_comes_first_and_the_rest_right_before_the_question() -> None:
    assert shown(Position.SPLIT) == [
        ("system", "S"),
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("system", "V"),
        ("user", "Where do I live?"),
    ]


def test_in_front_or_in_the_system_message_that_is_there() -> None:
    assert shown(Position.SYSTEM_FIRST)[:2] == [("system", "SV"), ("system", "Be brief.")]
    assert shown(Position.SYSTEM_MERGE)[0] == ("system", "Be brief.\n\nSV")
    assert shown(Position.SYSTEM_MERGE, CHAT[1:])[0] == ("system", "SV")


@given(
    st.sampled_from(Position), st.lists(st.sampled_from(CHAT)), st.sampled_from(["", "S"]), st.sampled_from(["", "V"])
)
def test_nothing_is_lost_and_what_is_given_stays_as_it_is(
    position: Position, messages: list[dict[str, Any]], stable: str, volatile: str
) -> None:
    before = [dict(message) for message in messages]
    found = insert_block(messages, (stable + volatile, stable, volatile), position)
    assert messages == before
    text = "\n".join(str(one["content"]) for one in found)
    assert all(message["content"] in text for message in messages)
    assert stable in text
    assert volatile in text
    if not stable and not volatile:
        assert found == messages


def test_a_pack_is_put_in_its_place() -> None:
    pack = ContextPack(text="SV", stable="S", volatile="V")
    assert [one["content"] for one in inject(CHAT[3:], pack)] == ["S", "V", "Where do I live?"]
    assert inject(CHAT, ContextPack()) == CHAT
    with pytest.raises(InvalidInput, match="nowhere"):
        inject(CHAT, pack, "nowhere")


PARTS = [{"type": "text", "text": "And in spring?"}]
SPOKEN: list[dict[str, Any]] = [*CHAT, {"role": "user", "content": PARTS}, {"role": "developer", "content": PARTS}]
SPEAKS: dict[Dialect, tuple[str, str]] = {
    Chat(): ("messages", ""),
    Messages(): ("messages", "system"),
    Responses(): ("input", "instructions"),
}


def planned(*, stable: bool, volatile: bool) -> ContextPack:
    made = plan_block(
        [BlockItem("m1", "User lives in Oslo", date="2026-01-02")] if volatile else [],
        budget=800,
        today=date(2026, 5, 7),
        fence=Fence(b"secret"),
        overrides=[BlockItem("m2", "Answer in French")] if stable else [],
    )
    return ContextPack(made.text, made.stable, made.volatile)


@pytest.mark.req("S-32", "X-3")
@pytest.mark.parametrize("role", SystemRole)
@pytest.mark.parametrize("position", Position)
@pytest.mark.parametrize("dialect", SPEAKS, ids=lambda one: type(one).__name__)
@given(st.lists(st.sampled_from(SPOKEN), max_size=5), st.booleans(), st.booleans(), st.sampled_from([None, "Be kind."]))
def test_no_message_holds_two_fences_or_two_notices(
    dialect: Dialect,
    position: Position,
    role: SystemRole,
    messages: list[dict[str, Any]],
    stable: bool,  # noqa: FBT001 - drawn
    volatile: bool,  # noqa: FBT001 - drawn
    prompt: str | None,
) -> None:
    where, system = SPEAKS[dialect]
    pack = planned(stable=stable, volatile=volatile)
    body: dict[str, Any] = {where: messages} | ({system: prompt} if system and prompt else {})
    sent = dialect.with_memory(body, PromptBlock(pack.text, pack.stable, pack.volatile, position, role))
    lines = [json.dumps(one) for one in (*sent[where], sent.get(system))]
    assert all(one.count("<memstone-memory") <= 1 and one.count(NOTICE) <= 1 for one in lines)
    if any(one["role"] == "user" for one in messages):
        assert all(any(text in one for one in lines) for text in ["French"] * stable + ["Oslo"] * volatile)
