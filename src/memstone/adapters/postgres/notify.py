"""Notify workers of queued work through the database (LISTEN and NOTIFY).

A notification is sent after the transaction that queues work, so it arrives when the work is visible. It contains the
times at which something is due, and numbers instead of tenants' names, because anybody who may connect can listen.
"""

from __future__ import annotations

import atexit
import heapq
import logging
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

import psycopg

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.postgres.connection import open_connection
from memstone.model.instant import Instant, datetime_from_instant
from memstone.ports.ledger import Tenants

# --- calls between processes, through the database --------------------------------------------------------------------


CHANNEL: Final = "memstone_due"
APART: Final = ";"
"""Stands between what is said in one call."""

_TEST: Final = "test"
_TEST_SECONDS: Final = 10.0
"""A call to oneself that is not heard within this time never will be: a pooler is in between."""

_IDLE_SECONDS: Final = 60.0
_MARGIN: Final = 0.02
_AGAIN: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_log: Final = logging.getLogger("memstone.ledger")


def tenant_key(tenant_id: str) -> int:
    """Return a number for a tenant. Two with the same one would only wait for, or wake, each other."""
    return int.from_bytes(blake2b(tenant_id.encode(), digest_size=8).digest(), "big", signed=True)


def build_notify_payloads(tenant_id: str, due: Iterable[Instant | None]) -> list[str]:
    """Return the notifications for work that is due at these times.

    '' means at once; None means only when somebody asks for it.
    """
    times = sorted({each for each in due if each is not None})
    return [f"{tenant_key(tenant_id)} {each}" for each in dict.fromkeys((*times[:1], *times[-1:]))]


class Listener:
    """Listens on a connection and a thread of its own, and connects again when it is lost."""

    def __init__(self, url: str, ring: Callable[[], None], tenants: Tenants | None) -> None:
        self._url, self._ring, self._tenants = url, ring, tenants
        self._stopped, self._hears = threading.Event(), False
        self._timers: list[float] = []
        self._wake, self._woken = socket.socketpair()
        self._process = os.getpid()
        threading.Thread(target=self._listen, name="memstone-listener", daemon=True).start()

    @property
    def hears(self) -> bool:
        """Whether calls get through; the thread does not follow into a forked child."""
        return self._hears and self._process == os.getpid()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        with suppress(OSError):
            self._wake.send(b".")

    def _listen(self) -> None:
        tries = 0
        while not self._stopped.is_set():
            try:
                tries = self._listen_until_lost() or tries + 1
            except (psycopg.Error, OSError) as error:
                tries += 1
                _log.debug("listening failed: %s", type(error).__name__)
            if self._hears:
                self._hears = False
                self._ring()
            self._stopped.wait(_AGAIN[min(tries, len(_AGAIN)) - 1] if tries else 0.0)
        self._wake.close()
        self._woken.close()

    def _listen_until_lost(self) -> int:
        """Listen until the connection was lost; 0 means that it was good for something."""
        with open_connection(self._url, "memstone-listener") as connection, selectors.DefaultSelector() as ready:
            connection.execute(f"LISTEN {CHANNEL}")
            ready.register(connection.fileno(), selectors.EVENT_READ)
            ready.register(self._woken, selectors.EVENT_READ)
            self._test()
            until = monotonic() + _TEST_SECONDS
            while not self._stopped.is_set():
                ready.select(self._seconds(until))
                self._take(connection)
                if not self._hears and monotonic() > until:
                    return 1  # nothing comes through; whoever works has to look
        return 0

    def _test(self) -> None:
        """Call from another connection: what a pooler does not pass on would be missed in silence."""
        with open_connection(self._url, "memstone-listener") as other:
            other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, _TEST))

    def _seconds(self, until: float) -> float:
        """Return how long to wait for the next call, or for something to become due."""
        ends = [monotonic() + _IDLE_SECONDS, *self._timers[:1], *([] if self._hears else [until + _MARGIN])]
        return max(0.0, min(ends) - monotonic())

    def _take(self, connection: psycopg.Connection[Any]) -> None:
        connection.pgconn.consume_input()
        if connection.pgconn.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection was lost")
        while (notice := connection.pgconn.notifies()) is not None:
            for text in notice.extra.decode().split(APART):
                self._handle_payload(text)
        now = monotonic()
        due = 0
        while self._timers and self._timers[0] <= now:
            heapq.heappop(self._timers)
            due += 1
        if due:
            self._ring()

    def _handle_payload(self, text: str) -> None:
        if text == _TEST:
            if not self._hears:
                self._hears = True
                self._ring()
            return
        key, _, due = text.partition(" ")
        if self._tenants is not None and key not in {str(tenant_key(one)) for one in self._tenants()}:
            return
        heapq.heappush(self._timers, monotonic() + _seconds_until(due))


def _seconds_until(due: Instant) -> float:
    """Return the seconds until a time; '' is now, and so is what cannot be read: a look too many does no harm."""
    try:
        left = (datetime_from_instant(due) - datetime.now(UTC)).total_seconds()
    except ValueError:
        return 0.0
    return max(0.0, left + _MARGIN) if left > 0 else 0.0


# --- how workers are told that there is something to do ---------------------------------------------------------------


# Nothing is stored that would have to be on disk, and the lock is free the sooner.
_SAY: Final = f"""
SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', said) FROM unnest(%s::text[]) AS said"""
_PAUSE: Final = 0.05
"""Seconds between two times that calls are passed on."""

_POSTGRES_CALLING_IDLE_SECONDS: Final = 20.0
_PATIENCE: Final = 2.0
_TRIES: Final = 3
_MOST: Final = 7_500
"""Bytes of one call; PostgreSQL takes fewer than 8,000."""


class NotifySender:
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

    def call(self, texts: Iterable[str]) -> None:
        """Pass these on soon; waits for nothing."""
        with self._guard:
            if self._process != os.getpid():
                self._begin_anew()
            self._waiting.update(dict.fromkeys(texts))
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
                with open_connection(self._url, "memstone-caller") as called:
                    self._pass_on(called)
            except psycopg.Error as error:
                _log.debug("could not notify workers: %s", type(error).__name__)
                self._wait_after_failure()

    def _pass_on(self, connection: psycopg.Connection[Any]) -> None:
        while self._some.wait(_POSTGRES_CALLING_IDLE_SECONDS):
            texts = self._take_names()
            try:
                if texts:
                    connection.execute(_SAY, (list(_combine_payloads(texts)),), prepare=False)
            except psycopg.Error:
                self._put_back(texts)
                raise
            self._failures = 0
            if self._closed.wait(_PAUSE) and not self._waiting:
                return

    def _wait_after_failure(self) -> None:
        """Try again, but not for ever: when the server is back, whoever listens looks anyway."""
        self._failures += 1
        if self._failures >= _TRIES:
            self._take_names()
        self._closed.wait(_PAUSE * self._failures)

    def _take_names(self) -> list[str]:
        with self._guard:
            texts, self._waiting = list(self._waiting), {}
            self._some.clear()
            return texts

    def _put_back(self, texts: Iterable[str]) -> None:
        with self._guard:
            self._waiting.update(dict.fromkeys(texts))
            self._some.set()

    def _goes_on(self) -> bool:
        """Return whether something waits; if not, the next one who calls begins a new thread."""
        with self._guard:
            if self._waiting:
                return True
            self._thread = None
            return False


def _combine_payloads(texts: Iterable[str]) -> Iterator[str]:
    """Yield as few calls as possible that say all of it."""
    part = ""
    for one in texts:
        if part and len(part) + len(one) + len(APART) > _MOST:
            yield part
            part = ""
        part = f"{part}{APART}{one}" if part else one
    yield part


_CALLERS: Final[WeakSet[NotifySender]] = WeakSet()


@atexit.register
def _say_the_rest() -> None:
    """Call for what was queued right before the program ends."""
    for caller in list(_CALLERS):
        with suppress(RuntimeError):
            caller.close()
