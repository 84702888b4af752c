from __future__ import annotations

from typing import Any

import pytest

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Dialect
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses

PARTS = [
    {"type": "text", "text": "I live"},
    {"type": "image_url", "image_url": {"url": "x"}},
    {"type": "text", "text": "in Oslo"},
]
CASES: list[tuple[Dialect, dict[str, Any], str]] = [
    (Chat(), {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": "I live in Oslo"}]}, "chat"),
    (Chat(), {"messages": [{"role": "user", "content": PARTS}, {"role": "tool", "content": "7"}]}, "parts"),
    (Messages(), {"messages": [{"role": "user", "content": "I live in Oslo"}]}, "messages"),
    (Responses(), {"input": "I live in Oslo"}, "text"),
    (
        Responses(),
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "I live in Oslo"}]},
                {"type": "function_call", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "output": "7"},
                {"type": "reasoning", "summary": []},
            ]
        },
        "items",
    ),
]


@pytest.mark.req("O-40", "O-53")
@pytest.mark.parametrize(("dialect", "body"), [case[:2] for case in CASES], ids=[case[2] for case in CASES])
def test_the_newest_words_of_the_user_are_heard_in_every_form(dialect: Dialect, body: dict[str, Any]) -> None:
    assert dialect.question(body) == "I live in Oslo"
    assert [one["role"] for one in dialect.messages(body)] == ["user"]


ANSWERS: list[tuple[Dialect, dict[str, Any]]] = [
    (Chat(), {"choices": [{"message": {"content": "Noted."}}, {"message": {"content": "Another"}}]}),
    (Messages(), {"content": [{"type": "text", "text": "Noted."}, {"type": "tool_use", "name": "f"}]}),
    (Responses(), {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Noted."}]}]}),
]


@pytest.mark.req("O-40")
@pytest.mark.parametrize(("dialect", "reply"), ANSWERS)
def test_the_words_of_an_answer_are_heard_in_every_form(dialect: Dialect, reply: dict[str, Any]) -> None:
    assert dialect.parse_reply(reply).full_text == "Noted."


@pytest.mark.parametrize(
    "body", [{}, {"messages": 7}, {"messages": []}, {"messages": [7]}, {"input": 7}, {"input": [7]}]
)
@pytest.mark.parametrize("dialect", [Chat(), Messages(), Responses()])
def test_a_body_that_makes_no_sense_says_nothing(dialect: Dialect, body: dict[str, Any]) -> None:
    assert dialect.question(body) == ""
    assert dialect.messages(body) == []
