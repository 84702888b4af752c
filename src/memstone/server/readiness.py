"""Whether the store can be written: tried now and then, however often somebody asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from memstone.errors import MemstoneError, StorageBusy
from memstone.server.gateway.tasks import Tasks
from memstone.server.observe import log

_EVERY: Final = 10.0
_PATIENCE: Final = 2.0
_LONG: Final = 60.0
"""So long others may hold the store: a backup or an erasure of much takes its time, and is no outage."""


class WriteCheck:
    """Knows why the store cannot be written, as of the last try; None while it can."""

    def __init__(
        self, attempt: Callable[[], Awaitable[None]], tasks: Tasks, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._attempt, self._tasks, self._now = attempt, tasks, now
        self._trying: asyncio.Task[str | None] | None = None
        self._next = now()
        self._waits_since: float | None = None
        self._reason: str | None = None

    async def reason(self) -> str | None:
        """The reason, after another try where the last is a while ago. Whoever asks waits for it, but not for long."""
        if self._trying is None and self._now() >= self._next:
            self._trying = self._tasks.start(failure_of(self._attempt()))
            self._waits_since = self._now() if self._waits_since is None else self._waits_since
        if self._trying is not None:
            await asyncio.wait([self._trying], timeout=_PATIENCE)
            self._take_result()
        if self._waits_since is not None and self._now() - self._waits_since > _LONG:
            return StorageBusy.code
        return self._reason

    def _take_result(self) -> None:
        if self._trying is None or not self._trying.done():
            return
        reason = "store" if self._trying.cancelled() else self._trying.result()
        self._trying, self._next = None, self._now() + _EVERY
        if reason != StorageBusy.code:
            self._reason, self._waits_since = reason, None


async def failure_of(attempt: Awaitable[Any]) -> str | None:
    """Why an attempt failed, in a word; None if it did not."""
    try:
        await attempt
    except TimeoutError:
        return "store_timeout"
    except MemstoneError as error:
        return error.code
    except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
        log.warning("ready.failed", kind=type(error).__name__)
        return "store"
    return None
