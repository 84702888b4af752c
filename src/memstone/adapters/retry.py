"""Trying again what may work a moment later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from memstone.errors import MemstoneError, RateLimited
from memstone.ports.io import Io

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_WAIT_SECONDS: Final = 60.0


async def with_retry(io: Io, call: Callable[[], Awaitable[T]], *, retries: int = 3, base: float = 1.0) -> T:
    """The result of ``call``, tried up to ``retries`` times more.

    Only errors that say ``retryable`` are tried again: rate limits, time-outs, a service that is down.
    Waits ``base`` seconds, doubled each time, and never less than the provider asked for (a minute at
    most). The last error rises as it is.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    async def attempt() -> T:
        return await call()

    # With a sleep of its own tenacity never touches an event loop, so this also runs under ``drive``.
    retrying = AsyncRetrying(
        sleep=io.sleep,
        stop=stop_after_attempt(retries + 1),
        wait=lambda state: _pause(state, base),
        retry=retry_if_exception(_is_passing),
        reraise=True,
    )
    result: T = await retrying(attempt)
    return result


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, MemstoneError) and error.retryable


def _pause(state: RetryCallState, base: float) -> float:
    backoff = base * 2.0 ** (state.attempt_number - 1)
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, RateLimited) else None
    return min(MAX_WAIT_SECONDS, max(backoff, asked or 0.0))
