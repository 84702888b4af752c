"""Find numbers in a text that the conversation does not contain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from functools import cached_property
from typing import Final, TypeAlias
from unicodedata import decimal

from memstone.language.text.dates import TimeRef

_ISO: Final = re.compile(r"(?<![\d-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\d-])")
_MONTHS: Final = {
    **dict.fromkeys("january janvier januar jänner enero gennaio janeiro januari jan".split(), 1),
    **dict.fromkeys("february février fevrier februar febrero febbraio fevereiro februari feb".split(), 2),
    **dict.fromkeys("march mars märz maerz marzo março marco maart mar".split(), 3),
    **dict.fromkeys("april avril abril aprile apr".split(), 4),
    **dict.fromkeys("may mai mayo maggio maio mei".split(), 5),
    **dict.fromkeys("june juin juni junio giugno junho jun".split(), 6),
    **dict.fromkeys("july juillet juli julio luglio julho jul".split(), 7),
    **dict.fromkeys("august août aout agosto augustus aug".split(), 8),
    **dict.fromkeys("september septembre septiembre settembre setembro sept sep".split(), 9),
    **dict.fromkeys("october octobre oktober octubre ottobre outubro oct okt".split(), 10),
    **dict.fromkeys("november novembre noviembre novembro nov".split(), 11),
    **dict.fromkeys("december décembre decembre dezember diciembre dicembre dezembro dec dez".split(), 12),
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))

_WRITTEN: Final = (
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)? (?:of |de |di )?(?P<m>{_MONTH})\b\.?,?"
        rf"(?: (?:de )?(?P<y>\d{{4}})\b)?",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<m>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<y>\d{{4}})\b)?", re.IGNORECASE),
    re.compile(r"(?:(?P<y>\d{4})年)?(?P<m>\d{1,2})月(?P<d>\d{1,2})日"),
    re.compile(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b"),
)
"""Dates as people write them, in several languages; one without a year lies in the year of the conversation."""

_CLOCK: Final = re.compile(r"(?<!\d)(\d{1,2})[:.h](\d{2})(?!\d|\.\d)")
_NUMBER: Final = re.compile(r"\d+(?:[.,\u00a0' ]\d{3})+(?!\d)|\d+(?:[.,]\d+)?")
_THOUSANDS: Final = re.compile(r"(?<=\d)[.,\u00a0' ](?=\d{3}(?!\d))")
_SHORT: Final = re.compile(r"(?<!\d)(\d++(?:[.,]\d++)?) ?(k|tsd|mio|m)\b", re.IGNORECASE)
_TIMES: Final = {"k": 1_000, "tsd": 1_000, "mio": 1_000_000, "m": 1_000_000}
_WORD: Final = re.compile(r"[^\W\d_]+")
_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
_WORDS: Final = (
    {word: number for number, word in enumerate(_UNITS)}
    | {word: 10 * ten for ten, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)}
    | {"a": 1, "an": 1, "once": 1, "first": 1, "second": 2, "third": 3, "twice": 2, "both": 2, "couple": 2, "pair": 2}
    | {"hundred": 100, "thousand": 1_000, "dozen": 12, "half": 30, "quarter": 15, "noon": 12, "midday": 12}
    | {"eins": 1, "ein": 1, "eine": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8}
    | {"un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5}
)
_ORDINAL: Final = re.compile(r"(?<!\d)\d++(?:st|nd|rd|th|\.|º|ème|e|er|日)", re.IGNORECASE)

_NAMED_DAY: Final = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|\.(?!\d)|\u65e5| (?:{_MONTH})\b)"
    r"|\b(?:the|den|dem|vom|am|le|el|il) (\d{1,2})\b(?![:.,]\d)"
    rf"|\b(?:{_MONTH})\.? (\d{{1,2}})\b(?!:)",
    re.IGNORECASE,
)
"""A day of a month, as people name one; any other number is none."""

_NOON: Final = 12

_FEW: Final = 20
"""In a language whose words for numbers are not known, a number up to this may have been said as a word."""

_YEARS: Final = range(1900, 2101)
_MINUTES: Final = frozenset({0, 15, 30, 45})


Resolve: TypeAlias = Callable[[str], Iterable[TimeRef]]
"""What finds the times that a text mentions."""


def unsaid_numbers(
    text: str, sentence: str, now: datetime, resolve: Resolve, near: str = "", *, knows_words: bool = True
) -> list[str]:
    """Return the numbers of a text that are in nothing that was said and do not follow from it.

    ``near`` are the turns that a statement comes from: what is there in digits is what its dates were counted from.
    ``knows_words`` says that what was said is in a language whose words for numbers are known.
    """
    answer = _ConversationNumbers(sentence, now, near or sentence, resolve, knows_words=knows_words)
    missing: list[str] = []
    rest = _with_dates(_to_ascii_digits(text), now)
    used = {int(found[3] or 0) for found in _ISO.finditer(rest)}
    for found in _ISO.finditer(rest):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
        if not answer.has_date(year, month, day, used):
            missing.append(found[0])
    rest = _ISO.sub(" ", rest)
    missing += [one[0] for one in _CLOCK.finditer(rest) if not answer.has_time(int(one[1]), int(one[2]))]
    rest = _CLOCK.sub(" ", rest)
    return [*missing, *(output for output, value in _find_numbers(rest) if not answer.has(value))]


class _ConversationNumbers:
    """The numbers of a conversation."""

    def __init__(self, text: str, now: datetime, near: str, resolve: Resolve, *, knows_words: bool) -> None:
        self._text = _to_ascii_digits(text)
        self._now = now
        self._named_days = {int(next(filter(None, found))) for found in _NAMED_DAY.findall(_to_ascii_digits(near))}
        self._near = {value for _, value in _find_numbers(_to_ascii_digits(near))}
        self._spans = {value for _, value in _find_numbers(_ORDINAL.sub(" ", _to_ascii_digits(near)))}
        self._all = {value for _, value in _find_numbers(self._text)} | set(_in_words(self._text))
        self._digits = frozenset(re.findall(r"\d+", self._text))
        self._resolve, self._knows_words = resolve, knows_words

    def has(self, value: float) -> bool:
        """Return whether a number was said, in digits or in words, or follows as a year."""
        if value in self._all or (value.is_integer() and str(int(value)) in self._digits):
            return True
        if value in _YEARS and self._has_year(int(value)):
            return True
        unread = not self._near and not self._knows_words
        return unread and value <= _FEW

    def has_time(self, hour: int, minute: int) -> bool:
        """Return whether a time of day was said, by either clock."""
        if hour > 2 * _NOON:
            return False
        hours = {hour, hour - _NOON, hour + 1, hour + 1 - _NOON} if minute in _MINUTES else {hour, hour - _NOON}
        is_known = any(self.has(float(one)) for one in hours if one >= 0)
        return is_known and (minute in _MINUTES or self.has(float(minute)))

    def has_date(self, year: int, month: int, day: int, used: set[int]) -> bool:
        """Return whether a date was said, in full or in part, or may have been counted from the conversation's day.

        ``used`` are the days of all dates that the text names.
        """
        if not self._has_year(year) and not self.has(float(year)):
            return False
        if not day:
            return True
        try:
            wanted = date(year, month, day)
        except ValueError:
            return False
        if day in self._named_days:
            return True
        return self._is_counted(wanted) or self._named_days <= used

    def _has_year(self, year: int) -> bool:
        ago = abs(self._now.year - year)
        return ago <= 1 or float(ago) in self._all or float(year) in self._all

    def _is_counted(self, wanted: date) -> bool:
        today = self._now.date()
        span = abs((wanted - today).days)
        if span and any(span in (number, 7 * number) for number in self._spans):
            return True
        return any(first <= wanted <= last for first, last in self._ranges)

    @cached_property
    def _ranges(self) -> frozenset[tuple[date, date]]:
        return frozenset((ref.first, ref.last) for ref in self._resolve(self._text))


def _with_dates(text: str, now: datetime) -> str:
    """Return the text with the dates that it writes out in the one form YYYY-MM-DD."""

    def to_iso_date(found: re.Match[str]) -> str:
        month = _MONTHS.get(found["m"].lower()) or int(found["m"])
        return f"{found['y'] or now.year}-{month:02}-{int(found['d']):02}"

    for pattern in _WRITTEN:
        text = pattern.sub(to_iso_date, text)
    return text


def _find_numbers(text: str) -> Iterator[tuple[str, float]]:
    for found in _SHORT.finditer(text):
        yield found[0], float(found[1].replace(",", ".")) * _TIMES[found[2].lower()]
    for found in _NUMBER.finditer(_SHORT.sub(" ", text)):
        plain = _THOUSANDS.sub("", found[0]).replace(",", ".")
        yield found[0], float(plain)


def _in_words(text: str) -> Iterator[float]:
    last = 0
    for found in _WORD.finditer(text.lower()):
        value = _WORDS.get(found[0])
        if value is None:
            last = 0
            continue
        yield float(value)
        if last >= _FEW and value < last:  # twenty one
            yield float(last + value)
        elif last and value in (100, 1_000):
            yield float(last * value)
        last = value


def _to_ascii_digits(text: str) -> str:
    """Return the text with its digits as 0 to 9, whatever the script."""
    if text.isascii():
        return text
    return "".join(str(decimal(char)) if char.isdecimal() else char for char in text)
