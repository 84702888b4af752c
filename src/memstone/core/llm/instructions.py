"""Ask a language model for instructions for a use case, and add what is always left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memstone.core.llm.parse import How, UnreadableAnswer, clean_text, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema, system_message
from memstone.language.language import SettingsAdvice
from memstone.model.policy import SuggestedSettings

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_CATEGORY: Final = object_schema({"name": {"type": "string"}, "about": {"type": "string"}})
_SCHEMA: Final = {
    "title": "instructions",
    **object_schema({"include": _TEXTS, "exclude": _TEXTS, "categories": {"type": "array", "items": _CATEGORY}}),
}
_BULLET: Final = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)]) +")
_MOST: Final = 16
_MOST_CATEGORIES: Final = 12
_CHARS: Final = 300
_NAME_CHARS: Final = 64
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion, and how it was read."""

    suggestion: SuggestedSettings
    how: How

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.suggestion.include)


def instructions_question(use_case: str) -> ModelQuestion:
    """Return the question about a use case."""
    system, version = system_message("instructions", "")
    asked = f"The use case:\n<use_case>\n{use_case}\n</use_case>"
    return ModelQuestion(
        [{"role": "system", "content": system}, {"role": "user", "content": asked}], dict(_SCHEMA), version
    )


def parse_instructions(answer: str, use_case: str, advice: SettingsAdvice) -> Advice:
    """Return what a model suggests for a use case; ``UnreadableAnswer`` when that is not enough to work with.

    ``advice`` adds what is always left out.
    """
    parsed = parse_json(answer)
    value = parsed.value
    if not isinstance(value, Mapping):
        raise UnreadableAnswer('the answer is not an object: expected {"include": [...], ...}')
    include = _parse_lines(value.get("include"))
    if len(include) < _FEWEST:
        raise UnreadableAnswer("include names too little to keep: expected a list of several texts")
    exclude, categories = _parse_lines(value.get("exclude")), _parse_categories(value.get("categories"))
    return Advice(advice.complete(use_case, include, exclude, categories), parsed.how)


def _parse_lines(value: Any) -> tuple[str, ...]:
    """Return the texts, however they are listed."""
    items = value.split("\n") if isinstance(value, str) else value if isinstance(value, list) else []
    lines = (_BULLET.sub("", clean_text(one)).rstrip(".;,") for one in items if isinstance(one, str))
    return tuple(dict.fromkeys(one for one in lines if one and len(one) <= _CHARS))[:_MOST]


def _parse_categories(value: Any) -> tuple[tuple[str, str], ...]:
    """Return names with a few words each, from a list of objects, a list of names, or a table."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        items = value if isinstance(value, list) else []
        pairs = [(one.get("name"), one.get("about")) if isinstance(one, Mapping) else (one, "") for one in items]
    found: dict[str, str] = {}
    for name, about in pairs:
        text = clean_text(name).lower() if isinstance(name, str) else ""
        if 0 < len(text) <= _NAME_CHARS:
            found.setdefault(text, clean_text(about)[:_CHARS] if isinstance(about, str) else "")
    return tuple(found.items())[:_MOST_CATEGORIES]
