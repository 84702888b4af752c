"""Slots: what a person has one of at a time, and the values of configured slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Final, NamedTuple

from memstone.language.en.sentences import is_question
from memstone.language.lists import read_data
from memstone.model.fact import Span
from memstone.model.policy import OwnPattern, OwnSlot


class Slot(NamedTuple):
    """By which words people call it, and what tells its value in a statement's plain words."""

    asked: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


@cache
def shipped_slots() -> dict[str, Slot]:
    """Return the slots by their names."""
    answer = read_data("en", "slots")
    return {
        name: Slot(tuple(one["asked"].split()), tuple(re.compile(pattern) for pattern in one["patterns"]))
        for name, one in answer.items()
    }


MANY: Final = "many:"
"""Before the name of a slot of which people have many values."""

_UNREAL: Final = re.compile(r"^(?:if|imagine|suppose|let's say|pretend|what if|i wish|say)\b", re.IGNORECASE)
"""How a supposition begins."""
_SUBJECT, _VALUE = "subject", "value"
_AROUND: Final = " .!?,;:"
_DENIED: Final = re.compile(r"(?:not|no longer|never)\b")


@dataclass(frozen=True, slots=True)
class OwnFact:
    """A sentence to keep, its category, and the words it comes from."""

    text: str
    category: str
    span: Span


def own_facts(sentences: Iterable[Span], patterns: Sequence[OwnPattern], who: str) -> Iterator[OwnFact]:
    """Yield what the patterns find; a question or a supposition states nothing, as everywhere."""
    for sentence in sentences:
        if is_question(sentence.text) or _UNREAL.match(sentence.text):
            continue
        for pattern in patterns:
            for found in pattern.match.finditer(sentence.text):
                text = _fill_fact_template(pattern, found, who)
                if text:
                    start = sentence.start + found.start()
                    yield OwnFact(text, pattern.category, Span(found[0], start, start + len(found[0])))


def _fill_fact_template(pattern: OwnPattern, found: re.Match[str], who: str) -> str:
    """Return the sentence, filled in; '' where a part that it needs was not said."""
    texts = {name: (value or "").strip(_AROUND) for name, value in found.groupdict().items()}
    needed = {name for _, name, _, _ in Formatter().parse(pattern.fact) if name}
    if not all(texts.get(name) for name in needed - {_SUBJECT}):
        return ""
    text = pattern.fact.format(**texts, subject=who)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def own_values(text: str, slots: Iterable[OwnSlot]) -> dict[str, str]:
    """Return the values of own slots that a kept sentence says; the first pattern of a slot that matches counts."""
    found: dict[str, str] = {}
    for slot in slots:
        match = next((match for pattern in slot.patterns if (match := pattern.search(text))), None)
        value = " ".join((match["value"] or "").lower().split()).strip(_AROUND) if match else ""
        if value and not _DENIED.match(value):
            found[f"{MANY}{slot.name}" if slot.many else slot.name] = value
    return found
