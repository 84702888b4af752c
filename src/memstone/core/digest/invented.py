"""Names and numbers that nobody said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memstone.core.entities.lists import COMMON
from memstone.core.entities.names import unknown_names
from memstone.core.talk.evidence import Source
from memstone.core.text.words import STOP_WORDS

_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE: Final = re.compile(
    rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? \d{{4}})?\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
"""A date may have been counted from "yesterday": it stands in no sentence and is still no invention."""

_NUMBER: Final = re.compile(r"\d+")
_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_WORD: Final = re.compile(r"[a-z]+")


def unknown_numbers(text: str, said: Source) -> set[str]:
    """The numbers in a text that were not said, neither in digits nor in words."""
    wanted = set(_NUMBER.findall(_DATE.sub(" ", text))) - said.numbers
    if not wanted:
        return wanted
    return wanted - {_WORDS[word] for word in _WORD.findall(said.text.lower()) if word in _WORDS}


def invented_names(text: str, said: str, leave_out: Sequence[str] = ()) -> list[str]:
    """The names in a text that were not said; a first word that is an everyday word is none."""
    unknown = unknown_names(text, said, leave_out)
    first = text.split(maxsplit=1)[0].strip("\"'(-.,;:") if text.strip() else ""
    common = first.casefold() in COMMON or first.casefold() in STOP_WORDS
    return [name for name in unknown if name != first] if common else unknown
