"""The time, injected so that tests and imports can set it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Says what time it is."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...
