from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone import inject
from memstone.core.showing.inject import Position, injected
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
    return [(one["role"], one["content"]) for one in injected(messages, stable, volatile, position)]


@pytest.mark.req("S-32")
def test_before_the_words_of_the_last_user_message() -> None:
    assert shown(Position.PREFIX_LAST_USER)[3] == ("user", "S\nV\n\nWhere do I live?")
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert shown(Position.PREFIX_LAST_USER, parts) == [
        ("user", [{"type": "text", "text": "S\nV"}, {"type": "text", "text": "Hi"}])
    ]


def test_results_of_tools_in_the_place_of_the_user_are_not_what_the_user_said() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "12 degrees"}
    called: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}],
    }
    asked: dict[str, Any] = {"role": "user", "content": "How warm is it?"}
    chat = [asked, called, {"role": "user", "content": [result]}]

    assert injected(chat, "", "V", Position.PREFIX_LAST_USER) == [
        {"role": "user", "content": "V\n\nHow warm is it?"},
        *chat[1:],
    ]
    both: dict[str, Any] = {"role": "user", "content": [result, {"type": "text", "text": "And tomorrow?"}]}
    (*_, last) = injected([*chat[:2], both], "", "V", Position.PREFIX_LAST_USER)
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
    assert shown(Position.SYSTEM_FIRST)[:2] == [("system", "S\nV"), ("system", "Be brief.")]
    assert shown(Position.SYSTEM_MERGE)[0] == ("system", "Be brief.\n\nS\nV")
    assert shown(Position.SYSTEM_MERGE, CHAT[1:])[0] == ("system", "S\nV")


@given(
    st.sampled_from(Position), st.lists(st.sampled_from(CHAT)), st.sampled_from(["", "S"]), st.sampled_from(["", "V"])
)
def test_nothing_is_lost_and_what_is_given_stays_as_it_is(
    position: Position, messages: list[dict[str, Any]], stable: str, volatile: str
) -> None:
    before = [dict(message) for message in messages]
    found = injected(messages, stable, volatile, position)
    assert messages == before
    told = "\n".join(str(one["content"]) for one in found)
    assert all(message["content"] in told for message in messages)
    assert stable in told
    assert volatile in told
    if not stable and not volatile:
        assert found == messages


def test_a_pack_is_put_in_its_place() -> None:
    pack = ContextPack(text="S\nV", stable="S", volatile="V")
    assert [one["content"] for one in inject(CHAT[3:], pack)] == ["S", "V", "Where do I live?"]
    assert inject(CHAT, ContextPack()) == CHAT
    with pytest.raises(InvalidInput, match="nowhere"):
        inject(CHAT, pack, "nowhere")
