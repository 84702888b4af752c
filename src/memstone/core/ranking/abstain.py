"""Decide whether anything in memory is relevant to a question, at a given rate of errors.

The score of a search is relative: something always comes first. What counts here is how close the best of it is,
against how close the same memory comes to questions that have nothing to do with it (``Probes``):

    closeness + weight * share of the question's words that are known - penalty for names nobody has mentioned

``closeness`` of a memory is its cosine in standard deviations above what unrelated questions reach with that very
memory: some texts are near to everything. Without an embedder it is the BM25 of its words, with the rarity of a word
nobody has used as the unit.

The best value of an unrelated question is distributed about normally. Its middle and spread are taken from quartiles,
so that a few questions which memory does answer by chance change nothing. The middle grows with the logarithm of the
number of memories, because more of them come close by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, quantiles
from typing import Final

from memstone.errors import InvalidInput
from memstone.language.language import NameReader
from memstone.language.text.bm25 import UNHEARD, is_heard
from memstone.language.text.tokens import document_terms, query_terms
from memstone.language.text.words import STOP_WORDS

# --- whether anything in memory has to do with a question, said with a rate of error ----------------------------------


RATE: Final = 0.05
"""How many unrelated questions may be shown something."""

WORTH_SHOWING: Final = 0.75
"""A memory beside the best one is left out when this share of unrelated questions have a better one."""


_NORMAL: Final = NormalDist()
_QUARTILES_APART: Final = 2 * _NORMAL.inv_cdf(0.75)
_LEAST_SPREAD: Final = 1e-3
_LEAST_PROBES: Final = 4


@dataclass(frozen=True, slots=True)
class AbstentionWeights:
    """What counts besides closeness, in its unit."""

    known: float
    stranger: float


BY_MEANING: Final = AbstentionWeights(known=2.0, stranger=2.0)
BY_WORDS: Final = AbstentionWeights(known=2.0, stranger=1.0)


@dataclass(frozen=True, slots=True)
class Null:
    """What unrelated questions reach in a store of ``rows`` memories.

    ``slope`` is how much the middle rises when the store becomes e times as large. ``scatter`` is the usual standard
    deviation of the cosines of one memory with unrelated questions.
    """

    rows: int
    middle: float
    spread: float
    slope: float = 0.0
    scatter: float = 0.0

    def middle_at(self, rows: int) -> float:
        """Return the middle for a store that has another size by now."""
        return self.middle + self.slope * math.log(max(1, rows) / max(1, self.rows))


def null_of(best: Sequence[float], rows: int, *, slope: float = 0.0, scatter: float = 0.0) -> Null:
    """Return the distribution, from the best value of each unrelated question."""
    if len(best) < _LEAST_PROBES:
        raise InvalidInput(f"a distribution needs at least {_LEAST_PROBES} questions, not {len(best)}")
    low, middle, high = quantiles(best, n=4, method="inclusive")
    return Null(rows, middle, max(_LEAST_SPREAD, (high - low) / _QUARTILES_APART), max(0.0, slope), scatter)


def slope_of(best: Sequence[float], among_fewer: Sequence[float], times: float) -> float:
    """Return how the middle rises with size, from the same questions put to ``times`` fewer memories."""
    if times <= 1:
        return 0.0
    middles = [quantiles(values, n=2, method="inclusive")[0] for values in (best, among_fewer)]
    return (middles[0] - middles[1]) / math.log(times)


def required_value(null: Null, rate: float = RATE, rows: int | None = None) -> float:
    """Return what a question must reach so that of unrelated ones only this share does."""
    return null.middle_at(null.rows if rows is None else rows) + _NORMAL.inv_cdf(1 - checked_rate(rate)) * null.spread


def unrelated_share(value: float, null: Null, rows: int | None = None) -> float:
    """Return the share of unrelated questions that reach a value."""
    return 1 - _NORMAL.cdf((value - null.middle_at(null.rows if rows is None else rows)) / null.spread)


def is_relevant(value: float, null: Null, rate: float = RATE, rows: int | None = None) -> bool:
    """Return whether a question reaches what at most this share of unrelated ones do."""
    return value > required_value(null, rate, rows)


def worth_showing(values: Sequence[float], null: Null, rate: float = RATE, rows: int | None = None) -> list[bool]:
    """Return which memories to show, by their values: none when not even the best counts, and not the farthest ones."""
    if not any(is_relevant(value, null, rate, rows) for value in values):
        return [False] * len(values)
    least = min(required_value(null, WORTH_SHOWING, rows), required_value(null, rate, rows))
    return [value >= least for value in values]


def checked_rate(rate: float) -> float:
    """Return a rate between 0 and 1, both excluded."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
        raise InvalidInput(f"the rate must be a number between 0 and 1, not {rate!r}", hint="0.05 is one in twenty")
    return float(rate)


# --- what the question itself tells -----------------------------------------------------------------------------------


def familiarity_words(question: str, names: NameReader) -> list[str]:
    """Return the words whose rarity ``familiarity`` wants to know."""
    named = (term for name in names.list_asked(question) for term in document_terms(name))
    return list(dict.fromkeys([*query_terms(question), *named]))


def score_familiarity(
    question: str, rarity: Mapping[str, float], weights: AbstentionWeights, strangers: NameReader | None = None
) -> float:
    """Return what a question has by itself, whichever memory is looked at.

    ``rarity`` is how much each word tells, that of ``UNHEARD`` included. A question that names somebody or something
    by name, and nothing that was ever mentioned, is not likely to be about what is known. ``strangers`` finds the
    names; without it they do not count.
    """
    unheard = rarity.get(UNHEARD, 0.0)
    answer = {word: rarity.get(word, unheard) for word in query_terms(question)}
    event_count = sum(value for value in answer.values() if is_heard(value, unheard))
    share = event_count / (sum(answer.values()) or 1.0)
    is_strange = strangers is not None and _only_strangers(question, rarity, strangers)
    return weights.known * share - (weights.stranger if is_strange else 0.0)


def rows_told(rarity: Mapping[str, float]) -> int:
    """Return how many texts there are, from the rarity of a word none of them has: ``ln(1 + (n + 0.5) / 0.5)``."""
    return max(0, round(math.exp(rarity.get(UNHEARD, 0.0)) / 2 - 1))


def _only_strangers(question: str, rarity: Mapping[str, float], names: NameReader) -> bool:
    unheard = rarity.get(UNHEARD, 0.0)
    words = [term for name in names.list_asked(question) for term in document_terms(name)]
    return bool(words) and not any(is_heard(rarity.get(word, unheard), unheard) for word in words)


# --- what a question tells by its wording, and a memory by its form ---------------------------------------------------


_UNKNOWN_WORD: Final = 0.1  # of a question of little words all count, and little


_ASKED_FOR: Final = 4

ASKED_FOR: Final = _ASKED_FOR


def word_weights(words: list[str], rarity: Mapping[str, float]) -> list[float]:
    """Return how much each word of a question counts, between 0 and 1; little words and signs do not."""
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    weights = [_rarity_weight(word, rarity, unheard) for word in words]
    return weights if any(weights) else [_UNKNOWN_WORD] * len(words)


def _rarity_weight(word: str, rarity: Mapping[str, float], unheard: float) -> float:
    if word.lower() in STOP_WORDS:
        return 0.0
    return min((rarity.get(term, unheard) for term in document_terms(word)), default=0.0) / unheard
