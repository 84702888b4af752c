"""Asking a language model whether memory helps with a message, where the rules have found nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from memstone.core.llm.parse import UnreadableAnswer, parse_json
from memstone.core.llm.question import Question, object_schema, system_message
from memstone.model.context_gate import Route

MAX_MESSAGE: Final = 2_000
ANSWER_TOKENS: Final = 200
"""More than the answer takes, for models that say something before it."""

_SCHEMA: Final = {"title": "route", **object_schema({"route": {"type": "string", "enum": [*Route]}})}
_NAMES: Final = ("route", "layer", "answer")
_ROUTE: Final = re.compile(rf"\b(?:{'|'.join(Route)})\b")


def gate_question(message: str) -> Question:
    """The question about a message; of a long one its two ends are shown."""
    system, version = system_message("gate", "")
    half = MAX_MESSAGE // 2
    shown = message if len(message) <= MAX_MESSAGE else f"{message[:half]} [\u2026] {message[-half:]}"
    asked = f"The message:\n<message>\n{shown}\n</message>"
    return Question([{"role": "system", "content": system}, {"role": "user", "content": asked}], _SCHEMA, version)


def parse_route(answer: str) -> Route:
    """The layer an answer names, in JSON or as a bare word; ``UnreadableAnswer`` when it names none or several."""
    try:
        value = parse_json(answer).value
    except UnreadableAnswer:
        value = answer
    named = set(_ROUTE.findall(_said(value).lower()))
    if len(named) != 1:
        raise UnreadableAnswer('the answer names no layer: expected {"route": "..."}')
    return Route(named.pop())


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if name in value), "")
    if isinstance(value, list) and len(value) == 1:
        return _said(value[0])
    return value if isinstance(value, str) else ""
