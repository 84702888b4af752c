"""Whether a text says something that others do not: a turn beside its facts, a fact beside the text about the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from memstone.core.text.analyze import query_terms, terms
from memstone.core.text.normalize import normal_text

_MORE: Final = 3
"""So many words besides those of its facts make a turn worth showing for itself."""

_FEWEST: Final = 2
"""With fewer words something is too little to be told, or told besides."""

_SIGNS: Final = re.compile(r"[^\w]+")
_USER: Final = frozenset(query_terms("user"))


def says_more(text: str, quotes: Sequence[str]) -> bool:
    """Return whether a turn says something besides the words that its facts were learned from."""
    for quote in quotes:
        text = text.replace(quote, " ") if quote else text
    return len(query_terms(text)) >= _MORE


def adds_words(text: str, others: Sequence[str]) -> bool:
    """Return whether a text says something besides what others say, in whatever words they are put together."""
    known = {*terms(" ".join(others))}
    return sum(word not in known for word in query_terms(text)) >= _MORE


def repeats(text: str, facts: Sequence[str]) -> bool:
    """Return whether a fact quotes a text, or the text holds every word of some facts and next to nothing besides."""
    if any(_unquoted(text) in _unquoted(fact) for fact in facts):
        return True
    said = {*terms(text)}
    told = {word for fact in facts if (words := _fact_words(fact)) <= said for word in words}
    return len(told) >= _FEWEST and len({*query_terms(text)} - told) < _FEWEST


@lru_cache(maxsize=8192)  # the same facts are shown with every message
def _unquoted(text: str) -> str:
    """A text without differences that quoting makes, between signs that keep it from being found inside a word."""
    return f" {_SIGNS.sub(' ', normal_text(text))} ".replace("  ", " ")


@lru_cache(maxsize=8192)
def _fact_words(fact: str) -> frozenset[str]:
    return frozenset(query_terms(fact)) - _USER


def tells(text: str, fact: str) -> bool:
    """Return whether a text about the user holds every word of a fact about them, in whatever order."""
    return {*query_terms(fact)} - _USER <= {*terms(text)}
