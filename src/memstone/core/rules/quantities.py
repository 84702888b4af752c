"""Numbers with what they count, and days, out of lower-case text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMERALS: Final = {word: str(value) for value, word in enumerate(_ONES)} | {
    word: str(10 * value) for value, word in enumerate(_TENS, 2)
}
_COMPOUND: Final = re.compile(r"\b(" + "|".join(_TENS) + r")[ -](" + "|".join(_ONES[1:10]) + r")\b")
_MONTHS: Final = "january february march april may june july august september october november december".split()


def spelled_digits(text: str) -> str:
    """Compound numerals as digits: "twenty-eight" is 28, "six hundred and forty" is 640, "fifteen grand" 15000."""
    text = _COMPOUND.sub(lambda match: str(int(NUMERALS[match[1]]) + int(NUMERALS[match[2]])), text)
    text = _HUNDREDS.sub(_hundreds, text) if "hundred" in text else text
    return _GRAND.sub(_thousands, text) if "thousand" in text or "grand" in text else text


_SPELLED: Final = r"\d+|" + "|".join([*_ONES[1:], *_TENS])
_HUNDREDS: Final = re.compile(
    rf"\b({_SPELLED}|a) hundred(?: and ({_SPELLED})| ({_SPELLED})(?! (?:hundred|thousand|grand)))?\b"
)
_GRAND: Final = re.compile(rf"\b({_SPELLED}|a) (?:thousand|grand)\b(?! piano)")


def _hundreds(match: re.Match[str]) -> str:
    return str(100 * _number(match[1]) + _number(match[2] or match[3] or "0"))


def _thousands(match: re.Match[str]) -> str:
    return str(1000 * _number(match[1]))


def _number(word: str) -> int:
    return 1 if word == "a" else int(NUMERALS.get(word, word))


MONTHS: Final = frozenset(month[:3] for month in _MONTHS)
"""Months as they stand in days."""

_MONTH: Final = "|".join(month[:3] + (f"(?:{month[3:]})?" if month[3:] else "") for month in _MONTHS)
_DAY: Final = re.compile(
    rf"\b(?:({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b|(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\b|(\d{{4}}-\d{{2}}-\d{{2}})\b)"
)
_IN_MONTH: Final = re.compile(rf"\b(?:in|to|until|by|for|this|next|since) ({'|'.join(_MONTHS)})\b(?! \d{{1,2}}\b)")
_WEEKDAY: Final = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b")
_BORN: Final = re.compile(r"\bborn in (\d{4})\b")


def dated(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The same, each with where a lower-case text names it."""
    for match in _DAY.finditer(text):
        yield match[5] or f"{(match[1] or match[4])[:3]} {int(match[2] or match[3])}", match.span()
    for match in _WEEKDAY.finditer(text):
        yield match[1], match.span()
    for match in _IN_MONTH.finditer(text):
        yield match[1][:3], match.span(1)
    for match in _BORN.finditer(text):
        yield match[1], match.span(1)
