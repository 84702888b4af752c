"""Features for judging relevance: how a question is put, and what a memory contains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from memstone.language.en.names import COMMON, names_in
from memstone.language.en.stance import is_light
from memstone.language.lists import read_data
from memstone.language.text.bm25 import UNHEARD, is_heard
from memstone.language.text.tokens import document_terms, query_terms
from memstone.language.text.words import STOP_WORDS

_DATA: Final = read_data("en", "probes")

_ENGLISH_SHARE: Final = 0.25
_NO_NAMES: Final = STOP_WORDS | frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)


def is_english(question: str) -> bool:
    """Return whether a question has the little words of English."""
    words = question.lower().split()
    return sum(word.strip("?.,!'\"") in STOP_WORDS for word in words) >= _ENGLISH_SHARE * len(words)


def names_asked(question: str) -> list[str]:
    """Return names in an English question; elsewhere a capital may mean no more than a noun."""
    if not is_english(question):
        return []
    return [name for name in names_in(question) if name.casefold() not in _NO_NAMES]


ABOUT_THE_WORLD: Final = tuple(_DATA["about_the_world"])
"""Knowledge, instructions, and things to write."""

ABOUT_ME: Final = tuple(_DATA["about_me"])
"""Put as if the user asked about their own life."""

ABOUT_OTHERS: Final = tuple(_DATA["about_others"])
"""About people nobody knows."""

PROBES: Final = ABOUT_THE_WORLD + ABOUT_ME + ABOUT_OTHERS
"""All of them."""

_MOST_WORDS: Final = 12.0

_KINDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bwhen\b|\bw(?:hat|hich) (?:day|date|time|year|month|weekend)\b|\bhow (?:soon|long|old)\b",
        r"\bhow (?:much|many|far|big|tall|often)\b|\bwhat (?:size|price|number|pace)\b|\b(?:cost|owe|rent)\b",
        r"\bwho(?:se|'s)?\b|\bname\b|\bcalled\b",
        r"\bwhere\b|\bwhich (?:street|city|town|country|hospital|school)\b",
        r"^(?:write|explain|draft|give|list|suggest|name|translate|convert|solve|summari[sz]e|describe|help|compose)\b",
        r"\b(?:can|could|should|would|is|are|am|do|does|did|will)\b.{0,300}\?",
        r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us|we're|ours)\b",
        r"\b(?:my|our)\b",
    )
)
"""What is asked for: a time, an amount, somebody, a place; whether something is to be done, or to be confirmed; whether
it is about the one who asks, and about what belongs to them."""
_NUMBER: Final = re.compile(r"[0-9]")
_DAY: Final = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b")
_TIME: Final = re.compile(r"[0-9](?:[0-9]{3}|[ap]m|:)")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")

CUES: Final = 5 + len(_KINDS)
FORMS: Final = 3


def is_judged(question: str) -> bool:
    """Return whether the weights know how such a question is put: they were fitted to English ones."""
    return is_english(question)


def question_cues(question: str, rarity: Mapping[str, float]) -> list[float]:
    """Return how a question is put: first what is asked for (``ASKED_FOR`` kinds), then everything else."""
    kinds = [1.0 if kind.search(question) else 0.0 for kind in _KINDS]
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    lines = [rarity.get(word, unheard) for word in query_terms(question)]
    event_count = sum(value for value in lines if is_heard(value, unheard))
    named = [rarity.get(word, unheard) for name in names_asked(question) for word in document_terms(name)]
    known = any(is_heard(value, unheard) for value in named)
    return [
        *kinds,
        event_count / (sum(lines) or 1.0),
        min(float(len(lines)), _MOST_WORDS),
        max(lines, default=0.0) / unheard,
        1.0 if known else 0.0,
        1.0 if named and not known else 0.0,
    ]


def memory_forms(text: str) -> list[float]:
    """Return what a memory has that questions ask for: a number, a day, a name."""
    small = text.lower()
    number = _NUMBER.search(small) is not None
    day = (number and _TIME.search(small)) or _DAY.search(small)
    return [1.0 if has else 0.0 for has in (number, day, _NAME.search(text))]


# --- words that say little --------------------------------------------------------------------------------------------


def is_light_term(word: str) -> bool:
    """Return whether a word, as it is indexed, says little about what a text is about."""
    return is_light(word) or word in _common_terms()


@cache
def _common_terms() -> frozenset[str]:
    return frozenset(term for word in COMMON for term in query_terms(word))
