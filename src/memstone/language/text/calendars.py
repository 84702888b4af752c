"""Days and months in other languages, from ``calendars.toml``.

Without a year nothing in these forms says whether a day lies behind or ahead, because no verb is read: both are meant,
and the caller takes what fits.
"""

from __future__ import annotations

import re
import tomllib
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from memstone.language.text.content import languages_of
from memstone.language.text.dates import Stretch, month_at, nearest_weekday, one_day, shift_date, unit_containing_day
from memstone.language.text.words import fold_letters

_SIGNS: Final = "一二三四五六七八九"
_TEN: Final = "十"
_KINDS: Final = ("dates", "spans", "past", "last_week")
_PARTS: Final = {
    "{day}": f"(?P<day>[0-9]{{1,2}}|[{_SIGNS}{_TEN}]{{1,3}})(?:er|o)?",
    "{number}": f"(?P<number>[0-9]{{1,2}}|[{_SIGNS}{_TEN}]{{1,2}})",
    "{year}": "(?P<year>(?:19|20)[0-9]{2})",
    "[": "(?:",
    "]": ")?",
    " ": r"\s+",
}
_PIECE: Final = re.compile(r"\{\w+\}|[\[\] ]|[^{\[\] ]+")
_WORD: Final = re.compile(r"\w+")
_IN_NUMBERS: Final = re.compile(r"[0-9]\.[0-9]{1,2}\.")
_DIGITS: Final = {"": 0} | {sign: number for number, sign in enumerate(_SIGNS, 1)}
_ANY_DAY: Final = date(2000, 1, 1)  # only where the phrases stand matters
_YEARS: Final = 9  # enough for a 29th of February


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time that a text names: where it is in the folded text, and which days it may mean, the past ones first."""

    start: int
    end: int
    times: tuple[Stretch, ...]
    language: str

    @property
    def is_certain(self) -> bool:
        """Whether only one time can be meant."""
        return len(self.times) == 1


class _Form(NamedTuple):
    """One way to name a time in a language; ``unit`` and ``offset`` are what a relative one means."""

    language: str
    kind: str
    pattern: re.Pattern[str]
    unit: str = ""
    offset: int = 0


@cache
def _languages() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("memstone.language.text").joinpath("data", "calendars.toml").read_text("utf-8"))


@cache
def _unspaced_languages() -> frozenset[str]:
    """Return the languages whose script tells them, and has no blanks between words."""
    return frozenset(language for language, listed in _languages().items() if "unspaced" in listed)


@cache
def _names(language: str, kind: str) -> dict[str, int]:
    """Return the folded names of months or weekdays, and their numbers, from 0."""
    listed = fold_letters(_languages()[language].get(kind, "")).split()
    return {name: at for at, variants in enumerate(listed) for name in variants.split("|")}


@cache
def _forms(language: str) -> tuple[_Form, ...]:
    """Return the forms of a language; compiled when a text comes that may have one."""
    listed = _languages()[language]
    found = [_Form(language, kind, _compile_form(language, form)) for kind in _KINDS for form in listed.get(kind, ())]
    for phrase, wanted in listed["relative"].items():
        unit, offset = wanted.split()
        found.append(_Form(language, "relative", _compile_form(language, phrase), unit, int(offset)))
    return tuple(found)


@cache
def _languages_by_clue() -> dict[str, frozenset[str]]:
    """Return words, one of which every text has that names a time in a language: names, and long words of phrases."""
    found = dict[str, set[str]]()
    for language, listed in _languages().items():
        phrases = (_WORD.findall(fold_letters(phrase)) for phrase in listed["relative"])
        clues = [*_names(language, "months"), *_names(language, "weekdays"), *(max(one, key=len) for one in phrases)]
        for clue in clues:
            for word in _WORD.findall(clue):
                found.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in found.items()}


@cache
def _languages_in_numbers() -> frozenset[str]:
    """Return the languages that write a day in numbers alone."""
    forms = {language: listed.get("dates", ()) for language, listed in _languages().items()}
    return frozenset(one for one, dates in forms.items() if any(".{number}." in form for form in dates))


def _possible_languages(folded: str) -> frozenset[str]:
    """Return the languages in which a text may name a time, by a quick look: most texts name none."""
    known, listed = _languages_by_clue(), _languages()
    found = {language for word in _WORD.findall(folded) for language in known.get(word, ())} - _unspaced_languages()
    if not folded.isascii():
        found |= {
            one for one in _unspaced_languages() if any(clue in folded for clue in listed[one]["unspaced"].split())
        }
    return frozenset(found | (_languages_in_numbers() if _IN_NUMBERS.search(folded) else set()))


def _compile_form(language: str, form: str) -> re.Pattern[str]:
    parts = _PARTS | {
        "{month}": f"(?P<month>{_alternatives(language, 'months')})",
        "{weekday}": f"(?P<weekday>{_alternatives(language, 'weekdays')})",
    }
    body = "".join(parts.get(piece) or re.escape(fold_letters(piece)) for piece in _PIECE.findall(form))
    if language in _unspaced_languages():
        return re.compile(rf"(?<![0-9]){body}")
    return re.compile(rf"(?<!\w){body}(?!\w)")


def _alternatives(language: str, kind: str) -> str:
    return "|".join(map(re.escape, sorted(_names(language, kind), key=lambda name: (-len(name), name))))


def find_named_times(text: str, today: date) -> list[NamedTime]:
    """Return the times that a text names in another language than English, in order; days are seen from ``today``."""
    folded = fold_letters(text)
    possible = _possible_languages(folded)
    if possible - _unspaced_languages():
        possible &= languages_of(text) | _unspaced_languages()
    found = [named for one in sorted(possible) for form in _forms(one) for named in _matches(form, folded, today)]
    times: list[NamedTime] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not times or one.start >= times[-1].end:
            times.append(one)
    return times


def remove_times(text: str) -> str:
    """Return a text, folded, without the times that it names."""
    folded, parts, at = fold_letters(text), list[str](), 0
    for one in find_named_times(text, _ANY_DAY):
        parts.append(folded[at : one.start])
        at = one.end
    return " ".join([*parts, folded[at:]])


def looks_ahead(text: str, language: str) -> bool:
    """Return whether a text has a word by which a language asks for what is to come."""
    folded = fold_letters(text)
    if language in _unspaced_languages():  # they share forms, and a text does not say which of them it is in
        return any(word in folded for one in _unspaced_languages() for word in _languages()[one]["ahead"].split())
    return not {*_WORD.findall(folded)}.isdisjoint(fold_letters(_languages()[language]["ahead"]).split())


def _matches(form: _Form, folded: str, today: date) -> Iterator[NamedTime]:
    for match in form.pattern.finditer(folded):
        try:
            times = _read_times(form, match, today)
        except (ValueError, OverflowError):  # the 31st of June
            continue
        if times:
            yield NamedTime(match.start(), match.end(), times, form.language)


def _read_times(form: _Form, match: re.Match[str], today: date) -> tuple[Stretch, ...]:
    if form.kind == "relative":
        return (unit_containing_day(shift_date(today, form.unit, form.offset), form.unit),)
    parts = match.groupdict()
    if parts.get("weekday"):
        number = _names(form.language, "weekdays")[parts["weekday"]]
        monday = unit_containing_day(shift_date(today, "week", -1), "week").first
        return (one_day(nearest_weekday(today, number, -1) if form.kind == "past" else monday + timedelta(number)),)
    month = _names(form.language, "months")[parts["month"]] + 1 if parts.get("month") else _number(parts["number"])
    year = int(parts["year"]) if parts.get("year") else None
    if form.kind == "dates":
        return _days(month, _number(parts["day"]), year, today)
    return _months(month, year, today)


def _number(written: str) -> int:
    """Return a number up to 99, in digits or in Chinese signs."""
    if written.isascii():
        return int(written)
    tens, ten, ones = written.rpartition(_TEN)
    if any(len(part) > 1 for part in (tens, ones)):
        raise ValueError(written)
    return _DIGITS[ones] + (10 * (_DIGITS[tens] or 1) if ten else 0)


def _days(month: int, day: int, year: int | None, today: date) -> tuple[Stretch, ...]:
    if year is not None:
        return (one_day(date(year, month, day), relative=False),)
    found = []
    for sign in (-1, 1):
        years = range(today.year, today.year + _YEARS * sign, sign)
        days = (date(one, month, day) for one in years if day <= monthrange(one, month)[1])
        found += [one for one in days if sign * (one - today).days >= 0][:1]
    return tuple(one_day(one, relative=False) for one in dict.fromkeys(found))


def _months(month: int, year: int | None, today: date) -> tuple[Stretch, ...]:
    if year is not None:
        return (month_at(year * 12 + month - 1, relative=False),)
    date(today.year, month, 1)  # there is such a month
    now = today.year * 12 + today.month - 1
    last, following = now - (now - month + 1) % 12, now + (month - 1 - now) % 12
    return tuple(month_at(index, relative=False) for index in dict.fromkeys((last, following)))
