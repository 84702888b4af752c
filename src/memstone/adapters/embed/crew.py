"""Pieces of one job done at the same time, by the caller and a few threads that are kept for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Crew:
    """At most ``size`` at work for one job, the caller among them; the threads start with the first that needs them.

    The caller never waits for a thread that is busy elsewhere: what nobody takes, it does itself.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
        """What ``work`` makes of each piece, in their order. Where one fails, those not begun are left undone."""
        if self._size == 1 or len(pieces) == 1:
            return [work(piece) for piece in pieces]
        done: dict[int, R] = {}
        # The last first: where pieces grow, the large ones then do not come when the others have nothing left to do.
        todo = deque(enumerate(pieces))

        def take() -> None:
            try:
                while (taken := _last(todo)) is not None:
                    place, piece = taken
                    done[place] = work(piece)
            except BaseException:
                todo.clear()
                raise

        helpers = self._helpers(take, min(self._size, len(pieces)) - 1)
        try:
            take()
        finally:
            begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.result()
        return [done[place] for place in range(len(pieces))]

    def _helpers(self, work: Callable[[], None], count: int) -> list[Future[None]]:
        """Fewer than asked for, or none, while the interpreter shuts down: it starts no threads any more."""
        helpers: list[Future[None]] = []
        with suppress(RuntimeError):
            for _ in range(count):
                helpers.append(self._pool().submit(work))  # noqa: PERF401 - those begun count if a later one fails
        return helpers

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._size - 1, thread_name_prefix="memstone-embed")
            return self._threads


def _last(todo: deque[T]) -> T | None:
    """Asking first whether one is left would be too early: others take from there too."""
    try:
        return todo.pop()
    except IndexError:
        return None
