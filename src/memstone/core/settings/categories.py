"""Categories of one's own: which of them a fact belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from memstone.core.text.analyze import query_terms


def sorted_into(text: str, category: str, own: Sequence[tuple[str, str]]) -> str:
    """The category of one's own that a fact belongs to; the one it was given where none fits.

    A language model has chosen from them already. Otherwise the words decide: those of the category's name and of what
    is said about it, in whichever form they stand in the fact. The first of equals wins.
    """
    if not own or any(category == name for name, _ in own):
        return category
    said = set(query_terms(text))
    shared = [(len(said & _words(name, about)), name) for name, about in own]
    best = max(count for count, _ in shared)
    return next(name for count, name in shared if count == best) if best else category


@lru_cache(maxsize=1_024)
def _words(name: str, about: str) -> frozenset[str]:
    return frozenset(query_terms(f"{name} {about}"))


def asked_for(own: Sequence[tuple[str, str]]) -> str:
    """What a language model is told about them; '' when there are none."""
    if not own:
        return ""
    listed = "; ".join(f"{name} ({about})" if about else name for name, about in own)
    return f"Use one of these as the category of each fact, and other where none fits: {listed}."
