"""Whether a fact of a session is one that is known already."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from memstone.core.changes.decide import is_known
from memstone.core.changes.words import understand
from memstone.core.text.analyze import terms

MIN_CHARS: Final = 5
"""What is not longer than this is no fact."""


def overlap(one: str, other: str) -> float:
    """How many of the words of two texts both have, from 0 to 1."""
    mine, theirs = _words(one), _words(other)
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 0.0


def says_the_same(new: str, known: str, most: float) -> bool:
    """Whether two facts share more than ``most`` of their words, and nothing in the new one is new."""
    return overlap(new, known) > most and is_known(understand(new), understand(known))


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))
