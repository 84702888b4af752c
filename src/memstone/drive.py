"""Run a coroutine that never suspends, without an event loop.

This is what makes one core serve both interfaces: with the blocking ``Io`` every ``await`` returns at once,
so one ``send(None)`` carries a coroutine from its first line to its last.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from memstone.errors import NeedsEventLoop

T = TypeVar("T")


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that does not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        coroutine.close()
    name = getattr(coroutine, "__qualname__", "a call")
    raise NeedsEventLoop(f"{name} needs an event loop")


def drive_iter(iterator: AsyncIterator[T]) -> Iterator[T]:
    """Yield the items of an asynchronous iterator that does not suspend."""
    try:
        while True:
            try:
                yield drive(_await_next(iterator))
            except StopAsyncIteration:
                return
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            drive(close())


async def _await_next(iterator: AsyncIterator[T]) -> T:
    return await anext(iterator)
