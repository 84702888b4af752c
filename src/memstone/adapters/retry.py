"""Repeat a request after failures that may pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from memstone.backoff import MAX_WAIT_SECONDS, retry_pause
from memstone.errors import BackendUnavailable, MemstoneError, RateLimited
from memstone.ports.io import Io

T = TypeVar("T")


async def with_retry(io: Io, call: Callable[[], Awaitable[T]], *, retries: int = 3, base: float = 1.0) -> T:
    """Return the result of ``call``, tried up to ``retries`` times more.

    Only errors that say ``retryable`` are tried again: rate limits, time-outs, a service that is down.
    Waits ``base`` seconds, doubled each time, a little longer by chance, and never less than the provider asked for;
    whoever asks for more than a minute is not tried again. The last error rises as it is.
    """
    for attempt in range(retries):
        try:
            return await call()
        except MemstoneError as error:
            asked = _requested_delay(error)
            if not error.retryable or (asked or 0.0) > MAX_WAIT_SECONDS:
                raise
        await io.sleep(retry_pause(attempt, base=base, asked=asked))
    return await call()


def _requested_delay(error: MemstoneError) -> float | None:
    """Return how many seconds the provider wants to be left alone."""
    return error.retry_after if isinstance(error, (BackendUnavailable, RateLimited)) else None
