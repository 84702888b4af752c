"""What tasks wait for on an event loop: locks, bells, and several steps at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Left(BaseException):
    """Whoever asked for something has gone."""


@dataclass(slots=True)
class Section:
    """Several steps as one unit on a thread; between two of them it ends when nobody waits for it any more."""

    left: bool = False

    def step(self, work: Callable[[], T]) -> T:
        """Do the next step here and now."""
        if self.left:
            raise Left
        return work()


def settle(end: asyncio.Future[None]) -> None:
    """Wake whoever waits for a future, unless it was woken before."""
    if not end.done():
        end.set_result(None)


class LoopLock(AbstractAsyncContextManager[None]):
    """A lock between the tasks of a loop; each loop that uses it gets its own."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def _of_this_loop(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def __aenter__(self) -> None:
        await self._of_this_loop().acquire()

    async def __aexit__(self, *_: object) -> None:
        self._of_this_loop().release()


class LoopBell:
    """A bell between tasks, whichever loop they run on; may be rung from any thread."""

    def __init__(self) -> None:
        self._rung = False
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        self._rung = True
        for waiting in list(self._waiting):
            with suppress(RuntimeError):  # its loop is closed: nobody waits
                waiting.get_loop().call_soon_threadsafe(settle, waiting)

    async def wait(self, seconds: float) -> bool:
        woken = asyncio.get_running_loop().create_future()
        self._waiting.add(woken)
        try:
            if not self._rung:
                await asyncio.wait([woken], timeout=max(0.0, seconds))
        finally:
            self._waiting.discard(woken)
        was_rung, self._rung = self._rung or woken.done(), False
        return was_rung
