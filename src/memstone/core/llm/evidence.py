"""Whether a conversation bears out what a model says of it: verified, doubtful, or nothing to do with it.

The quote is looked for in the turns that the model names, then in those beside them, then everywhere, and a typo that
the model has mended does no harm. What is found counts unless something speaks against it: a number that nobody said,
the opposite of what was said, somebody else's affairs, a name out of nothing. All of it works in any language; where a
list of words is needed, it holds those of several, and what it does not know speaks for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Final
from unicodedata import decimal

from memstone.core.llm.questions import (
    begins_in_another,
    clause_at,
    is_denied,
    is_of_the_speaker,
    parts_of,
    unsaid_names,
)
from memstone.core.rules.own_prose import is_english
from memstone.core.talk.transcript import Source, content_terms
from memstone.core.temporal.dates import resolve_dates
from memstone.core.text.analyze import document_terms
from memstone.model.message import Message

# --- numbers that a model wrote and nobody said; a date may have been counted, and an hour told in --------------------


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


def unsaid_numbers(text: str, said: str, now: datetime, near: str = "") -> list[str]:
    """The numbers of a text that stand in nothing that was said and do not follow from it.

    ``near`` are the turns that a statement comes from: what is there in digits is what its dates were counted from.
    """
    told = _Told(said, now, near or said)
    missing: list[str] = []
    rest = _with_dates(_to_ascii_digits(text), now)
    used = {int(found[3] or 0) for found in _ISO.finditer(rest)}
    for found in _ISO.finditer(rest):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
        if not told.has_date(year, month, day, used):
            missing.append(found[0])
    rest = _ISO.sub(" ", rest)
    missing += [one[0] for one in _CLOCK.finditer(rest) if not told.has_time(int(one[1]), int(one[2]))]
    rest = _CLOCK.sub(" ", rest)
    return [*missing, *(shown for shown, value in _find_numbers(rest) if not told.has(value))]


class _Told:
    """The numbers of a conversation."""

    def __init__(self, said: str, now: datetime, near: str) -> None:
        self._text = _to_ascii_digits(said)
        self._now = now
        self._named_days = {int(next(filter(None, found))) for found in _NAMED_DAY.findall(_to_ascii_digits(near))}
        self._near = {value for _, value in _find_numbers(_to_ascii_digits(near))}
        self._spans = {value for _, value in _find_numbers(_ORDINAL.sub(" ", _to_ascii_digits(near)))}
        self._all = {value for _, value in _find_numbers(self._text)} | set(_in_words(self._text))
        self._digits = frozenset(re.findall(r"\d+", self._text))
        self._knows_words = is_english(said)

    def has(self, value: float) -> bool:
        """Whether a number was said, in digits or in words, or follows as a year."""
        if value in self._all or (value.is_integer() and str(int(value)) in self._digits):
            return True
        if value in _YEARS and self._has_year(int(value)):
            return True
        unread = not self._near and not self._knows_words
        return unread and value <= _FEW

    def has_time(self, hour: int, minute: int) -> bool:
        """Whether a time of day was said, by either clock."""
        if hour > 2 * _NOON:
            return False
        hours = {hour, hour - _NOON, hour + 1, hour + 1 - _NOON} if minute in _MINUTES else {hour, hour - _NOON}
        told = any(self.has(float(one)) for one in hours if one >= 0)
        return told and (minute in _MINUTES or self.has(float(minute)))

    def has_date(self, year: int, month: int, day: int, used: set[int]) -> bool:
        """Whether a date was said, in full or in part, or may have been counted from the day of the conversation.

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
        return frozenset((ref.first, ref.last) for ref in resolve_dates(self._text, self._now))


def _with_dates(text: str, now: datetime) -> str:
    """The text with the dates that it writes out in the one form YYYY-MM-DD."""

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
    """The text with its digits as 0 to 9, whatever the script."""
    if text.isascii():
        return text
    return "".join(str(decimal(char)) if char.isdecimal() else char for char in text)


# --- whether a conversation bears out what a model says of it ---------------------------------------------------------


NUMBER: Final = "it has a number that nobody said"
OPPOSITE: Final = "the opposite was said"
SOMEBODY_ELSE: Final = "it was said of somebody else"
NAME: Final = "it has a name that nobody said"
NO_QUOTE: Final = "its quote is not in the conversation"
NOTHING: Final = "it shares nothing with the conversation"

_SPOKEN: Final = ("user", "assistant")
_SUBJECTS: Final = ("user", "agent", "assistant", "users")
_ALIKE: Final = 0.7
"""So much of a quote has to stand together to be found."""

_LONG: Final = 6
"""A quote of fewer characters is found letter by letter or not at all."""

_MOST: Final = 0.5
"""So many words of a statement without a quote have to stand in a turn that is to show it."""

_SAME: Final = 0.8
"""A sentence that has so many words of a statement speaks of the same."""

_SAID: Final = 0.6
"""So many words of a new wording have to stand in what it is made of."""

_PREFIX: Final = 4
_KINDRED: Final = 0.6


@dataclass(frozen=True, slots=True)
class Support:
    """Turn number ``turn``, counted from 1, from ``start`` to ``end``; ``doubt`` is what speaks against it, if any."""

    turn: int
    start: int
    end: int
    doubt: str = ""


@dataclass(frozen=True)
class Conversation:
    """Turns that a model's answer is held against; system and tool text is never evidence.

    ``before`` was said earlier and ``known`` is remembered: neither is where a statement was said, but names and
    numbers may come from there. ``now`` is when the conversation took place.
    """

    turns: Sequence[Message]
    before: Sequence[Message] = ()
    known: Sequence[str] = ()
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    withheld: Sequence[str] = ()

    def support(self, fact: str, quote: str, named: Sequence[int] = (), *, about_user: bool = True) -> Support | None:
        """Where a statement was said and what speaks against it; None when it shares nothing with the conversation."""
        place = self.place(fact, quote, named)
        if place is None:
            if not self._shares(fact):
                return None
            at = self.carrier(named)
            return Support(at, 0, len(self.turns[at - 1].text), NO_QUOTE) if at else None
        number, start, end = place
        return Support(number, start, end, self._doubt(fact, place, named, about_user=about_user))

    def is_withheld(self, fact: str) -> bool:
        """Whether a statement has words that stand nowhere but in what was withheld from the model."""
        hidden = (
            frozenset(term for text in self.withheld for term in document_terms(text)) if self.withheld else frozenset()
        )
        return any(
            one in hidden and not _is_term_in(one, self._all.terms) for one in content_terms(fact, self._subjects)
        )

    def place(self, fact: str, quote: str, named: Sequence[int] = ()) -> tuple[int, int, int] | None:
        """The turn, the start and the end of the words that say it: of the quote, else of the statement's own words."""
        return self._find_quote(quote, named) or self._find_by_words(fact, named)

    def carrier(self, named: Sequence[int]) -> int:
        """The turn that a statement is put down to whose words stand elsewhere; 0 when nobody spoke."""
        near = [one for one in self._near(named) if one in named]
        users = [one for one in self._spoken_turn_numbers if self.turns[one - 1].role == "user"]
        return next(iter([*near, *reversed(users), *reversed(self._spoken_turn_numbers)]), 0)

    def bears_out(self, text: str, *more: str) -> bool:
        """Whether a new wording says nothing but what is known, what was said, and ``more``."""
        source = Source("\n".join([*more, self._all.text]))
        wanted = content_terms(text, self._subjects)
        said = [one for one in wanted if _is_term_in(one, source.terms)]
        if unsaid_numbers(text, source.text, self.now, near=self._spoken_source.text or source.text):
            return False
        return not wanted or len(said) >= _SAID * len(wanted)

    # --- where it stands ----------------------------------------------------------------------------------------------

    def _find_quote(self, quote: str, named: Sequence[int]) -> tuple[int, int, int] | None:
        """The quote in a turn that is named or beside one, else in any; for what was said before a turn stands in."""
        near = self._near(named)
        for numbers in (near, [one for one in self._spoken_turn_numbers if one not in near]):
            found = self._exactly(quote, numbers) or self._almost(quote, numbers)
            if found is not None:
                return found
        earlier = Source("\n".join(message.text for message in self.before))
        at = self.carrier(named)
        if at and _is_in(quote, earlier):
            return at, 0, len(self.turns[at - 1].text)
        return None

    def _exactly(self, quote: str, numbers: Iterable[int]) -> tuple[int, int, int] | None:
        for number in numbers:
            span = self._sources[number].find(quote)
            if span is not None:
                return number, *span
        return None

    def _almost(self, quote: str, numbers: Iterable[int]) -> tuple[int, int, int] | None:
        if len(quote) < _LONG:
            return None
        found = [(*self._sources[number].nearest(quote), number) for number in numbers]
        score, start, end, number = max(found, key=lambda one: one[0], default=(0.0, 0, 0, 0))
        return (number, start, end) if score >= _ALIKE else None

    def _find_by_words(self, fact: str, named: Sequence[int]) -> tuple[int, int, int] | None:
        """The turn that has most words of a statement, if it has enough of them."""
        wanted = content_terms(fact, self._subjects)
        near = self._near(named)
        best: tuple[float, int] = (0.0, 0)
        for number in [*near, *(one for one in self._spoken_turn_numbers if one not in near)]:
            share = _matched_share(wanted, self._sources[number].terms)
            if share > best[0]:
                best = share, number
        if best[0] < _MOST:
            return None
        span = self._sources[best[1]].locate(wanted) or (0, len(self.turns[best[1] - 1].text))
        return best[1], *span

    def _near(self, named: Sequence[int]) -> list[int]:
        """The turns that are named, then those beside them; what the user said comes before the assistant's words."""
        spoken = set(self._spoken_turn_numbers)
        own = [one for one in named if one in spoken]
        own.sort(key=lambda one: self.turns[one - 1].role != "user")
        beside = [at for one in own for at in (one - 1, one + 1) if at in spoken]
        return list(dict.fromkeys([*own, *beside]))

    # --- what speaks against it ---------------------------------------------------------------------------------------

    def _doubt(self, fact: str, place: tuple[int, int, int], named: Sequence[int], *, about_user: bool) -> str:
        number, start, end = place
        turn = self.turns[number - 1].text
        clause = clause_at(turn, start, end)
        if unsaid_numbers(fact, self._all.text, self.now, near="\n".join(self._words_near(number, named))):
            return NUMBER
        if self._is_opposite(fact, clause):
            return OPPOSITE
        if about_user and self._is_of_another(fact, clause, self.turns[number - 1].role):
            return SOMEBODY_ELSE
        return NAME if unsaid_names(fact, self._all.text, self._subjects) else ""

    def _is_of_another(self, fact: str, clause: str, role: str) -> bool:
        said = self._closest(fact, clause)
        if role == "assistant":
            return any(map(is_of_the_speaker, said))
        return all(begins_in_another(fact, part, clause) for part in said)

    def _closest(self, fact: str, clause: str) -> list[str]:
        """The parts of a stretch of text that have most words of a statement."""
        wanted = content_terms(fact, [*self._subjects, *_DENIALS])
        shares = [(part, _matched_share(wanted, frozenset(document_terms(part)))) for part in parts_of(clause)]
        most = max((share for _, share in shares), default=0.0)
        return [part for part, share in shares if share == most > 0] or [clause]

    def _words_near(self, number: int, named: Sequence[int]) -> Iterator[str]:
        return (self.turns[one - 1].text for one in self._near([number, *named]))

    def _is_opposite(self, fact: str, clause: str) -> bool:
        """Whether the parts of a clause that speak of the same deny what is stated, or state what is denied."""
        wanted = content_terms(fact, [*self._subjects, *_DENIALS])
        if not wanted or _matched_share(wanted, frozenset(document_terms(clause))) < _SAME:
            return False
        own = {is_denied(part) for part in parts_of(fact)}
        return len(own) == 1 and own != {any(map(is_denied, self._closest(fact, clause)))}

    def _shares(self, fact: str) -> bool:
        wanted = content_terms(fact, self._subjects)
        return any(_is_term_in(one, self._spoken_source.terms) for one in wanted)

    # --- what was said ------------------------------------------------------------------------------------------------

    @cached_property
    def _spoken_turn_numbers(self) -> list[int]:
        told = ((at, turn) for at, turn in enumerate(self.turns, 1) if turn.role in _SPOKEN and turn.text.strip())
        return [at for at, _ in sorted(told, key=lambda one: one[1].role != "user")]

    @cached_property
    def _sources(self) -> dict[int, Source]:
        return {at: Source(self.turns[at - 1].text) for at in self._spoken_turn_numbers}

    @cached_property
    def _spoken_source(self) -> Source:
        said = [self.turns[at - 1].text for at in self._spoken_turn_numbers]
        return Source("\n".join([*said, *(message.text for message in self.before)]))

    @cached_property
    def _all(self) -> Source:
        names = [message.name for message in (*self.turns, *self.before) if message.name]
        return Source("\n".join([self._spoken_source.text, *self.known, *names]))

    @cached_property
    def _subjects(self) -> list[str]:
        """Words for those who speak: they stand in the fact and not in what was said."""
        return [*_SUBJECTS, *(turn.name for turn in self.turns if turn.name)]


def is_comparable(text: str, said: str) -> bool:
    """Whether a text has anything in common with what was said; in another script nobody can tell, and it may."""
    wanted, heard = content_terms(text, _SUBJECTS), Source(said).terms
    if any(_is_term_in(one, heard) for one in wanted):
        return True
    return not wanted or (bool(heard) and _is_latin(wanted) != _is_latin(heard))


def _is_latin(words: Iterable[str]) -> bool:
    letters = [char for word in words for char in word if char.isalpha()]
    return sum(char < _GREEK for char in letters) * 2 > len(letters)


_GREEK: Final = "\u0370"
_DENIALS: Final = ("not", "no", "never", "doesn't", "don't", "isn't", "longer", "anymore", "nicht", "kein", "keine")


def _is_in(quote: str, source: Source) -> bool:
    return source.find(quote) is not None or (len(quote) >= _LONG and source.nearest(quote)[0] >= _ALIKE)


def _matched_share(wanted: frozenset[str], said: frozenset[str]) -> float:
    return sum(_is_term_in(one, said) for one in wanted) / len(wanted) if wanted else 0.0


def _is_term_in(term: str, said: frozenset[str]) -> bool:
    """Whether a word was said, in this form or in another one of the same stem."""
    if term in said:
        return True
    if len(term) < _PREFIX or not term[0].isalpha():
        return False
    stem = term[:_PREFIX]
    return any(one.startswith(stem) and _is_kindred(term, one) for one in said)


def _is_kindred(one: str, other: str) -> bool:
    shared = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared >= _KINDRED * min(len(one), len(other))
