"""Points in time, as UTC text of a fixed width.

An instant is UTC in one fixed-width ISO 8601 form, so that comparing the texts compares the times,
in Python, in SQL and in every index alike.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Final, TypeAlias

from memstone.errors import InvalidInput

Instant: TypeAlias = str
"""``2026-05-07T09:30:00.000000Z``"""

When: TypeAlias = "datetime | date | str"
"""What callers may pass: a datetime (naive means UTC), a day, or ISO 8601 text."""

_WIDTH: Final = len("2026-05-07T09:30:00.000000")


def to_instant(moment: datetime) -> Instant:
    """Return the canonical text of a datetime; one without a time zone means UTC."""
    utc = moment if moment.tzinfo is UTC or moment.tzinfo is None else moment.astimezone(UTC)
    return utc.isoformat(timespec="microseconds")[:_WIDTH] + "Z"


def datetime_from_instant(text: Instant) -> datetime:
    """Return the datetime of a canonical text."""
    return datetime.fromisoformat(text)


def parse_when(value: When, name: str = "date") -> Instant:
    """Return the canonical text of whatever a caller passed, or ``InvalidInput``."""
    if isinstance(value, datetime):
        return _to_valid_instant(value, name)
    if isinstance(value, date):
        return to_instant(datetime.combine(value, time.min, UTC))
    if isinstance(value, str):
        try:
            return _to_valid_instant(datetime.fromisoformat(value.strip()), name)
        except ValueError:
            pass
    raise InvalidInput(
        f"{name} is not a date: {value!r}",
        hint="pass a datetime or ISO 8601 text such as 2026-05-07T09:30:00Z; without a time zone it means UTC",
    )


def _to_valid_instant(value: datetime, name: str) -> Instant:
    try:
        return to_instant(value)
    except OverflowError as error:  # year 1 or 9999 moved across a zone
        raise InvalidInput(f"{name} is out of range: {value!r}") from error
