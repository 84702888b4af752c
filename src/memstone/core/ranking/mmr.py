"""Maximal marginal relevance: spread hits that say the same."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias, TypeVar

from memstone.errors import InvalidInput

WEIGHT: Final = 0.85
SHINGLE_CHARS: Final = 4

Key = TypeVar("Key", bound=Hashable)
_WORD: Final = re.compile(r"\w+")
_Set: TypeAlias = tuple[int, int]
"""A number with one bit for each piece, and how many there are: compared many times faster than a set of strings."""


def select_by_mmr(items: Sequence[tuple[Key, float, str]], limit: int, weight: float = WEIGHT) -> list[Key]:
    """Return the keys of the best ``limit`` of (key, score, text), each chosen for its score and for being different.

    Scores are stretched to [0, 1]; ``weight`` is what a score counts, the rest is taken off by likeness to the most
    alike of those already chosen. Of equals the earlier item comes first. Weight 1 is the order of the scores alone.
    """
    _validate_input(items, weight)
    scores = _scale_scores([score for _, score, _ in items])
    pieces = _Pieces([text for _, _, text in items])
    # Likeness only grows as more is chosen, so an old value is never too bad: whoever leads with a value that is up to
    # date is the best, and texts that never lead are never looked at.
    waiting = [(-weight * score, place, 0.0, 0) for place, score in enumerate(scores)]
    heapq.heapify(waiting)
    chosen: list[int] = []
    taken: list[_Set] = []
    while waiting and len(chosen) < limit:
        _, place, likeness, compared = waiting[0]
        if compared < len(chosen):
            likeness = max(likeness, _max_likeness(pieces.of(place), taken[compared:]))
            value = (1 - weight) * likeness - weight * scores[place]
            heapq.heapreplace(waiting, (value, place, likeness, len(chosen)))
        else:
            heapq.heappop(waiting)
            chosen.append(place)
            taken.append(pieces.of(place))
    return [items[place][0] for place in chosen]


def _max_likeness(one: _Set, others: Sequence[_Set]) -> float:
    """Return how much a text shares with the most alike of some others: 1 for the same pieces, 0 for none (Jaccard)."""
    bits, count = one
    most = 0.0
    for other_bits, other_count in others:
        shared = (bits & other_bits).bit_count()
        if shared and (likeness := shared / (count + other_count - shared)) > most:
            most = likeness
    return most


class _Pieces:
    """Texts as sets of the four-character runs within their words, case aside; a shorter word is one by itself.

    A text without any word is one piece as it is, so that two equal ones are alike.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._sets: dict[int, _Set] = {}
        self._words: dict[str, int] = {}
        self._bits: dict[str, int] = {}

    def of(self, place: int) -> _Set:
        """Return the pieces of a text; worked out when first asked for."""
        if place not in self._sets:
            folded = self._texts[place].casefold()
            bits = 0
            for word in _WORD.findall(folded) or (folded,):
                bits |= self._words.get(word) or self._word(word)
            self._sets[place] = bits, bits.bit_count()
        return self._sets[place]

    def _word(self, word: str) -> int:
        bits = 0
        for start in range(max(1, len(word) - SHINGLE_CHARS + 1)):
            bits |= 1 << self._bits.setdefault(word[start : start + SHINGLE_CHARS], len(self._bits))
        self._words[word] = bits
        return bits


def _scale_scores(scores: list[float]) -> list[float]:
    """Move and scale scores so that the least is 0 and the best 1; equal scores all count in full."""
    least, best = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (best - least) if best > least else 1.0 for score in scores]


def _validate_input(items: Sequence[tuple[Key, float, str]], weight: float) -> None:
    if not 0.0 <= weight <= 1.0:
        raise InvalidInput(f"the weight of the scores must be a number from 0 to 1, not {weight!r}")
    if not all(math.isfinite(score) for _, score, _ in items):
        raise InvalidInput("a score to rank by is not a finite number")
