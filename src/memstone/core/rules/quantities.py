"""Numbers with what they count, and days, out of lower-case text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.text.lexicon import STOP_WORDS, SYNONYMS
from memstone.core.text.stem import stem

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL: Final = {word: str(value) for value, word in enumerate(_ONES)} | {
    word: str(10 * value) for value, word in enumerate(_TENS, 2)
}
_COMPOUND: Final = re.compile(r"\b(" + "|".join(_TENS) + r")[ -](" + "|".join(_ONES[1:10]) + r")\b")
_COUNTS: Final = re.compile(r"\d|\b(?:" + "|".join([*_ONES, *_TENS, "second", "third", "fourth", "fifth"]) + r")\b")
_MONEY: Final = re.compile(
    r"[$€£¥]\s?(\d[\d,]*(?:\.\d+)?)(k\b)?|(?<!\d)(?<!\d,)(\d[\d,]*(?:\.\d+)?)(k)?\s?(?:dollars?|euros?|pounds|usd|eur|gbp|bucks|kr|francs|crowns)\b|\b(\d{2,})(k)\b(?! (?:run|race|steps|walk))"
)
_CLOCK: Final = re.compile(
    r"\b(\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}\s?(?:am\b|pm\b|o'clock))|\b(?:up|wakes|start|starts|wake up|wakes up|bed|work|begins?|finish|finishes) (?:work )?at (\d{1,2}|"
    + "|".join(_ONES[1:13])
    + r")\b(?![:\d]| ?(?:am|pm|o'clock)\b| [a-z]+ (?:a|per)\b)|\bat (\d{1,2})(?= now\b|$|[.,!]| (?:from|instead|sharp|in the)\b)"
)
_PERCENT: Final = re.compile(r"\b(\d+(?:\.\d+)?)\s?(?:%|percent)")
_UNIT: Final = re.compile(r"\b(\d++(?:[.,]\d++){0,4}+|" + "|".join(_SMALL) + r")[ -]([a-z]+(?: [a-z]+)?)")
_BARE: Final = re.compile(
    r"(?<![\w.,:$€£-])(\d{1,3}(?:,\d{3})+|\d{2,}|"
    + "|".join([*_ONES[2:], *_TENS])
    + r")(?= (?:a|of|for|per|in|on|now|after|instead|today|and|to|by|is|at|or|next|from|since|this|every|daily|weekly|monthly|yearly)\b|[.,!]|$)"
)
_MONTHS: Final = "january february march april may june july august september october november december".split()
_CURRENCIES: Final = frozenset("dollar dollars euro euros pounds usd eur gbp bucks kr francs crowns k".split())
_NOT_UNITS: Final = (
    STOP_WORDS
    | _CURRENCIES
    | {"am", "pm", *_MONTHS, "next", "last", "first", "per", "every", "daily", "weekly", "monthly", "yearly"}
    | {"today", "yesterday", "tomorrow", "tonight", "already", "again"}
)
_SKIPPED_UNITS: Final = frozenset({"more", "new", "different", "other", "whole", "full"})


_FAR_OFF: Final = re.compile(r"\b(?:is|are) in (?:\d+|" + "|".join(_ONES[1:13]) + r") (?:days?|weeks?|months?)\b")
"""How far off something is counts nothing."""


_GLUED: Final = re.compile(r"(\d)(kg|mg|mcg|km|lbs?|cm|ml|mph|gb|tb)\b")
"""Units that are often written without a space."""


def spelled_digits(text: str) -> str:
    """Compound numerals as digits: "twenty-eight" is 28, "six hundred and forty" is 640, "fifteen grand" 15000."""
    text = _COMPOUND.sub(lambda match: str(int(_SMALL[match[1]]) + int(_SMALL[match[2]])), text)
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
    return 1 if word == "a" else int(_SMALL.get(word, word))


def numbers_of(text: str) -> dict[str, str]:
    """Numbers by what they count: ``{"money": "1400", "cat": "2"}``. A unit with two values is left out."""
    if not _COUNTS.search(text):
        return {}
    text = _GLUED.sub(r"\1 \2", _FAR_OFF.sub(" ", spelled_digits(text)))
    found: dict[str, set[str]] = {}
    for unit, value in (*_measured(text), *_counted(text)):
        found.setdefault(unit, set()).add(value)
    taken = {value for values in found.values() for value in values}
    bare = {_digits(match[1]) for match in _BARE.finditer(text)} - taken
    if bare:
        found["bare"] = bare
    return {unit: values.pop() for unit, values in found.items() if len(values) == 1}


def digits_in(text: str) -> frozenset[str]:
    """All numbers of a text, whatever they count."""
    return frozenset(_digits(word) for word in _WORDS.findall(text) if word in _SMALL or word[0].isdigit())


_WORDS: Final = re.compile(r"\d[\d,.:]*|[a-z]+")


def _measured(text: str) -> Iterator[tuple[str, str]]:
    for match in _MONEY.finditer(text):
        yield (
            "money",
            (match[1] or match[3] or match[5]).replace(",", "") + ("k" if match[2] or match[4] or match[6] else ""),
        )
    for match in _CLOCK.finditer(text):
        hour = match[2] or match[3]
        yield "clock", _SMALL.get(hour, hour) if hour else match[1].replace(" ", "")
    for match in _PERCENT.finditer(text):
        yield "percent", match[1]


_ORDINALS: Final = {"second": "2", "third": "3", "fourth": "4", "fifth": "5", "two": "2", "three": "3", "four": "4"}
_ONE_OF_MANY: Final = r"(child|kid|baby|son|daughter|dog|cat|grandchild|car|rabbit|horse)"
_NTH: Final = re.compile(
    rf"\b(second|third|fourth|fifth) {_ONE_OF_MANY}\b|\b{_ONE_OF_MANY} number (two|three|four)\b|\banother {_ONE_OF_MANY}, that makes (two|three|four)\b"
)


def _counted(text: str) -> Iterator[tuple[str, str]]:
    for match in _NTH.finditer(text):
        counted, number = match[2] or match[3] or match[5], match[1] or match[4] or match[6]
        yield SYNONYMS.get(counted) or stem(counted), _ORDINALS[number]
    for match in _UNIT.finditer(text):
        unit = _unit(match[2])
        if unit:
            yield unit, _digits(match[1])


def _digits(word: str) -> str:
    return _SMALL.get(word, word.replace(",", ""))


def _unit(words: str) -> str:
    for word in words.split():
        if word in {"ones", "people", "members", "persons"}:
            return "of them"
        if word not in _SKIPPED_UNITS:
            return "" if word in _NOT_UNITS else SYNONYMS.get(word) or stem(word)
    return ""


def is_other_order(one: str, other: str) -> bool:
    """Whether one value is so much more than the other that they hardly measure the same: words a day, and of a book."""
    values = [float(value) for value in (one, other) if _PLAIN_NUMBER.fullmatch(value)]
    return len(values) > 1 and min(values) > 0 and max(values) / min(values) > _ORDER


_PLAIN_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_ORDER: Final = 30

_CLOCK_PARTS: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::\d{2})?(am|pm)?")


def same_number(one: str, other: str) -> bool:
    """Whether two values of a unit are equal; half a day is left open where only one says it ("5" and "5am")."""
    if one == other:
        return True
    first, second = _CLOCK_PARTS.fullmatch(one), _CLOCK_PARTS.fullmatch(other)
    if not first or not second or bool(first[3]) == bool(second[3]):
        return False
    return int(first[1]) == int(second[1]) and (first[2] or "00") == (second[2] or "00")


MONTHS: Final = frozenset(month[:3] for month in _MONTHS)
"""Months as they stand in days."""

_MONTH: Final = "|".join(month[:3] + (f"(?:{month[3:]})?" if month[3:] else "") for month in _MONTHS)
_DAY: Final = re.compile(
    rf"\b(?:({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b|(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\b|(\d{{4}}-\d{{2}}-\d{{2}})\b)"
)
_IN_MONTH: Final = re.compile(rf"\b(?:in|to|until|by|for|this|next|since) ({'|'.join(_MONTHS)})\b(?! \d{{1,2}}\b)")
_WEEKDAY: Final = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b")
_BORN: Final = re.compile(r"\bborn in (\d{4})\b")


def dates_of(text: str) -> frozenset[str]:
    """Days of the year and of the week, and months, a text names."""
    return frozenset(day for day, _ in dated(text))


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


def written_number(value: str) -> re.Pattern[str]:
    """How a value of ``numbers_of`` may be written: 1400 as "1,400" too, and 3 as "three"."""
    digits = re.sub(r"(?<=\d)(?=\d)", ",?", re.escape(value))
    digits = re.sub(r"(?<=\d)(?=[a-z])", r"\\s?", digits)
    word = _SPELLED_AS.get(value)
    spelled = rf"|\b{word}\b" if word else ""
    return re.compile(rf"(?<![\d\w])(?<!\d[.,:]){digits}(?!\d|[.,:]\d){spelled}", re.IGNORECASE)


_SPELLED_AS: Final = {value: word for word, value in _SMALL.items()}
