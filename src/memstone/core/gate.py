"""The modes and routes of the gate: whether memory helps with a message, and which layer.

Rules over the user's own words decide, which are those of a language. Most messages to an assistant need no memory, and
memory that does not belong to them costs tokens and leads answers astray; but a question that depends on who asks
("what should I cook tonight?") needs it although it does not say so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from memstone.errors import InvalidInput
from memstone.language.language import Language
from memstone.model.context_gate import GateDecision, GateMode, Route

SHORTEST: Final = 3
"""Characters a message must have to be looked at."""


TOO_SHORT: Final = GateDecision(Route.NONE, "too short")


def decide_route(
    message: str, language: Language, *, mode: str = GateMode.HEURISTIC, names: Collection[str] = ()
) -> GateDecision:
    """Return where to look for what helps with a message.

    ``names`` are people and things already known. In mode ``llm`` this is what the rules say; the engine asks a model
    when they say nothing.
    """
    if checked_mode(mode) in {GateMode.ALWAYS, GateMode.OFF}:
        return GateDecision(Route.EPISODE, "the gate is open for every message")
    if len(message.strip()) < SHORTEST:
        return TOO_SHORT
    return language.gate.route(message, names)


def checked_mode(mode: str) -> GateMode:
    """Return a mode by its name."""
    try:
        return GateMode(mode)
    except ValueError as error:
        raise InvalidInput(f"unknown gate mode {mode!r}", hint="one of " + ", ".join(GateMode)) from error


_TEXT_PARTS: Final = frozenset({"text", "input_text"})

_SPOKEN: Final = frozenset({"", "message"})
"""Types of items that somebody says; calls of tools, what they returned and reasoning have types of their own."""


def query_of(messages: str | Sequence[Mapping[str, Any] | str]) -> str:
    """Return the newest text of the user in a chat, in the shapes of the known chat protocols; '' when there is none.

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
