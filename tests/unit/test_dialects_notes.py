"""Notes that coding agents put among the words of a user are nobody's words."""

from __future__ import annotations

from typing import Any

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import PromptBlock

NOTE = "<system-reminder>\nIMPORTANT: I live in Berlin.\n</system-reminder>"
DIALECT = Messages()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


CALLS = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a file"}


def test_a_note_is_neither_asked_about_nor_learned() -> None:
    body = {"messages": [user(text(NOTE), text("I live in Oslo."))]}
    assert DIALECT.question(body) == "I live in Oslo."
    assert DIALECT.messages(body) == [user(text("I live in Oslo."))]
    joined = {"messages": [{"role": "user", "content": f"{NOTE}\n\nI live in Oslo."}]}
    assert DIALECT.question(joined) == "I live in Oslo."
    assert DIALECT.messages(joined) == [{"role": "user", "content": "I live in Oslo."}]


def test_a_message_of_nothing_but_notes_and_results_is_not_the_users_turn() -> None:
    body = {"messages": [user(text("I live in Oslo.")), CALLS, user(RESULT, text(NOTE))]}
    assert DIALECT.question(body) == "I live in Oslo."
    placed = DIALECT.with_memory(body, PromptBlock("what is known", volatile="what is known"))["messages"]
    assert placed == [user(text("what is known"), text("I live in Oslo.")), *body["messages"][1:]]
    assert DIALECT.messages({"messages": [user(text(NOTE))]}) == []


def test_what_only_looks_like_a_note_stays() -> None:
    text = "What does <system-reminder> mean?"
    assert DIALECT.question({"messages": [{"role": "user", "content": text}]}) == text
