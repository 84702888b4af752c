"""How workers are told that there is something to do: after the commit, on a connection and a thread of its own.

PostgreSQL hands out calls in one order for all databases of a server, under a lock that a transaction holds until it is
on disk. Inside the transactions that queue, that would make all tenants wait for one another's disk. So calls are
collected and passed on together, at once where it was quiet and else after a moment. One that is lost, with a process
or a connection, only delays: whoever listens also looks now and then.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

import psycopg

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.ledger.postgres_connect import connected
from memstone.adapters.ledger.postgres_notify import APART, CHANNEL

# Nothing is stored that would have to be on disk, and the lock is free the sooner.
_SAY: Final = f"""
SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', said) FROM unnest(%s::text[]) AS said"""
_PAUSE: Final = 0.05
"""Seconds between two times that calls are passed on."""

_IDLE_SECONDS: Final = 20.0
_PATIENCE: Final = 2.0
_TRIES: Final = 3
_MOST: Final = 7_500
"""Bytes of one call; PostgreSQL takes fewer than 8,000."""

_log: Final = logging.getLogger("memstone.ledger")


class Caller:
    """Passes calls on. The thread and its connection end when there was nothing to say for a while."""

    def __init__(self, url: str) -> None:
        self._url, self._guard = url, ForkSafeLock()
        self._begin_anew()
        _CALLERS.add(self)

    def _begin_anew(self) -> None:
        self._process = os.getpid()  # a thread does not follow into a forked child
        self._waiting: dict[str, None] = {}
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._some, self._closed = threading.Event(), threading.Event()

    def call(self, said: Iterable[str]) -> None:
        """Pass these on soon; waits for nothing."""
        with self._guard:
            if self._process != os.getpid():
                self._begin_anew()
            self._waiting.update(dict.fromkeys(said))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memstone-caller", daemon=True)
                self._thread.start()
            self._some.set()

    def close(self) -> None:
        """Pass on what waits, and end."""
        thread = self._thread if self._process == os.getpid() else None
        if thread is not None:
            self._closed.set()
            self._some.set()
            thread.join(_PATIENCE)

    def _work(self) -> None:
        while self._goes_on():
            try:
                with connected(self._url, "memstone-caller") as called:
                    self._pass_on(called)
            except psycopg.Error as error:
                _log.debug("workers could not be called: %s", type(error).__name__)
                self._failed()

    def _pass_on(self, connection: psycopg.Connection[Any]) -> None:
        while self._some.wait(_IDLE_SECONDS):
            said = self._taken()
            try:
                if said:
                    connection.execute(_SAY, (list(_together(said)),), prepare=False)
            except psycopg.Error:
                self._put_back(said)
                raise
            self._failures = 0
            if self._closed.wait(_PAUSE) and not self._waiting:
                return

    def _failed(self) -> None:
        """Try again, but not for ever: when the server is back, whoever listens looks anyway."""
        self._failures += 1
        if self._failures >= _TRIES:
            self._taken()
        self._closed.wait(_PAUSE * self._failures)

    def _taken(self) -> list[str]:
        with self._guard:
            said, self._waiting = list(self._waiting), {}
            self._some.clear()
            return said

    def _put_back(self, said: Iterable[str]) -> None:
        with self._guard:
            self._waiting.update(dict.fromkeys(said))
            self._some.set()

    def _goes_on(self) -> bool:
        """Whether something waits; if not, the next one who calls begins a new thread."""
        with self._guard:
            if self._waiting:
                return True
            self._thread = None
            return False


def _together(said: Iterable[str]) -> Iterator[str]:
    """As few calls as possible that say all of it."""
    part = ""
    for one in said:
        if part and len(part) + len(one) + len(APART) > _MOST:
            yield part
            part = ""
        part = f"{part}{APART}{one}" if part else one
    yield part


_CALLERS: Final[WeakSet[Caller]] = WeakSet()


@atexit.register
def _say_the_rest() -> None:
    """A program that ends right after it queued something has still called."""
    for caller in list(_CALLERS):
        with suppress(RuntimeError):
            caller.close()
