"""The stance of a clause (for or against, ending, changing) and the words that say what it is about."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from memstone.core.rules.quantities import spelled_digits
from memstone.core.text.clues import clued, clues_of_all, is_possible
from memstone.core.text.lexicon import (
    AVERSION,
    CESSATION,
    CESSATION_AROUND,
    IRREGULAR,
    LIGHT,
    NEGATIONS,
    NOT_NEGATIVE,
    PHRASES,
    SYNONYMS,
)
from memstone.core.text.stem import stem

_NEGATION: Final = clued(r"\b(?:" + "|".join(sorted(NEGATIONS)) + r")\b")
_ALONE: Final = r"(?<![\w-])"
"""Not the second half of a word such as "noise-cancelling"."""

_AGAINST: Final = clued(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND}|{AVERSION})\b")
_ENDS: Final = clued(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND})\b")
_NOT_NEGATIVE: Final = clued(rf"\b(?:{NOT_NEGATIVE})\b")
_CANCELLED: Final = clued(rf"\b(?:not|never|no longer)(?: \w+)? (?!any ?more)(?:{CESSATION}|{AVERSION})\b")
"""A negation right before a negative word undoes it: "do not dislike", "never stopped"."""

_CHANGE: Final = clued(
    rf"\b(?:{CESSATION}|switch\w*|chang\w+|mov(?:ed|ing)|now|again|instead|start(?:s|ed|ing)?|beg[au]n|began|resum\w+"
    r"|return\w+|joined|became|become|decid\w+|new|finally|replac\w+|swap\w*|trad(?:ed|ing)|upgrad\w+|turned"
    r"|chose|no longer|anymore|sign(?:ed|ing) up|resubscrib\w+|picked up|took up|back (?:to|on|in)|these days|actually"
    r"|slipp\w+|push(?:ed|ing) (?:back|to)|delay\w+|reschedul\w+|brought forward|going (?:up|down)|went (?:up|down)|rais\w+|cut to|doubled|halved|downgrad\w+|renam\w+|migrat\w+|after all|from (?:now|today|here|next)|nowadays|at last|by now|turns out|correction)\b"
)
_PHRASES: Final = tuple((clued(pattern), words) for pattern, words in PHRASES)
_PHRASE_CLUES: Final = clues_of_all(pattern for pattern, _ in _PHRASES)


def canonical(lowered: str) -> str:
    """A lower-case sentence with set phrases in plain words: "between jobs" is "unemployed"."""
    lowered = spelled_digits(lowered)
    for pattern, words in _PHRASES if is_possible(lowered, _PHRASE_CLUES) else ():
        lowered = pattern.sub(words, lowered)
    return lowered


def polarity_of(clause: str) -> int:
    """-1 when a clause denies, ends or dislikes something, else +1; "never stopped" is a yes."""
    cleaned = _NOT_NEGATIVE.sub(" ", clause)
    if not _AGAINST.search(cleaned) and not _NEGATION.search(cleaned):
        return 1
    return 1 if _CANCELLED.search(cleaned) else -1


def is_negated(clause: str) -> bool:
    """Whether a clause holds a negation."""
    return bool(_NEGATION.search(_NOT_NEGATIVE.sub(" ", clause)))


def ends(clause: str) -> bool:
    """Whether a clause ends something."""
    return bool(_ENDS.search(_NOT_NEGATIVE.sub(" ", clause)))


def changes(clause: str) -> bool:
    """Whether a clause has a word of change."""
    return bool(_CHANGE.search(clause))


@lru_cache(maxsize=8192)
def token(word: str) -> str:
    """The form in which a word is compared: its synonym group, or its stem."""
    word = IRREGULAR.get(word, word)
    return SYNONYMS.get(word) or stem(word)


_LIGHT_TOKENS: Final = frozenset(stem(word) for word in LIGHT) | LIGHT


def is_light(word: str) -> bool:
    """Whether a token says little."""
    return word in _LIGHT_TOKENS or word[:1].isdigit()
