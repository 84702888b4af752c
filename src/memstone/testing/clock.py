"""A clock that moves only when a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Says the time it was set to; a time without a zone means UTC."""

    def __init__(self, start: datetime = START) -> None:
        self._now = _to_utc(start)

    def now(self) -> datetime:
        """Return the time it was set to, aware, in UTC."""
        return self._now

    def set(self, moment: datetime) -> None:
        """Jump, forwards or back."""
        self._now = _to_utc(moment)

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
        """Move on by some time and say what time it is then."""
        self._now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self._now


def _to_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
