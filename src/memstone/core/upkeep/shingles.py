"""Texts as sets of small pieces, and which of them are nearly the same.

A piece is a run of four characters within a word, case aside; a shorter word is one by itself. How alike two texts are
is the share of pieces they have in common (Jaccard).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from memstone.core.ranking.mmr import SHINGLE_CHARS

Pieces: TypeAlias = frozenset[str]

_WORD: Final = re.compile(r"\w+")
_NEARLY: Final = 1e-9
"""So much a product of a share and a count may be off."""


def pieces(text: str) -> Pieces:
    """The pieces of a text; one without any word is a single piece, so that two equal ones are alike."""
    folded = text.casefold()
    words = _WORD.findall(folded)
    if not words:
        return frozenset({folded} if folded else ())
    return frozenset(
        word[start : start + SHINGLE_CHARS] for word in words for start in range(max(1, len(word) - SHINGLE_CHARS + 1))
    )


def twins(
    sets: Sequence[Pieces], threshold: float, may: Callable[[int, int], bool] | None = None
) -> Iterator[tuple[int, int]]:
    """For every set that is at least so much like one before it: the first such one, and itself.

    What has found its like is no longer compared with what comes after, so the answer is the same whether all are
    looked at in one go or a few at a time. ``may`` is asked about each pair before it is taken.
    """
    order = _rarest_first(sets)
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(sets):
        telling = sorted(one, key=order.__getitem__)[: _prefix(len(one), threshold)]
        near = sorted({other for piece in telling for other in holding[piece]})
        like = next((other for other in near if alike(sets[other], one, threshold) and _asked(may, other, place)), None)
        if like is not None:
            yield like, place
            continue
        for piece in telling:
            holding[piece].append(place)


def _rarest_first(sets: Sequence[Pieces]) -> dict[str, int]:
    """An order of all pieces in which those that tell most come first."""
    counts = Counter(piece for one in sets for piece in one)
    return {piece: place for place, piece in enumerate(sorted(counts, key=lambda piece: (counts[piece], piece)))}


def _prefix(size: int, threshold: float) -> int:
    """How many pieces have to be looked at: two sets that are alike share one of the first so many of each.

    If none of them were shared, all that could be would be the rest, and the rest is less than the threshold wants.
    """
    return size - math.ceil(threshold * size - _NEARLY) + 1 if size else 0


def alike(one: Pieces, other: Pieces, threshold: float) -> bool:
    """Whether two have at least such a share in common; those of very different size are told apart at once."""
    size, other_size = len(one), len(other)
    if size + _NEARLY < threshold * other_size or other_size + _NEARLY < threshold * size:
        return False
    shared = len(one & other)
    return shared + _NEARLY >= threshold * (size + other_size - shared)


def _asked(may: Callable[[int, int], bool] | None, older: int, newer: int) -> bool:
    return may is None or may(older, newer)
