"""Remember services that fail, so that they are not asked twice for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

SECONDS: Final = 30.0
_MOST: Final = 1_000


class Outages:
    """Who failed at a request with memory and at the same one without it, and until when that is held against them."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until: dict[Hashable, float] = {}

    def of(self, whom: Hashable) -> ModelOutage:
        """Return what is known about somebody."""
        return ModelOutage(self, whom)

    def begins(self, whom: Hashable) -> None:
        """Note that somebody fails, and not because of memory.

        Callers name models as they like, so not all are kept.
        """
        now = self._now()
        self._until.pop(whom, None)
        stored = {one: until for one, until in self._until.items() if until > now}
        while len(stored) >= _MOST:
            del stored[next(iter(stored))]
        self._until = {**stored, whom: now + SECONDS}

    def ends(self, whom: Hashable) -> None:
        """Note that somebody has answered."""
        self._until.pop(whom, None)

    def has(self, whom: Hashable) -> bool:
        """Return whether somebody failed so a moment ago, and has not answered since."""
        return self._until.get(whom, 0.0) > self._now()


@dataclass(frozen=True, slots=True)
class ModelOutage:
    """The same for those who run one model."""

    known: Outages
    whom: Hashable

    @property
    def is_on(self) -> bool:
        """Whether they fail at everything."""
        return self.known.has(self.whom)

    def begins(self) -> None:
        """Note that they fail, and not because of memory."""
        self.known.begins(self.whom)

    def ends(self) -> None:
        """Note that they have answered."""
        self.known.ends(self.whom)
