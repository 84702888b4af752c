"""Find the stance of a clause (for, against, ending, changing) and what it is about."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.language.en.lexicon import (
    AVERSION,
    CESSATION,
    CESSATION_AROUND,
    LIGHT,
    NEGATIONS,
    NOT_NEGATIVE,
)
from memstone.language.lists import read_data
from memstone.language.text.clues import compile_with_clues
from memstone.language.text.stem import stem_word

_DATA: Final = read_data("en", "topics")

# --- numbers with what they count, and days, out of lower-case text ---------------------------------------------------


_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMERALS: Final = {word: str(value) for value, word in enumerate(_ONES)} | {
    word: str(10 * value) for value, word in enumerate(_TENS, 2)
}
_COMPOUND: Final = re.compile(r"\b(" + "|".join(_TENS) + r")[ -](" + "|".join(_ONES[1:10]) + r")\b")


def spelled_digits(text: str) -> str:
    """Write compound numerals as digits: "twenty-eight" is 28, "six hundred and forty" 640, "fifteen grand" 15000."""
    text = _COMPOUND.sub(lambda match: str(int(NUMERALS[match[1]]) + int(NUMERALS[match[2]])), text)
    text = _HUNDREDS.sub(_convert_hundreds, text) if "hundred" in text else text
    return _GRAND.sub(_convert_thousands, text) if "thousand" in text or "grand" in text else text


_SPELLED: Final = r"\d+|" + "|".join([*_ONES[1:], *_TENS])
_HUNDREDS: Final = re.compile(
    rf"\b({_SPELLED}|a) hundred(?: and ({_SPELLED})| ({_SPELLED})(?! (?:hundred|thousand|grand)))?\b"
)
_GRAND: Final = re.compile(rf"\b({_SPELLED}|a) (?:thousand|grand)\b(?! piano)")


def _convert_hundreds(match: re.Match[str]) -> str:
    return str(100 * _parse_number(match[1]) + _parse_number(match[2] or match[3] or "0"))


def _convert_thousands(match: re.Match[str]) -> str:
    return str(1000 * _parse_number(match[1]))


def _parse_number(word: str) -> int:
    return 1 if word == "a" else int(NUMERALS.get(word, word))


# --- the stance of a clause (for or against, ending, changing) and the words that say what it is ----------------------


_NEGATION: Final = compile_with_clues(r"\b(?:" + "|".join(sorted(NEGATIONS)) + r")\b")
_ALONE: Final = r"(?<![\w-])"
"""Not the second half of a word such as "noise-cancelling"."""

_AGAINST: Final = compile_with_clues(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND}|{AVERSION})\b")
_ENDS: Final = compile_with_clues(rf"{_ALONE}(?:{CESSATION}|{CESSATION_AROUND})\b")
_NOT_NEGATIVE: Final = compile_with_clues(rf"\b(?:{NOT_NEGATIVE})\b")
_CANCELLED: Final = compile_with_clues(rf"\b(?:not|never|no longer)(?: \w+)? (?!any ?more)(?:{CESSATION}|{AVERSION})\b")
"""A negation right before a negative word undoes it: "do not dislike", "never stopped"."""


def polarity_of(clause: str) -> int:
    """Return -1 when a clause denies, ends or dislikes something, else +1; "never stopped" is a yes."""
    cleaned = _NOT_NEGATIVE.sub(" ", clause)
    if not _AGAINST.search(cleaned) and not _NEGATION.search(cleaned):
        return 1
    return 1 if _CANCELLED.search(cleaned) else -1


def is_negated(clause: str) -> bool:
    """Return whether a clause holds a negation."""
    return bool(_NEGATION.search(_NOT_NEGATIVE.sub(" ", clause)))


def has_ending_word(clause: str) -> bool:
    """Return whether a clause ends something."""
    return bool(_ENDS.search(_NOT_NEGATIVE.sub(" ", clause)))


_LIGHT_TOKENS: Final = frozenset(stem_word(word) for word in LIGHT) | LIGHT


def is_light(word: str) -> bool:
    """Return whether a token says little."""
    return word in _LIGHT_TOKENS or word[:1].isdigit()


# --- what a statement is about, in kinds of things of which people usually have one at a time. Data -------------------


_WORDS: Final = _DATA["words"]


_WORD: Final = re.compile(r"[a-zà-ÿ0-9.][\w'&+#.-]*")
_MOST_WORDS: Final = 3
_SHORTEST_STEM: Final = 4


def _build_topic_tables() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    full: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for topic, listed in _WORDS.items():
        for entry in listed.split(","):
            words = " ".join(entry.split())
            table = stems if words.endswith("*") else full
            table.setdefault(words.removesuffix("*"), set()).add(topic)
    return full, stems


_WHOLE, _STEMS = _build_topic_tables()
_LONGEST_STEM: Final = max(map(len, _STEMS))


@lru_cache(maxsize=4096)
def topics_of(lowered: str) -> frozenset[str]:
    """Return the kinds of things a lower-case text mentions."""
    words = [word.rstrip(".'-").removesuffix("'s") or word for word in _WORD.findall(lowered)]
    found: set[str] = set()
    for at in range(len(words)):
        for size in range(1, _MOST_WORDS + 1):
            phrase = " ".join(words[at : at + size])
            found |= _WHOLE.get(phrase) or _WHOLE.get(phrase.removesuffix("s"), set())
        for size in range(_SHORTEST_STEM, min(len(words[at]), _LONGEST_STEM) + 1):
            found |= _STEMS.get(words[at][:size], set())
    return frozenset(found)
