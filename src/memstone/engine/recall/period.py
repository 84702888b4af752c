"""The time that a question looks back to: "in March", "last week", "yesterday".

Where one is named, nothing of another time answers: rather nothing than what was said in other months.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from memstone.engine.recall.ranking import Hit
from memstone.engine.runtime import Parts
from memstone.language.language import DateReader
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import Record
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

    @property
    def said(self) -> And:
        """What was said in it."""
        return And(
            (
                Condition("occurred_at", Op.GTE, to_instant(self.start)),
                Condition("occurred_at", Op.LT, to_instant(self.end)),
            )
        )

    def holds(self, record: Record) -> bool:
        """Tell whether a memory was said in it, or speaks of it."""
        said_at = datetime_from_instant(record.occurred_at)
        if self.start <= said_at < self.end:
            return True
        first, last = (when.astimezone(self.zone).date() for when in (self.start, self.end - timedelta(seconds=1)))
        refs = self.dates.find(record.text, said_at, self.zone)
        return any(ref.first <= last and first <= ref.last for ref in refs)


def asked_period(parts: Parts, query: str, at: Instant) -> Period | None:
    """Return the time that a question looks back to; None if it names none, or nothing is asked."""
    dates = parts.language.dates
    found = dates.find_asked_range(query, datetime_from_instant(at), parts.zone)
    return None if found is None else Period(max(found[0], _EARLIEST), found[1], parts.zone, dates)


def within_period(period: Period, own: list[Hit], others: list[Hit]) -> list[Hit]:
    """Return what was said in a period, and of what was said at other times what speaks of it."""
    known = {scored.seq for _, scored in own}
    return [*own, *(hit for hit in others if hit[1].seq not in known and period.holds(hit[0].record))]
