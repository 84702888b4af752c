"""Periods of days: calendar units, how to count in them, and their names."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

# --- stretches of days ------------------------------------------------------------------------------------------------


MONTHS: Final = tuple("January February March April May June July August September October November December".split())
MONTH_NUMBERS: Final = {name[:3].lower(): at for at, name in enumerate(MONTHS, 1)}
WEEKDAYS: Final = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
WEEKDAY_NUMBERS: Final = {name[:3].lower(): at for at, name in enumerate(WEEKDAYS)}
SATURDAY: Final = 5


class Grain(StrEnum):
    """How exact a time is; a span has its own first and last day."""

    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    SPAN = "span"


class Stretch(NamedTuple):
    """From a first to a last day, both included; ``relative`` as in ``TimeRef``."""

    first: date
    last: date
    grain: Grain
    relative: bool = True


def one_day(day: date, *, relative: bool = True) -> Stretch:
    """Return a day alone."""
    return Stretch(day, day, Grain.DAY, relative)


def month_at(index: int, *, months: int = 1, relative: bool = True) -> Stretch:
    """Return the month that is ``index`` months after the year 0, or several."""
    (year, month), (last_year, last_month) = divmod(index, 12), divmod(index + months - 1, 12)
    last = date(last_year, last_month + 1, monthrange(last_year, last_month + 1)[1])
    return Stretch(date(year, month + 1, 1), last, Grain.MONTH if months == 1 else Grain.SEASON, relative)


def shift_date(day: date, unit: str, count: int) -> date:
    """Return the day that is so many units later; in a shorter month the last one."""
    if unit in {"month", "year"}:
        year, month = divmod(day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1), 12)
        return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
    return day + timedelta(count * {"day": 1, "week": 7, "fortnight": 14, "weekend": 7}[unit])


def span_between(one: date, other: date) -> Stretch:
    """Return the stretch from the earlier to the later day."""
    return Stretch(min(one, other), max(one, other), Grain.SPAN)


def unit_containing_day(day: date, unit: str) -> Stretch:
    """Return the whole unit a day lies in."""
    monday = day - timedelta(day.weekday())
    if unit == "day":
        return one_day(day)
    if unit == "month":
        return month_at(day.year * 12 + day.month - 1)
    if unit == "year":
        return Stretch(date(day.year, 1, 1), date(day.year, 12, 31), Grain.YEAR)
    if unit == "weekend":
        return Stretch(monday + timedelta(SATURDAY), monday + timedelta(6), Grain.WEEKEND)
    return Stretch(monday, monday + timedelta(6), Grain.WEEK)


def nearest_weekday(today: date, weekday: str | int, sign: int) -> date:
    """Return the next (1) or the last (-1) such weekday, by its name or its number from Monday; never today."""
    number = weekday if isinstance(weekday, int) else WEEKDAY_NUMBERS[weekday[:3].lower()]
    return today + timedelta(sign * ((sign * (number - today.weekday()) - 1) % 7 + 1))


def in_words(first: date, last: date, grain: Grain) -> str:
    """Return a stretch as people write it: "7 May 2023", "week of 1 May 2023", "April 2023", "2022"."""
    if grain is Grain.YEAR:
        return str(first.year)
    if grain is Grain.MONTH:
        return _month_words(first)
    if grain is Grain.SEASON:
        return f"{_month_words(first)} to {_month_words(last)}"
    if grain is Grain.SPAN:
        return f"{_day_words(first)} to {_day_words(last)}"
    return ("" if grain is Grain.DAY else f"{grain} of ") + _day_words(first)


def _day_words(day: date) -> str:
    return f"{day.day} {_month_words(day)}"


def _month_words(day: date) -> str:
    return f"{MONTHS[day.month - 1]} {day.year}"


# --- a text, the time it was said, and the tense its verbs give to a place in it --------------------------------------


@dataclass(frozen=True, slots=True)
class TimeRef:
    """One time a text mentions: where its phrase stands, and the first and last day it means, both included.

    ``relative`` says that the phrase means another time when it is read later, and that its meaning is certain
    enough to be written down.
    """

    start: int
    end: int
    first: date
    last: date
    grain: Grain
    phrase: str
    relative: bool = True
