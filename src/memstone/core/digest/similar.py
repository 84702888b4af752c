"""Whether a fact of a session is one that is known already."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.core.changes.reconcile import Action, Known, decide
from memstone.core.changes.statement import polarity_of, understand
from memstone.core.entities.names import names_in
from memstone.core.text.analyze import terms

MIN_CHARS: Final = 5
"""What is not longer than this is no fact."""

_NUMBER: Final = re.compile(r"\d+")
_SUBJECTS: Final = ("User", "I")


def overlap(one: str, other: str) -> float:
    """How many of the words of two texts both have, from 0 to 1."""
    mine, theirs = _words(one), _words(other)
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 0.0


def says_the_same(new: str, known: str, most: float) -> bool:
    """Whether two facts share more than ``most`` of their words and differ in nothing that matters.

    Another name, another number, the opposite or another value in the place of the known one is no repetition, however
    many words they share.
    """
    if overlap(new, known) <= most or polarity_of(new.lower()) != polarity_of(known.lower()):
        return False
    if _marks(new) != _marks(known):
        return False
    decided = decide(understand(new), [Known(understand(known), 0.0)])
    return decided.action not in (Action.REVISE, Action.RETRACT)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _marks(text: str) -> set[str]:
    """The names and numbers of a text."""
    return {name.casefold() for name in names_in(text, _SUBJECTS)} | set(_NUMBER.findall(text))
