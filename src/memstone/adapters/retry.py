"""Trying again what may work a moment later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from memstone.backoff import MAX_WAIT_SECONDS, retry_pause
from memstone.errors import BackendUnavailable, MemstoneError, RateLimited
from memstone.ports.io import Io

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


async def with_retry(io: Io, call: Callable[[], Awaitable[T]], *, retries: int = 3, base: float = 1.0) -> T:
    """Return the result of ``call``, tried up to ``retries`` times more.

    Only errors that say ``retryable`` are tried again: rate limits, time-outs, a service that is down.
    Waits ``base`` seconds, doubled each time, a little longer by chance, and never less than the provider asked for;
    whoever asks for more than a minute is not tried again. The last error rises as it is.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    async def attempt() -> T:
        return await call()

    # With a sleep of its own tenacity never touches an event loop, so this also runs under ``drive``.
    retrying = AsyncRetrying(
        sleep=io.sleep,
        stop=lambda state: state.attempt_number > retries or _asks_for_too_long(state),
        wait=lambda state: _pause_seconds(state, base),
        retry=retry_if_exception(_is_passing),
        reraise=True,
    )
    result: T = await retrying(attempt)
    return result


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, MemstoneError) and error.retryable


def _asks_for_too_long(state: RetryCallState) -> bool:
    return (_requested_delay(state) or 0.0) > MAX_WAIT_SECONDS


def _pause_seconds(state: RetryCallState, base: float) -> float:
    return retry_pause(state.attempt_number - 1, base=base, asked=_requested_delay(state))


def _requested_delay(state: RetryCallState) -> float | None:
    """Return how many seconds the provider wants to be left alone."""
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, (BackendUnavailable, RateLimited)) else None
