"""Names by their capitals: which runs of words with a capital are names, and which only stand first or are shouted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.entities.compounds import HEAD_FORMS, place_of
from memstone.core.entities.lists import CALENDAR, COMMON, FIRST_NAMES, KIN, KNOWN
from memstone.core.entities.types import Spotted, is_named_by, type_of

MAX_NAME_CHARS: Final = 80
_UPPER: Final = "A-Z" + "".join(char for char in map(chr, range(0xC0, 0x530)) if char.isupper())
_WORD: Final = (
    rf"(?:(?:Dr|Mrs?|Ms|Prof|St|Mt|Ft)\.(?=\ )|(?:[{_UPPER}]\.){{2,4}}"
    rf"|[{_UPPER}]\w*(?:[&-]\w+|['\u2019](?!s\b)\w+)*(?:\.(?:js|io|ai|net|com|org)\b)?)"
)
_NEXT: Final = rf"(?:[{_UPPER}]\.(?=\ [{_UPPER}])|{_WORD})"
_BETWEEN: Final = r"\ (?:(?:of(?:\ the)?|de(?:\ la|\ los)?|van(?:\ der|\ den)?|von|der|la|le|du|del|da|di|al|bin|&)\ )?"
_RUNS: Final = re.compile(
    rf"(?=[{_UPPER}])(?<![\w@\#./-]){_WORD}(?:{_BETWEEN}{_NEXT}){{0,5}}(?:\ \d{{1,4}}(?:\.\d+)*(?![\w:%/-]))?",
    re.VERBOSE,
)
_MIDDLE: Final = frozenset(",;&/\u2014\u2013-'\u2019)%$\u20ac")
_SPEAKER: Final = frozenset("i i'm i've i'll i'd i\u2019m i\u2019ve i\u2019ll i\u2019d".split())
_NEVER: Final = (COMMON | CALENDAR | KIN.keys() | _SPEAKER) - KNOWN.keys()
"""Words that are no name by themselves, wherever they stand."""

_OWN_ENDS: Final = ("'s", "\u2019s")
_MAX_ACRONYM: Final = 6
_SHOUTED: Final = 0.6


def capital_names(text: str) -> Iterator[Spotted]:
    """The names among the words with capitals; in a text that is all capitals they tell nothing."""
    if text.isupper() and sum(map(str.isupper, text)) > _SHOUTED * sum(map(str.isalpha, text)):
        return
    seen: set[str] = set()
    for match in _RUNS.finditer(text):
        run = match[0]
        found = None if run.casefold() in _NEVER else _from_run(text, match.start(), run, seen)
        if found is not None:
            seen.add(found.name)
            yield found


def _from_run(text: str, start: int, run: str, seen: set[str]) -> Spotted | None:
    """The name in a run of words with capitals, if there is one; ``seen`` are those that were found before."""
    words = run.split(" ")
    first = _is_sentence_start(text, start)
    proven = not first
    while words and _is_no_name(words, first=first and not proven):
        start += len(words.pop(0)) + 1
        proven = True
    while words and (words[-1].casefold() in CALENDAR or _is_number_after_nothing(words)):
        words.pop()
    name = " ".join(words)
    end = start + len(name)
    if not words or len(name) > MAX_NAME_CHARS or not (len(words) > 1 or _stands_alone(name)):
        return None
    if proven or len(words) > 1 or name in seen or _is_proven(text, end, name):
        return Spotted(start, end, name, type_of(name, text, start, end))
    return None


def _is_sentence_start(text: str, start: int) -> bool:
    before = text[max(0, start - 6) : start].rstrip(" \"'(“\u2018*_")
    return not before or not (before[-1].isalnum() or before[-1] in _MIDDLE)


def _is_no_name(words: list[str], *, first: bool) -> bool:
    """Whether the leading word of a run is an ordinary word with a capital."""
    folded, alone = words[0].casefold(), len(words) == 1
    if folded in CALENDAR or folded in _SPEAKER:
        return True
    if not first:
        return alone and folded in COMMON
    if folded in KNOWN or folded in KIN or (not alone and words[1].islower()):  # "Lord of the Rings"
        return False
    return folded in COMMON or (not alone and folded.endswith(("ing", "ed", "ly")))


def _is_number_after_nothing(words: list[str]) -> bool:
    """A number belongs to a product or a language, not to a person and not to what is left of a date."""
    return words[-1][0].isdigit() and (len(words) == 1 or words[-2].casefold() in CALENDAR | FIRST_NAMES)


def _is_proven(text: str, end: int, name: str) -> bool:
    """Whether a single first word of a sentence is a name all the same."""
    folded = name.casefold()
    if folded in KNOWN or any(char.isupper() or char.isdigit() for char in name[1:]):
        return True
    if folded in COMMON or folded in KIN or folded in HEAD_FORMS or folded.endswith(("ing", "ly")):
        return False
    if is_named_by(text, end) or text.startswith(_OWN_ENDS, end):
        return True
    again = place_of(text, name, end)
    return again >= 0 and not _is_sentence_start(text, again)


def _stands_alone(word: str) -> bool:
    """Whether one word is enough of a name: "Mom" is not, and neither is "WOW" nor a single letter."""
    folded = word.casefold()
    if len(word) < 2 or folded in KIN or folded in COMMON:  # noqa: PLR2004 - a letter
        return False
    return not (word.isupper() and word.isalpha() and len(word) > _MAX_ACRONYM)
