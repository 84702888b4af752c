"""Connections for reading, shared by any number of threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from memstone.adapters.ledger.sqlite_connection import Connection

T = TypeVar("T")
_IDLE: Final = 16
"""How many connections wait open for the next reader."""


class Readers:
    """Lends connections, one to a thread at a time; one that met an error is closed, not lent again."""

    def __init__(self, fresh: Callable[[], Connection]) -> None:
        self._fresh = fresh
        self._lock = threading.Lock()
        self._change = threading.Condition(self._lock)
        self._idle: deque[Connection] = deque()
        self._lent = 0
        self._resting = False
        self._closed = False

    @property
    def idle(self) -> int:
        """How many connections are open and not in use."""
        return len(self._idle)

    @property
    def lent(self) -> int:
        """How many connections are in use."""
        return self._lent

    def use(self, work: Callable[[Connection], T]) -> T:
        """The result of work on a connection nobody else uses meanwhile."""
        connection = self._take()
        try:
            connection = connection or self._fresh()
            value = work(connection)
        except BaseException:
            self._return(connection, broken=True)
            raise
        self._return(connection)
        return value

    def _take(self) -> Connection | None:
        with self._lock:  # the lock of the condition itself: every read takes it twice
            while self._resting:
                self._change.wait()
            self._lent += 1
            return self._idle.pop() if self._idle else None

    def _return(self, connection: Connection | None, *, broken: bool = False) -> None:
        if connection is not None and (broken or self._closed or len(self._idle) >= _IDLE):
            connection.close()
            connection = None
        with self._lock:
            self._lent -= 1
            if connection is not None:
                self._idle.append(connection)
            if self._resting:
                self._change.notify_all()
        if self._closed:  # while the lines above ran
            self.close()

    def rest(self, seconds: float) -> bool:
        """Lend nothing more, wait for what is lent and close the idle; False when that took too long."""
        with self._change:
            self._resting = True
            quiet = self._change.wait_for(lambda: not self._lent, seconds)
        self._close_idle()
        return quiet

    def resume(self) -> None:
        """Lend again."""
        with self._change:
            self._resting = False
            self._change.notify_all()

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._change:
            idle, self._idle = self._idle, deque()
        for connection in idle:
            connection.close()
