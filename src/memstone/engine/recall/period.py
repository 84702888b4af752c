"""Find the time a question is about: "in March", "last week", "el 14 de marzo".

Where one is named and certain, nothing of another time answers: rather nothing than what was said in other months.
Where it may as well lie ahead, because no verb was understood, what belongs to it answers if there is anything of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from memstone.engine.recall.ranking import Hit
from memstone.engine.runtime import Runtime
from memstone.language.language import DateReader
from memstone.language.text.calendars import NamedTime, find_named_times, looks_ahead
from memstone.language.text.dates import Stretch
from memstone.language.text.questions import begins_as_question
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import Record
from memstone.model.message import MARKS
from memstone.model.query import And, Condition, Op

ANOTHER_TIME: Final = "of another time"
_EARLIEST: Final = datetime(2, 1, 1, tzinfo=UTC)  # every zone has this day


@dataclass(frozen=True, slots=True)
class Period:
    """From when, included, to when, excluded."""

    start: datetime
    end: datetime
    zone: tzinfo
    dates: DateReader
    ahead: tuple[Stretch, ...] = ()
    """What may be meant instead: the next such days or months."""

    @property
    def is_certain(self) -> bool:
        """Whether nothing but this time can be meant."""
        return not self.ahead

    @property
    def time_filter(self) -> And:
        """What was said in it."""
        return And(
            (
                Condition("occurred_at", Op.GTE, to_instant(self.start)),
                Condition("occurred_at", Op.LT, to_instant(self.end)),
            )
        )

    def holds(self, record: Record) -> bool:
        """Return whether a memory was said in it, or mentions it."""
        said_at = datetime_from_instant(record.occurred_at)
        if self.start <= said_at < self.end:
            return True
        first, last = (when.astimezone(self.zone).date() for when in (self.start, self.end - timedelta(seconds=1)))
        wanted = [(first, last), *((one.first, one.last) for one in self.ahead)]
        return any(
            begin <= to and since <= end for begin, end in self._times_in(record.text, said_at) for since, to in wanted
        )

    def _times_in(self, text: str, said_at: datetime) -> list[tuple[date, date]]:
        """Return the times that a text mentions, in whichever language."""
        named = find_named_times(text, said_at.astimezone(self.zone).date())
        found = [(one.first, one.last) for ref in named for one in ref.times]
        return found + [(ref.first, ref.last) for ref in self.dates.find(text, said_at, self.zone)]


def asked_period(runtime: Runtime, query: str, at: Instant) -> Period | None:
    """Return the time that a question looks back to; None if it names none, or nothing is asked."""
    now, dates = datetime_from_instant(at), runtime.language.dates
    today = now.astimezone(runtime.zone).date()
    if named := find_named_times(query, today):
        asks = any(mark in query for mark in MARKS) or begins_as_question(query)
        return _named_period(named, query, today, runtime.zone, dates) if asks else None
    found = dates.find_asked_range(query, now, runtime.zone)
    return None if found is None else Period(max(found[0], _EARLIEST), found[1], runtime.zone, dates)


def _named_period(
    named: Sequence[NamedTime], query: str, today: date, zone: tzinfo, dates: DateReader
) -> Period | None:
    """Return the time that another language names; None if it is not over, or a question asks for what is to come."""
    past, certain = [one.times[0] for one in named], all(one.is_certain for one in named)
    first, last = min(one.first for one in past), max(one.last for one in past)
    if last >= today or (not certain and any(looks_ahead(query, one.language) for one in named)):
        return None
    start, end = (datetime.combine(day, time.min, zone).astimezone(UTC) for day in (first, last + timedelta(1)))
    ahead = () if certain else tuple(one.times[-1] for one in named)
    return Period(max(start, _EARLIEST), end, zone, dates, ahead)


def within_period(period: Period, own: list[Hit], others: list[Hit]) -> list[Hit]:
    """Return what was said in a period, and of what was said at other times what mentions it.

    Where the period is not certain and there is nothing of it, everything that was found.
    """
    known = {scored.seq for _, scored in own}
    found = [*own, *(hit for hit in others if hit[1].seq not in known and period.holds(hit[0].record))]
    return found if found or period.is_certain else others
