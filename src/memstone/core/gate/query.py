"""What a chat request asks: the newest text of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_TEXT_PARTS: Final = frozenset({"text", "input_text"})
_SPOKEN: Final = frozenset({"", "message"})
"""Types of items that somebody says; calls of tools, what they returned and reasoning have types of their own."""


def query_of(messages: str | Sequence[Mapping[str, Any] | str]) -> str:
    """The newest text of the user in a chat, in the shapes of the known chat protocols; '' when there is none.

    The parts of a message are joined by a blank; items that nobody says (calls of tools and searches, their output,
    reasoning) are skipped, and so are messages of the user without text.
    """
    if isinstance(messages, str):
        return messages.strip()
    return next((text for text in map(_user_text, reversed(messages)) if text), "")


def _user_text(item: Mapping[str, Any] | str) -> str:
    if isinstance(item, str):
        return item.strip()
    if not isinstance(item, Mapping):
        return ""
    kind = item.get("type") or ""
    if kind in _TEXT_PARTS:
        return _part_text(item)
    if kind not in _SPOKEN or item.get("role", "user") != "user":
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, Sequence) else ()
    return " ".join(text for text in map(_part_text, parts) if text)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, Mapping) or part.get("type", "text") not in _TEXT_PARTS:
        return ""
    text = part.get("text")
    return text.strip() if isinstance(text, str) else ""
