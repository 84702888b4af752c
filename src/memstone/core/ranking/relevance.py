"""What a question tells by its wording, and a memory by its form: cues for the judgement of relevance.

A question for the user's own life is put in other words than one about the world, and a question that asks for a day is
answered by a memory that has one. The weights (``relevance.json``) are fitted by ``scripts/fit_relevance.py`` to
questions written for it; how they are used is told in ``memstone.engine.recall.judge``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memstone.core.ranking.abstain import UNHEARD, is_english, is_heard, names_asked
from memstone.core.text.analyze import query_terms, terms
from memstone.core.text.words import STOP_WORDS

_MOST_WORDS: Final = 12.0
_UNKNOWN_WORD: Final = 0.1  # of a question of little words all count, and little

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

_ASKED_FOR: Final = 4
_NUMBER: Final = re.compile(r"[0-9]")
_DAY: Final = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b")
_TIME: Final = re.compile(r"[0-9](?:[0-9]{3}|[ap]m|:)")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")

CUES: Final = 5 + len(_KINDS)
FORMS: Final = 3
ASKED_FOR: Final = _ASKED_FOR


def is_judged(question: str) -> bool:
    """Whether the weights know how such a question is put: they were fitted to English ones."""
    return is_english(question)


def cues(question: str, rarity: Mapping[str, float]) -> list[float]:
    """How a question is put: first what is asked for (``ASKED_FOR`` kinds), then everything else."""
    kinds = [1.0 if kind.search(question) else 0.0 for kind in _KINDS]
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    told = [rarity.get(word, unheard) for word in query_terms(question)]
    heard = sum(value for value in told if is_heard(value, unheard))
    named = [rarity.get(word, unheard) for name in names_asked(question) for word in terms(name)]
    known = any(is_heard(value, unheard) for value in named)
    return [
        *kinds,
        heard / (sum(told) or 1.0),
        min(float(len(told)), _MOST_WORDS),
        max(told, default=0.0) / unheard,
        1.0 if known else 0.0,
        1.0 if named and not known else 0.0,
    ]


def forms(text: str) -> list[float]:
    """What a memory has that questions ask for: a number, a day, a name."""
    small = text.lower()
    number = _NUMBER.search(small) is not None
    day = (number and _TIME.search(small)) or _DAY.search(small)
    return [1.0 if has else 0.0 for has in (number, day, _NAME.search(text))]


def word_weights(words: list[str], rarity: Mapping[str, float]) -> list[float]:
    """How much each word of a question counts, between 0 and 1; little words and signs do not."""
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    weights = [_weight(word, rarity, unheard) for word in words]
    return weights if any(weights) else [_UNKNOWN_WORD] * len(words)


def _weight(word: str, rarity: Mapping[str, float], unheard: float) -> float:
    if word.lower() in STOP_WORDS:
        return 0.0
    return min((rarity.get(term, unheard) for term in terms(word)), default=0.0) / unheard
