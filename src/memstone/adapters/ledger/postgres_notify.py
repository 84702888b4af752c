"""Calls between processes, through the database: whoever queues work says when it is due, and workers hear it.

A call follows the transaction that queues, so it is heard when the work can be seen and not before. It tells the times
at which something is due and numbers that stand for tenants: anybody who may connect can listen, and nobody is to learn
names from it.
"""

from __future__ import annotations

import heapq
import logging
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from time import monotonic
from typing import Any, Final

import psycopg

from memstone.adapters.ledger.postgres_connect import connected
from memstone.model.instant import Instant, moment
from memstone.ports.ledger import Tenants

CHANNEL: Final = "memstone_due"
APART: Final = ";"
"""Stands between what is said in one call."""

_TEST: Final = "test"
_TEST_SECONDS: Final = 10.0
"""A call to oneself that is not heard within this time never will be: a pooler stands in between."""

_IDLE_SECONDS: Final = 60.0
_MARGIN: Final = 0.02
_AGAIN: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_log: Final = logging.getLogger("memstone.ledger")


def tenant_key(tenant_id: str) -> int:
    """A number for a tenant. Two with the same one would only wait for, or wake, each other."""
    return int.from_bytes(blake2b(tenant_id.encode(), digest_size=8).digest(), "big", signed=True)


def calls(tenant_id: str, due: Iterable[Instant | None]) -> list[str]:
    """What to say about work that is due at these times: '' is at once, None only when somebody asks for it."""
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
                tries = self._connected() or tries + 1
            except (psycopg.Error, OSError) as error:
                tries += 1
                _log.debug("listening failed: %s", type(error).__name__)
            if self._hears:
                self._hears = False
                self._ring()
            self._stopped.wait(_AGAIN[min(tries, len(_AGAIN)) - 1] if tries else 0.0)
        self._wake.close()
        self._woken.close()

    def _connected(self) -> int:
        """Listen until the connection is lost; 0 means that it was good for something."""
        with connected(self._url, "memstone-listener") as connection, selectors.DefaultSelector() as ready:
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
        with connected(self._url, "memstone-listener") as other:
            other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, _TEST))

    def _seconds(self, until: float) -> float:
        """How long to wait for the next call, or for something to become due."""
        ends = [monotonic() + _IDLE_SECONDS, *self._timers[:1], *([] if self._hears else [until + _MARGIN])]
        return max(0.0, min(ends) - monotonic())

    def _take(self, connection: psycopg.Connection[Any]) -> None:
        connection.pgconn.consume_input()
        if connection.pgconn.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection is lost")
        while (notice := connection.pgconn.notifies()) is not None:
            for said in notice.extra.decode().split(APART):
                self._heard(said)
        now = monotonic()
        due = 0
        while self._timers and self._timers[0] <= now:
            heapq.heappop(self._timers)
            due += 1
        if due:
            self._ring()

    def _heard(self, said: str) -> None:
        if said == _TEST:
            if not self._hears:
                self._hears = True
                self._ring()
            return
        key, _, due = said.partition(" ")
        if self._tenants is not None and key not in {str(tenant_key(one)) for one in self._tenants()}:
            return
        heapq.heappush(self._timers, monotonic() + _delay(due))


def _delay(due: Instant) -> float:
    """Seconds until a time; '' is now, and so is what cannot be read: a look too many does no harm."""
    try:
        left = (moment(due) - datetime.now(UTC)).total_seconds()
    except ValueError:
        return 0.0
    return max(0.0, left + _MARGIN) if left > 0 else 0.0
