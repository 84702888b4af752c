"""Which of the memories a model was shown it has really used: what its answer takes from them.

A memory counts as used when the answer says something that the memory told and the question did not, and that is a good
part of what the memory tells, or of what the answer says. Words of the question prove nothing: an answer repeats them
whatever it knows. Names and numbers prove more than other words, words that only one of the memories has more than
words of several, and words that everybody uses hardly anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from memstone.core.entities.lists import COMMON
from memstone.core.entities.runs import capital_names
from memstone.core.rules.stance import is_light
from memstone.core.text.analyze import query_terms

TOLD: Final = 0.2
SAID: Final = 0.5
"""The two must have this much in common of what the memory tells, or that much of what the answer says."""

_LIGHT: Final = 0.2
_NAMED: Final = 2.0
_WORDS: Final = 5_000
_ABOUT: Final = frozenset({"user"})
"""Whom a memory is about is in every memory."""


@dataclass(frozen=True, slots=True)
class Use:
    """What an answer has in common with a memory: the share of the memory, the share of the answer, and the words."""

    id: str
    told: float = 0.0
    said: float = 0.0
    words: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether that is enough to say that the memory was used."""
        return self.told >= TOLD or self.said >= SAID


def uses(question: str, answer: str, shown: Sequence[tuple[str, str]]) -> list[Use]:
    """For each memory, given by its id and its text, what an answer to a question takes from it."""
    known = _words(question) | _ABOUT
    said = _words(answer) - known
    told = {one: _words(text) - known for one, text in shown}
    counts = Counter(word for words in told.values() for word in words)
    named = {word for _, text in shown for word in _named(text)}
    weights = {word: _weight(word, counts[word], len(shown), is_named=word in named) for word in {*counts, *said}}
    return [_use(one, words, said, weights) for one, words in told.items()]


def _use(memory_id: str, told: frozenset[str], said: frozenset[str], weights: Mapping[str, float]) -> Use:
    shared = sorted(told & said)
    if all(_is_light(word) for word in shared):
        return Use(memory_id)
    return Use(memory_id, _share(shared, told, weights), _share(shared, said, weights), tuple(shared))


def _share(shared: Collection[str], whole: Collection[str], weights: Mapping[str, float]) -> float:
    return round(sum(weights[word] for word in shared) / sum(weights[word] for word in whole), 4)


def _weight(word: str, count: int, memories: int, *, is_named: bool) -> float:
    rare = math.log(1 + (memories + 1) / (count + 0.5))
    return rare * (_LIGHT if _is_light(word) else _NAMED if is_named or word[0].isdigit() else 1.0)


def _is_light(word: str) -> bool:
    return not word[0].isdigit() and (is_light(word) or word in _common())


@cache
def _common() -> frozenset[str]:
    return frozenset(term for word in COMMON for term in query_terms(word))


def _words(text: str) -> frozenset[str]:
    return frozenset(query_terms(text, _WORDS))


def _named(text: str) -> Iterable[str]:
    """The words of the names in a text."""
    return (word for one in capital_names(text) for word in query_terms(one.name, _WORDS))
