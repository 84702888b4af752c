"""What to do while an embedding service is down: not to ask it, so that nobody waits for it in vain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from memstone.errors import BackendTimeout, BackendUnavailable, MemstoneError

OPEN_AFTER: Final = 4
COOL_DOWN_SECONDS: Final = 30.0


class Outage:
    """After ``OPEN_AFTER`` attempts in vain with no answer between them, nobody is asked for ``COOL_DOWN_SECONDS``.

    Only calls that were given up count, each with all its attempts: one with the usual retries is enough, and so is one
    that waited until its time was over. Then one call is let through, with a single attempt; if it is answered all is
    well again, if not the pause starts anew. Safe to share between threads: two that go through at once do no harm.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._last_failure = ""
        self._closed_until: float | None = None

    def admit(self, source: str) -> bool:
        """Whether this call tries a service that was down; ``BackendUnavailable`` while it may not be asked."""
        if self._closed_until is None:
            return False
        if self._clock() < self._closed_until:
            hint = f"it is asked again in {COOL_DOWN_SECONDS:.0f} s at most; the last failure was {self._last_failure}"
            raise BackendUnavailable(f"{source} is down and not asked now", kind="embedder", name=source, hint=hint)
        self._closed_until = self._clock() + COOL_DOWN_SECONDS  # for all others
        return True

    def given_up(self, error: MemstoneError, attempts: int) -> None:
        """A call ended with this error; one that trying again would not help is an answer like any other."""
        if not error.retryable:
            self.answered()
            return
        self._failures += max(attempts, OPEN_AFTER) if isinstance(error, BackendTimeout) else attempts
        self._last_failure = error.code
        if self._failures >= OPEN_AFTER:
            self._closed_until = self._clock() + COOL_DOWN_SECONDS

    def answered(self) -> None:
        """The service is there."""
        self._failures, self._closed_until = 0, None
