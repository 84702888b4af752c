"""Find dates in English text, relative to the time it was said.

``resolve`` finds them, ``ground`` writes the date beside a phrase that would lose its meaning ("last week"),
``date_words`` names them for the full text and ``query_range`` says which time a question asks about.

Weeks start on Monday and seasons are those of the northern half. A day or month without a year, and a weekday without
"last" or "next", lies in the past when the nearest verb does, else ahead. What may be no date ("may" the verb, "a
5-year-old", "every Monday") is left alone: a missing date does less harm than a wrong one.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta, tzinfo
from functools import cache, lru_cache
from typing import Final, TypeAlias

from memstone.language.en.tense import DatedText
from memstone.language.text.calendars import find_named_times, remove_times
from memstone.language.text.dates import (
    MONTH_NUMBERS,
    MONTHS,
    SATURDAY,
    WEEKDAY_NUMBERS,
    WEEKDAYS,
    Grain,
    Stretch,
    TimeRef,
    in_words,
    month_at,
    nearest_weekday,
    one_day,
    shift_date,
    span_between,
    unit_containing_day,
)
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.instant import Instant, datetime_from_instant, parse_when

# --- the phrases English has for a time, and what each of them means --------------------------------------------------


_CLEAR_MONTHS: Final = frozenset("January February July September October November December".split())
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS: Final = {
    word: at for at, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
} | {"a": 1, "an": 1, "couple": 2, "twenty": 20, "thirty": 30}
_FEW: Final = range(2, 6)
_NAMED_DAYS: Final = {
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "yesterday": -1,
    "last night": -1, "tomorrow": 1, "the day before yesterday": -2, "the night before last": -2,
    "the day after tomorrow": 2,
}  # fmt: skip
_OFFSETS: Final = {"last": -1, "this past": -1, "past": -1, "this": 0, "next": 1, "this coming": 1, "coming": 1}
_BEFORE_MONTHS: Final = frozenset("in since until till during of early late mid through throughout around".split())
_BEFORE_CLEAR: Final = _BEFORE_MONTHS | frozenset("on by from before after for to between and year back circa".split())
_NOUN_NEXT: Final = re.compile(
    r"\s+(?!(?:and|or|at|to|but|so|because|with|for|in|was|is|will|we|i|he|she|they)\b)[a-z]"
)
_NOT_ONE_DAY: Final = frozenset("every each most some all any black good easter ash palm cyber fat super the".split())


_FAR_DAYS: Final = 270
"""A day farther off than this has a nearer one on the other side: the verb alone does not decide between them."""


def _parse_amount(match: re.Match[str]) -> range:
    """Return how many are meant: one number, or several for "a few"."""
    word = [word for word in match["n"].lower().split() if word != "of"][-1]
    if word in {"few", "several"}:
        return _FEW
    number = _NUMBERS[word] if word in _NUMBERS else int(word)
    return range(number, number + 1)


def _resolve_counted_units(match: re.Match[str], text: DatedText, sign: int) -> Stretch:
    amount, unit = _parse_amount(match), match["unit"].lower()
    if unit in {"minute", "hour"}:
        moment = text.now.astimezone(UTC) + sign * timedelta(**{unit + "s": amount[0]})
        return one_day(moment.astimezone(text.now.tzinfo).date())
    if len(amount) > 1:
        return span_between(
            shift_date(text.today, unit, sign * amount[0]), shift_date(text.today, unit, sign * amount[-1])
        )
    return unit_containing_day(shift_date(text.today, unit, sign * amount[0]), unit)


def _resolve_ago(match: re.Match[str], text: DatedText) -> Stretch | None:
    if text.word_before(match.start()) == "or":  # "two or three days ago"
        return None
    if match["weekday"]:
        return one_day(nearest_weekday(text.today, match["weekday"], -1) - timedelta(7 * (_parse_amount(match)[0] - 1)))
    if match["exact"] and len(_parse_amount(match)) == 1:
        return one_day(shift_date(text.today, match["unit"].lower(), -_parse_amount(match)[0]))
    return _resolve_counted_units(match, text, -1)


def _resolve_ahead(match: re.Match[str], text: DatedText) -> Stretch | None:
    """Return what comes "in two weeks"; in the past and after "three times" that is a duration."""
    tense = text.tense(match)
    if tense == -1 or text.word_before(match.start()) in {"times", "once", "twice"}:
        return None
    return _resolve_counted_units(match, text, 1)._replace(
        relative=tense is not None or " from " in _normalize_phrase(match[0])
    )


def _resolve_unit_range(match: re.Match[str], text: DatedText) -> Stretch:
    sign = _OFFSETS[_normalize_phrase(match["rel"])] or 1
    return span_between(text.today, shift_date(text.today, match["unit"].lower(), sign * _parse_amount(match)[-1]))


def _named_day(match: re.Match[str], text: DatedText) -> Stretch:
    return one_day(text.today + timedelta(_NAMED_DAYS[_normalize_phrase(match["day"])]))


def _other_day(_match: re.Match[str], text: DatedText) -> Stretch:
    return span_between(text.today - timedelta(7), text.today - timedelta(1))


def _resolve_calendar_unit(match: re.Match[str], text: DatedText) -> Stretch | None:
    """Return the week, weekend, month or year before, around or after the day."""
    unit, rel, weekdays = match["unit"].lower(), _normalize_phrase(match["rel"]), text.today.weekday() < SATURDAY
    the = text.word_before(match.start()) == "the"
    if the and rel == "next":  # after something else
        return None
    if unit != "weekend" and ("past" in rel or (the and rel == "last")):
        return span_between(shift_date(text.today, unit, -1), text.today)
    offset = _OFFSETS[rel] - (unit == "weekend" and rel == "this" and weekdays and text.tense(match) == -1)
    return unit_containing_day(shift_date(text.today, unit, offset), unit)


def _far_unit(match: re.Match[str], text: DatedText) -> Stretch:
    sign = 1 if match["rel"].lower().startswith("after") else -1
    if match["weekday"]:
        return one_day(nearest_weekday(text.today, match["weekday"], sign) + timedelta(7 * sign))
    return unit_containing_day(shift_date(text.today, match["unit"].lower(), 2 * sign), match["unit"].lower())


def _the_weekend(match: re.Match[str], text: DatedText) -> Stretch:
    tense = text.tense(match)
    gone = text.is_past(tense) and text.today.weekday() < SATURDAY
    return unit_containing_day(shift_date(text.today, "week", -gone), "weekend")._replace(relative=bool(tense))


def _resolve_weekday(match: re.Match[str], text: DatedText) -> Stretch | None:
    rel, week = _normalize_phrase(match["rel"]), _normalize_phrase(match["week"])
    if not _is_one_day(match["weekday"], text.word_before(match.start()), clear=bool(rel or week)):
        return None
    tense = text.tense(match)
    if week or rel == "this":
        return one_day(_of_week(match, text, week or rel, past=text.is_past(tense)))
    sign = _OFFSETS[rel] if rel else -1 if text.is_past(tense) else 1
    certain = tense is not None and not text.has_doubts(match) and not _is_attribute(match, text)
    return one_day(nearest_weekday(text.today, match["weekday"], sign), relative=bool(rel) or certain)


def _is_one_day(name: str, before: str, *, clear: bool) -> bool:
    """Return whether a word is one certain weekday: not "every Monday", "the sun", "Black Friday"."""
    if before in _NOT_ONE_DAY:
        return False
    if name.title() not in WEEKDAYS:  # an abbreviation
        return name[0].isupper() and (clear or before in {"on", "by", "until", "since"})
    return name[0].isupper() or clear or before in _BEFORE_CLEAR


def _is_attribute(match: re.Match[str], text: DatedText) -> bool:
    """Return whether a weekday only says what sort of thing the next word is: "no more Friday deploys"."""
    before = text.word_before(match.start())
    return bool(before) and before not in _BEFORE_CLEAR and _NOUN_NEXT.match(text.text, match.end()) is not None


def _of_week(match: re.Match[str], text: DatedText, rel: str, *, past: bool) -> date:
    """Return the day of last, this or next week; "this Friday" on a Saturday is the coming one, unless it was."""
    name, today = match["weekday"], text.today
    day = unit_containing_day(today, "week").first + timedelta(WEEKDAY_NUMBERS[name[:3].lower()] + 7 * _OFFSETS[rel])
    if match["week"] or day == today or (day < today) == past:
        return day
    return nearest_weekday(today, name, -1 if day > today else 1)


def _resolve_month_day(match: re.Match[str], text: DatedText) -> Stretch | None:
    """Return a day of a month; the nearest on the right side when there is no year."""
    name, day, year = match["month"], int(match["number"]), match["year"]
    month = MONTH_NUMBERS[name[:3].lower()]
    if year:
        return one_day(date(int(year), month, day), relative=False)
    if name in {"may", "march", "mar"} and not match["sure"]:
        return None
    tense = text.tense(match)
    sign = -1 if text.is_past(tense) else 1
    years = range(text.today.year, text.today.year + 9 * sign, sign)  # enough for a 29th of February
    days = (date(year, month, day) for year in years if day <= monthrange(year, month)[1])
    nearest_day = next((day for day in days if sign * (day - text.today).days >= 0), None)
    certain = bool(tense) and not text.has_doubts(match)
    is_far = nearest_day is not None and abs((nearest_day - text.today).days) > _FAR_DAYS
    return one_day(nearest_day, relative=certain and not is_far) if nearest_day else None


def _by_month(match: re.Match[str], text: DatedText) -> Stretch | None:
    rel, month = _normalize_phrase(match["rel"]), MONTH_NUMBERS[match["month"][:3].lower()] - 1
    if match["year"]:
        return month_at(int(match["year"]) * 12 + month, relative=False)
    if match["until"]:  # "from May to July 2023"
        earlier = month >= MONTH_NUMBERS[match["until"][:3].lower()]
        return month_at((int(match["later"]) - earlier) * 12 + month, relative=False)
    if not _is_month(match["month"], text.word_before(match.start()), rel):
        return None
    if rel == "this":
        return month_at(text.today.year * 12 + month)
    now, other = text.today.year * 12 + text.today.month - 1, bool(rel)  # "last May" is never the present one
    tense = text.tense(match)
    if rel == "last" or (not rel and text.is_past(tense)):
        index = now - other - (now - other - month) % 12
    else:
        index = now + other + (month - now - other) % 12
    return month_at(index, relative=other or (bool(tense) and not text.has_doubts(match)))


def _is_month(name: str, before: str, rel: str) -> bool:
    """Return whether a word is a month: not the verbs "may" and "march", nor somebody called April."""
    if rel:
        return rel != "this" or name[0].isupper()
    if before in _BEFORE_MONTHS:
        return True
    return name in _CLEAR_MONTHS or (name[0].isupper() and before in {"by", "before", "after", "from", "between"})


def _resolve_season(match: re.Match[str], text: DatedText) -> Stretch | None:
    rel, before = _normalize_phrase(match["rel"]), text.words_before(match.start())
    start = _SEASONS[match["season"].lower()] - 1
    if match["year"]:
        return month_at(int(match["year"]) * 12 + start, months=3, relative=False)
    if not rel and (before[-1:] != ["the"] or before[-2:-1] not in (["in"], ["during"], ["over"], ["since"])):
        return None
    known = [month_at(year * 12 + start, months=3) for year in range(text.today.year - 2, text.today.year + 3)]
    if rel == "last":
        return [time for time in known if time.last < text.today][-1]
    if rel == "next":
        return next(time for time in known if time.first > text.today)
    tense = text.tense(match)
    past = [time for time in known if time.first <= text.today][-1]
    ahead = next(time for time in known if time.last >= text.today)
    certain = bool(rel) or (bool(tense) and not text.has_doubts(match))
    return (past if text.is_past(tense) else ahead)._replace(relative=certain)


def _resolve_year(match: re.Match[str], text: DatedText) -> Stretch | None:
    if text.word_before(match.start()) not in _BEFORE_CLEAR:
        return None
    first, last = int(match["year"]), int(match["to"] or match["year"])
    return Stretch(date(first, 1, 1), date(last, 12, 31), Grain.YEAR, relative=False) if first <= last else None


def _resolve_iso_date(match: re.Match[str], _text: DatedText) -> Stretch:
    return one_day(date(int(match["year"]), int(match["month"]), int(match["number"])), relative=False)


def _normalize_phrase(phrase: str | None) -> str:
    return " ".join((phrase or "").lower().split())


Reader: TypeAlias = Callable[[re.Match[str], DatedText], Stretch | None]
Rule: TypeAlias = tuple[frozenset[str], re.Pattern[str], Reader]

_N: Final = rf"(?P<n>[0-9]{{1,4}}|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several|{'|'.join(_NUMBERS)})\s+"
_UNIT: Final = r"(?P<unit>minute|hour|day|week|fortnight|month|year)"
_UNITS: Final = "day days week weeks month months year years hour hours minute minutes fortnight"
_LONG: Final = r"(?P<unit>weekend|week|month|year)"
_REL: Final = r"(?P<rel>last|next|past|coming|this(?:\s+(?:past|coming))?)"
_WHICH: Final = r"(?:(?P<rel>last|next|this)\s+)?"
_DAY_NAME: Final = rf"(?P<weekday>{'|'.join(WEEKDAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)"
_DAY_NAMES: Final = " ".join(WEEKDAYS).lower() + " mon tue tues wed thu thur thurs fri sat sun"
_MONTH_NAME: Final = f"{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_MONTH: Final = rf"(?P<month>{_MONTH_NAME})\b"
_DATE_AHEAD: Final = rf"(?!,?\s+(?:the\s+)?(?:[0-9]{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?:{_MONTH_NAME})\b)"
_TO: Final = r"(?:\s*[-\u2013]\s*|\s+(?:to|and|until|through)\s+)"
_THEN: Final = rf"{_TO}(?P<until>{_MONTH_NAME})\b\s+(?P<later>(?:19|20)[0-9]{{2}})\b"
_MONTH_NAMES: Final = " ".join(MONTHS).lower() + " jan feb mar apr jun jul aug sep sept oct nov dec"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})\b"
_PART: Final = r"(?:\s+(?:morning|afternoon|evening|night))?\b"
_NAMED: Final = "|".join(_NAMED_DAYS).replace(" ", r"\s+")
_OF_WEEK: Final = r"(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?\b(?!-)"
_TO_YEAR: Final = r"(?:\s?(?:-|\u2013|to|and|until)\s?(?P<to>(?:19|20)[0-9]{2}))?(?![\w:/%-])"
_NO_NUMBER: Final = r"(?!\s+(?:words|people|dollars|euros|steps|miles|km|times|pages|users|calories|feet|days)\b)"
_NUMBER: Final = "(?P<number>[0-9]{1,2})"


def _build_rule(words: str, phrase: str, read: Reader) -> Rule:
    return frozenset(words.split()), re.compile(rf"\b{phrase}", re.IGNORECASE), read


@cache
def date_rules() -> tuple[Rule, ...]:
    """Return, for each sort of phrase, words of which one must occur ("#": a year), its pattern, and what it means."""
    return (
        _build_rule("today tonight yesterday tomorrow this night", rf"(?P<day>{_NAMED}){_PART}", _named_day),
        _build_rule("other", r"the\s+other\s+(?:day|night|morning|evening)\b", _other_day),
        _build_rule("ago", rf"(?<![-\u2013]){_N}(?:{_UNIT}|{_DAY_NAME})s?\s+ago\b(?P<exact>\s+today\b)?", _resolve_ago),
        _build_rule(
            _UNITS,
            rf"in\s+(?:about\s+|another\s+)?{_N}{_UNIT}s?(?:['\u2019]?\s+time\b)?(?![-'\u2019\w])(?!\s+old)",
            _resolve_ahead,
        ),
        _build_rule("from", rf"{_N}{_UNIT}s?\s+from\s+(?:now|today)\b", _resolve_ahead),
        _build_rule(
            "last past next coming", rf"{_REL}\s+{_N}(?P<unit>day|week|month|year)s?\b(?!\s+of\b)", _resolve_unit_range
        ),
        _build_rule("last past next coming this", rf"{_REL}\s+{_LONG}\b(?!\s+of\b)", _resolve_calendar_unit),
        _build_rule("last next", rf"the\s+(?:{_LONG}|{_DAY_NAME})\s+(?P<rel>before\s+last|after\s+next)\b", _far_unit),
        _build_rule("weekend", r"(?:over|on|at|during|for)\s+the\s+weekend\b", _the_weekend),
        _build_rule(_DAY_NAMES, rf"(?:{_REL}\s+)?{_DAY_NAME}{_PART}{_OF_WEEK}{_DATE_AHEAD}", _resolve_weekday),
        _build_rule(
            _MONTH_NAMES,
            rf"{_MONTH}\.?\s+{_NUMBER}(?P<sure>st|nd|rd|th)?\b(?:,?\s+{_YEAR})?(?![:/%])",
            _resolve_month_day,
        ),
        _build_rule(
            _MONTH_NAMES,
            rf"{_NUMBER}(?:st|nd|rd|th)?\s+(?P<sure>of\s+)?{_MONTH}(?:\.?,?\s+{_YEAR})?",
            _resolve_month_day,
        ),
        _build_rule(_MONTH_NAMES, rf"{_WHICH}{_MONTH}(?:\.?,?\s+(?:of\s+)?{_YEAR}|(?={_THEN}))?", _by_month),
        _build_rule(
            " ".join(_SEASONS), rf"{_WHICH}(?P<season>{'|'.join(_SEASONS)})\b(?:\s+(?:of\s+)?{_YEAR})?", _resolve_season
        ),
        _build_rule("#", rf"{_YEAR}{_TO_YEAR}{_NO_NUMBER}", _resolve_year),
        _build_rule("#", rf"{_YEAR}[-/](?P<month>[0-9]{{1,2}})[-/]{_NUMBER}(?![0-9])", _resolve_iso_date),
    )


# --- when something is said to happen ---------------------------------------------------------------------------------


_POSSESSIVE: Final = re.compile("(?:['\u2019]s\\b)?")
_GROUNDED: Final = re.compile(r"\s*\([^()]*[0-9]{4}\)")
_DAYS_OF_A_MONTH: Final = 31
_DAYS_OF_A_YEAR: Final = 366
_WORD: Final = re.compile("[a-z]+")
_FOUR_DIGITS: Final = re.compile("[0-9]{4}")


def resolve_dates(text: str, said_at: datetime, tz: tzinfo = UTC) -> list[TimeRef]:
    """Return the times a text mentions, in order; ``said_at`` without a zone is UTC, days are those of ``tz``."""
    return _find_time_refs(text, said_at, tz, looks_back=False)


def annotate_relative_dates(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """Return the text with the date beside each relative phrase: "last week (week of 2 March 2026)"."""
    parts, at = [], 0
    for ref in resolve_dates(text, said_at, tz):
        end = _POSSESSIVE.match(text, ref.end).end()  # type: ignore[union-attr]  # it may be empty, so it matches
        if ref.relative and not _GROUNDED.match(text, end):
            parts.append(f"{text[at:end]} ({in_words(ref.first, ref.last, ref.grain)})")
            at = end
    return "".join(parts) + text[at:]


def dated_quote(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """Return a quotation with the day on which it was said, where its words will mean another time later."""
    if not any(ref.relative for ref in resolve_dates(text, said_at, tz)):
        return text
    return _SPEAKER_PREFIX.sub(rf"\1 on {_to_local_time(said_at, tz).date().isoformat()}:", text, count=1)


_SPEAKER_PREFIX: Final = re.compile(r"\b(said|asked):")
_PASSING: Final = re.compile(
    r"\b(?:currently|right now|at the moment|for now|until|till|these days|soon|plans? to|(?:is|are) going to|about to"
    r"|this (?:week|weekend|month|year|summer|winter|spring|autumn|fall|term|semester|season))\b",
    re.IGNORECASE,
)
_DATED: Final = re.compile(rf"\b(?:19|20)\d\d\b|\b(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)


def note_day(text: str, said_at: datetime, tz: tzinfo = UTC) -> str:
    """Return a memory with the day on which it was said, where it holds only around then and names no month or year."""
    if _DATED.search(text) or not _PASSING.search(text):
        return text
    day = _to_local_time(said_at, tz).date()
    return f"{text.rstrip('.')} (said on {day.day} {MONTHS[day.month - 1]} {day.year})."


def add_dates(text: str, said_at: datetime, tz: tzinfo = UTC, *, is_quote: bool = False) -> str:
    """Return a memory with the dates without which its words would mean something else when they are read later."""
    if is_quote:
        return dated_quote(text, said_at, tz)
    return note_day(annotate_relative_dates(text, said_at, tz), said_at, tz)


def date_words(refs: Iterable[TimeRef]) -> str:
    """Return the words by which the times can be searched for: "7 May 2023 Sunday 2023-05-07"."""
    return " ".join(dict.fromkeys(_search_words(ref) for ref in refs))


def query_range(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """Return from when (included) to when (excluded) a question asks about, in UTC; ``None`` if it names no time."""
    refs = _find_time_refs(query, now, tz, looks_back=True)
    if not refs:
        return None
    text = DatedText(query, _to_local_time(now, tz), looks_back=True)
    first, after = min(ref.first for ref in refs), max(ref.last for ref in refs) + timedelta(1)
    start, end = (datetime.combine(day, time.min, tz).astimezone(UTC) for day in (first, after))
    preposition = text.word_before(refs[0].start)
    if preposition in {"before", "until", "till"}:
        return datetime.min.replace(tzinfo=UTC), start
    if preposition == "after" and end < text.now:
        return end, text.now.astimezone(UTC)
    return start, end


def past_range(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """Return from when (included) to when (excluded) a question looks back; ``None`` if it names no past time."""
    refs = _find_time_refs(query, now, tz, looks_back=False)
    over = bool(refs) and max(ref.last for ref in refs) < _to_local_time(now, tz).date()
    return query_range(query, now, tz) if over else None


_ASKS: Final = re.compile(
    r"\?|^\W*(?:(?:so|and|ok|please|can you|could you),? ){0,2}(?:what|which|who|when|where|why|how|did|do|have|was"
    r"|were|tell|remind|show|list|recap|summari[sz]e)\b",
    re.IGNORECASE,
)


def asked_range(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """Return the same for a question; ``None`` where nothing is asked."""
    return past_range(query, now, tz) if _ASKS.search(query) else None


@cache
def _calendar_terms() -> frozenset[str]:
    more = "day week month year today yesterday last this past"
    return frozenset(query_terms(" ".join([*MONTHS, *WEEKDAYS, more])))


def count_other_words(query: str) -> int:
    """Return how many words of a question say something besides a date."""
    return sum(word not in _calendar_terms() and not any(map(str.isdigit, word)) for word in query_terms(query))


def asked_days(query: str, now: datetime, tz: tzinfo = UTC) -> tuple[str, list[str]]:
    """Return the days a question means without naming them ("yesterday", "last month"), as the full text holds them.

    Up to a month by its days, up to a year by its months, then by its years. The question comes back without those
    phrases: in what was said before, "yesterday" was another day. Of another language every phrase is one that does not
    name the days as the full text holds them; one that may lie ahead as well stays in the question.
    """
    named = find_named_times(query, _to_local_time(now, tz).date())
    if named:
        found = [day for one in named for day in _days_in(one.times[0])]
        certain = all(one.is_certain for one in named)
        return remove_times(query) if certain else query, list(dict.fromkeys(found))
    parts, days, at = [], list[str](), 0
    for ref in _find_time_refs(query, now, tz, looks_back=True):
        if ref.relative:
            days += _days_in(ref)
            parts.append(query[at : ref.start])
            at = ref.end
    return " ".join([*parts, query[at:]]), list(dict.fromkeys(days))


def _days_in(ref: TimeRef | Stretch) -> list[str]:
    days = (ref.last - ref.first).days + 1
    if days > _DAYS_OF_A_YEAR:
        return [f"{year:04}" for year in range(ref.first.year, ref.last.year + 1)[:_DAYS_OF_A_MONTH]]
    width = len("2023-05-07") if days <= _DAYS_OF_A_MONTH else len("2023-05")
    return list(dict.fromkeys((ref.first + timedelta(day)).isoformat()[:width] for day in range(days)))


def _to_local_time(moment: datetime, tz: tzinfo) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(tz)


def _rule_words(text: str) -> set[str]:
    """Return the words by which rules are chosen; "#" stands for a number that may be a year."""
    words = set(_WORD.findall(text.lower()))
    if _FOUR_DIGITS.search(text):
        words.add("#")
    return words


def _find_time_refs(text: str, said_at: datetime, tz: tzinfo, *, looks_back: bool) -> list[TimeRef]:
    words = _rule_words(text)
    if words.isdisjoint(_telling_words()):  # most texts
        return []
    dated_text = DatedText(text, _to_local_time(said_at, tz), looks_back)
    found = [
        ref
        for known, pattern, read in date_rules()
        if not words.isdisjoint(known)
        for match in pattern.finditer(text)
        if (ref := _build_time_ref(match, dated_text, read))
    ]
    refs: list[TimeRef] = []
    for ref in sorted(found, key=lambda ref: (ref.start, -ref.end)):
        if not refs or ref.start >= refs[-1].end:
            refs.append(ref)
    return refs


@cache
def _telling_words() -> frozenset[str]:
    """Return the words of which every text that mentions a time has one."""
    return frozenset[str]().union(*(known for known, _, _ in date_rules()))


def _build_time_ref(match: re.Match[str], text: DatedText, read: Reader) -> TimeRef | None:
    try:
        time = read(match, text)
    except (ValueError, OverflowError):  # the 31st of June, or ten thousand years ago
        return None
    if time is None or time.last.year >= MAXYEAR:
        return None
    since = text.word_before(match.start()) == "since" and time.first <= text.today
    last = text.today if since else time.last
    return TimeRef(match.start(), match.end(), time.first, last, time.grain, match[0], time.relative)


def _search_words(ref: TimeRef) -> str:
    exact = f" {WEEKDAYS[ref.first.weekday()]} {ref.first.isoformat()}" if ref.grain is Grain.DAY else ""
    return in_words(ref.first, ref.last, ref.grain) + exact


# --- words by which a day is found ------------------------------------------------------------------------------------


def day_terms(when: Instant) -> str:
    """Return the words a day is asked for by: "7 May 2023", "May 2023", "2023-05-07", "Sunday"."""
    return _day_terms(when[:10])


@lru_cache(maxsize=4096)
def _day_terms(day: str) -> str:
    said_on = datetime_from_instant(parse_when(day))
    month = MONTHS[said_on.month - 1].lower()
    text = f"{said_on.day} {month} {month[:3]} {said_on.year} {day[:7]} {day} {WEEKDAYS[said_on.weekday()]}"
    return " ".join(dict.fromkeys(document_terms(text)))
