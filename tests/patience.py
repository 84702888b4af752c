"""Waiting in tests: for something that comes about, and never for a time in which it should have.

How long that takes is the machine's affair, and a busy one takes its time. ``LONG`` only ends the wait for something
that will never come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

LONG: Final = 120.0
_FIRST: Final = 0.001
_LAST: Final = 0.05


def until(holds: Callable[[], object], seconds: float = LONG) -> None:
    """Wait until something holds."""
    end, step = time.monotonic() + seconds, _FIRST
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(step)
        step = min(step * 1.5, _LAST)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if this takes more of the processor; what others take of it does not count."""
    before = time.thread_time()
    yield
    assert time.thread_time() - before < seconds


async def until_awaited(holds: Callable[[], Awaitable[object]], seconds: float = LONG) -> None:
    """Wait until something holds that has to be awaited."""
    end, step = time.monotonic() + seconds, _FIRST
    while not await holds():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(step)
        step = min(step * 1.5, _LAST)
