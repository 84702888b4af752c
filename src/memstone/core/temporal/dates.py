"""When something is said to happen: dates in English text, seen from the time it was said.

``resolve`` finds them, ``ground`` writes the date beside a phrase that would lose its meaning ("last week"),
``date_words`` names them for the full text and ``query_range`` says which time a question asks about.

Weeks start on Monday and seasons are those of the northern half. A day or month without a year, and a weekday without
"last" or "next", lies in the past when the nearest verb does, else ahead. What may be no date ("may" the verb, "a
5-year-old", "every Monday") is left alone: a missing date does less harm than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Final

from memstone.core.temporal.phrases import Reader, rules
from memstone.core.temporal.said import Said
from memstone.core.temporal.spans import MONTHS, WEEKDAYS, Grain, in_words

_POSSESSIVE: Final = re.compile("(?:['\u2019]s\\b)?")
_GROUNDED: Final = re.compile(r"\s*\([^()]*[0-9]{4}\)")
_DAYS_OF_A_MONTH: Final = 31
_DAYS_OF_A_YEAR: Final = 366
_WORD: Final = re.compile("[a-z]+")
_FOUR_DIGITS: Final = re.compile("[0-9]{4}")


@dataclass(frozen=True, slots=True)
class TimeRef:
    """One time a text speaks of: where its phrase stands, and the first and last day it means, both included.

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


def resolve(text: str, said_at: datetime, tz: tzinfo = UTC) -> list[TimeRef]:
    """The times a text speaks of, in order; ``said_at`` without a zone is UTC, days are those of ``tz``."""
    return _resolve(text, said_at, tz, looks_back=False)


def ground(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """The text with the date beside each relative phrase: "last week (week of 2 March 2026)"."""
    parts, at = [], 0
    for ref in resolve(text, said_at, tz):
        end = _POSSESSIVE.match(text, ref.end).end()  # type: ignore[union-attr]  # it may be empty, so it matches
        if ref.relative and not _GROUNDED.match(text, end):
            parts.append(f"{text[at:end]} ({in_words(ref.first, ref.last, ref.grain)})")
            at = end
    return "".join(parts) + text[at:]


def dated_quote(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """A quotation with the day on which it was said, where its words mean another time when they are read later."""
    if not any(ref.relative for ref in resolve(text, said_at, tz)):
        return text
    return _SAID.sub(rf"\1 on {_local(said_at, tz).date().isoformat()}:", text, count=1)


_SAID: Final = re.compile(r"\b(said|asked):")
_PASSING: Final = re.compile(
    r"\b(?:currently|right now|at the moment|for now|until|till|these days|soon|plans? to|(?:is|are) going to|about to"
    r"|this (?:week|weekend|month|year|summer|winter|spring|autumn|fall|term|semester|season))\b",
    re.IGNORECASE,
)
_DATED: Final = re.compile(rf"\b(?:19|20)\d\d\b|\b(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)


def note_day(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """A memory with the day on which it was said, where it holds only around then and names no month or year."""
    if _DATED.search(text) or not _PASSING.search(text):
        return text
    day = _local(said_at, tz).date()
    return f"{text.rstrip('.')} (said on {day.day} {MONTHS[day.month - 1]} {day.year})."


def date_words(refs: Iterable[TimeRef]) -> str:
    """The words by which the times can be searched for: "7 May 2023 Sunday 2023-05-07"."""
    return " ".join(dict.fromkeys(_search_words(ref) for ref in refs))


def query_range(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """From when (included) to when (excluded) a question asks about, in UTC; ``None`` if it names no time."""
    refs = _resolve(query, now, tz, looks_back=True)
    if not refs:
        return None
    said = Said(query, _local(now, tz), looks_back=True)
    first, after = min(ref.first for ref in refs), max(ref.last for ref in refs) + timedelta(1)
    start, end = (datetime.combine(day, time.min, tz).astimezone(UTC) for day in (first, after))
    preposition = said.word_before(refs[0].start)
    if preposition in {"before", "until", "till"}:
        return datetime.min.replace(tzinfo=UTC), start
    if preposition == "after" and end < said.now:
        return end, said.now.astimezone(UTC)
    return start, end


def past_range(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """From when (included) to when (excluded) a question looks back; ``None`` if it names no time that is over."""
    refs = _resolve(query, now, tz, looks_back=False)
    over = bool(refs) and max(ref.last for ref in refs) < _local(now, tz).date()
    return query_range(query, now, tz) if over else None


def asked_days(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[str, list[str]]:
    """The days a question means without naming them ("yesterday", "last month"), as the full text holds them.

    Up to a month by its days, up to a year by its months, then by its years. The question comes back without those
    phrases: in what was said before, "yesterday" was another day.
    """
    parts, days, at = [], list[str](), 0
    for ref in _resolve(query, now, tz, looks_back=True):
        if ref.relative:
            days += _named_days(ref)
            parts.append(query[at : ref.start])
            at = ref.end
    return " ".join([*parts, query[at:]]), list(dict.fromkeys(days))


def _named_days(ref: TimeRef) -> list[str]:
    days = (ref.last - ref.first).days + 1
    if days > _DAYS_OF_A_YEAR:
        return [f"{year:04}" for year in range(ref.first.year, ref.last.year + 1)[:_DAYS_OF_A_MONTH]]
    width = len("2023-05-07") if days <= _DAYS_OF_A_MONTH else len("2023-05")
    return list(dict.fromkeys((ref.first + timedelta(day)).isoformat()[:width] for day in range(days)))


def _local(moment: datetime, tz: tzinfo) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(tz)


def _words(text: str) -> set[str]:
    """The words by which rules are chosen; "#" stands for a number that may be a year."""
    words = set(_WORD.findall(text.lower()))
    if _FOUR_DIGITS.search(text):
        words.add("#")
    return words


def _resolve(text: str, said_at: datetime, tz: tzinfo, *, looks_back: bool) -> list[TimeRef]:
    words = _words(text)
    if words.isdisjoint(_telling_words()):  # most texts
        return []
    said = Said(text, _local(said_at, tz), looks_back)
    found = [
        ref
        for known, pattern, read in rules()
        if not words.isdisjoint(known)
        for match in pattern.finditer(text)
        if (ref := _ref(match, said, read))
    ]
    refs: list[TimeRef] = []
    for ref in sorted(found, key=lambda ref: (ref.start, -ref.end)):
        if not refs or ref.start >= refs[-1].end:
            refs.append(ref)
    return refs


@cache
def _telling_words() -> frozenset[str]:
    """The words of which every text that speaks of a time has one."""
    return frozenset[str]().union(*(known for known, _, _ in rules()))


def _ref(match: re.Match[str], said: Said, read: Reader) -> TimeRef | None:
    try:
        time = read(match, said)
    except (ValueError, OverflowError):  # the 31st of June, or ten thousand years ago
        return None
    if time is None or time.last.year >= MAXYEAR:
        return None
    since = said.word_before(match.start()) == "since" and time.first <= said.today
    last = said.today if since else time.last
    return TimeRef(match.start(), match.end(), time.first, last, time.grain, match[0], time.relative)


def _search_words(ref: TimeRef) -> str:
    exact = f" {WEEKDAYS[ref.first.weekday()]} {ref.first.isoformat()}" if ref.grain is Grain.DAY else ""
    return in_words(ref.first, ref.last, ref.grain) + exact
