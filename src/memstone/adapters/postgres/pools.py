"""One interface over psycopg's blocking and asynchronous connection pools."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection, AsyncRawCursor, Connection, OperationalError, RawCursor
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.postgres.connection import connect_options, register_vector_type
from memstone.adapters.postgres.statements import AsyncWire, BlockingWire, PeekingSql, PostgresSql, Wire
from memstone.adapters.postgres.tx import PostgresTx
from memstone.adapters.sql.rows import Row

PATIENCE: Final = 5.0
"""How many seconds closing waits for connections that are in use."""


OUTAGE: Final = 10.0
"""How many seconds a server that takes no connections is waited for: a restart takes about as long."""


_TRIED: Final = 2.0
"""For so long it is tried to connect; who waits in an outage asks again, as the pool itself tries ever less often."""


@dataclass(slots=True)
class PooledConnection:
    """A connection that nobody else uses meanwhile, and the tables over it."""

    connection: Any
    wire: Wire
    tx: PostgresTx
    peeking: PeekingSql
    peeked: PostgresTx


def _wrap_connection(connection: Any, wire: Wire) -> PooledConnection:
    peeking = PeekingSql(wire)
    return PooledConnection(connection, wire, PostgresTx(PostgresSql(wire)), peeking, PostgresTx(peeking))


class BlockingConnection(Connection[Row]):
    """A connection that knows its tables."""

    @cached_property
    def pooled_connection(self) -> PooledConnection:
        """Made once a connection."""
        return _wrap_connection(self, BlockingWire(self))


class AwaitedConnection(AsyncConnection[Row]):
    """The same for asyncio."""

    @cached_property
    def pooled_connection(self) -> PooledConnection:
        """Made once a connection."""
        return _wrap_connection(self, AsyncWire(self))


@dataclass(frozen=True, slots=True)
class Options:
    """How connections are made."""

    url: str = field(repr=False)
    size: int
    wait_seconds: float
    vector_oid: int = 0

    def kwargs(self, cursor: type[Any]) -> dict[str, Any]:
        """Return what psycopg is told about every connection."""
        return {**connect_options(self.url), "cursor_factory": cursor}


class Pool(Protocol):
    """Lends connections."""

    async def take(self) -> PooledConnection:
        """Return a connection; waits while all are in use."""
        ...

    async def give(self, lent: PooledConnection) -> None:
        """Take it back; one that is lost is replaced, and so are those nobody uses that were lost with it."""
        ...

    async def close(self) -> None:
        """Close them all."""
        ...


class _Reach:
    """Whether the server accepts connections.

    It is worth waiting for a pool that is only busy, but not for a server that cannot be reached.
    """

    def __init__(self, wait_seconds: float) -> None:
        self._wait_seconds = wait_seconds
        self._missed_since: float | None = None

    def deadline(self) -> float:
        """Return until when somebody who asks now waits."""
        return monotonic() + self._wait_seconds

    def record_failure(self, *_: object) -> None:
        """Note that a connection was lost, or could not be made."""
        if self._missed_since is None:
            self._missed_since = monotonic()

    def record_success(self) -> None:
        """Note that there is one that works."""
        self._missed_since = None

    def patience(self, end: float) -> float:
        """Return how many seconds to wait before asking again."""
        left = end - monotonic()
        return left if self._missed_since is None else min(left, _TRIED)

    def refuse(self, end: float) -> None:
        """Give up what was waited for in vain, when it is time or the server has been gone for too long."""
        if self._missed_since is not None and monotonic() - self._missed_since >= OUTAGE:
            raise OperationalError("it does not accept connections") from None
        if monotonic() >= end:
            raise PoolTimeout(f"no connection after {self._wait_seconds:.2f} sec") from None


class BlockingPool:
    """Connections for threads."""

    def __init__(self, options: Options) -> None:
        self._options, self._reach = options, _Reach(options.wait_seconds)
        self._pools: dict[
            int, ConnectionPool[BlockingConnection]
        ] = {}  # by process: a child must not touch its parent's
        self._guard = ForkSafeLock()

    async def take(self) -> PooledConnection:
        end = self._reach.deadline()
        while True:
            try:
                return self._pool().getconn(self._reach.patience(end)).pooled_connection
            except PoolTimeout:
                self._reach.refuse(end)

    async def give(self, lent: PooledConnection) -> None:
        pool, lost = self._pool(), lent.wire.is_lost
        (self._reach.record_failure if lost else self._reach.record_success)()
        pool.putconn(lent.connection)
        if lost:
            pool.check()

    async def close(self) -> None:
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close(PATIENCE)

    def _pool(self) -> ConnectionPool[BlockingConnection]:
        pool = self._pools.get(os.getpid())
        return pool if pool is not None else self._open_pool()

    def _open_pool(self) -> ConnectionPool[BlockingConnection]:
        with self._guard:
            if os.getpid() not in self._pools:
                self._pools[os.getpid()] = made = ConnectionPool(
                    self._options.url,
                    connection_class=BlockingConnection,
                    kwargs=self._options.kwargs(RawCursor),
                    min_size=1,
                    max_size=self._options.size,
                    timeout=self._options.wait_seconds,
                    num_workers=1,
                    reconnect_timeout=_TRIED,
                    reconnect_failed=self._reach.record_failure,
                    configure=self._configure,
                    name="memstone",
                    open=False,
                )
                made.open()
            return self._pools[os.getpid()]

    def _configure(self, connection: BlockingConnection) -> None:
        register_vector_type(connection, self._options.vector_oid)
        self._reach.record_success()


class AsyncPool:
    """Connections for tasks, a pool for every event loop."""

    def __init__(self, options: Options) -> None:
        self._options, self._reach = options, _Reach(options.wait_seconds)
        self._pools: dict[asyncio.AbstractEventLoop, AsyncConnectionPool[AwaitedConnection]] = {}
        self._made: WeakKeyDictionary[AwaitedConnection, asyncio.AbstractEventLoop] = WeakKeyDictionary()

    async def take(self) -> PooledConnection:
        pool = self._pools.get(asyncio.get_running_loop()) or await self._open_pool()
        end = self._reach.deadline()
        while True:
            try:
                return (await pool.getconn(self._reach.patience(end))).pooled_connection
            except PoolTimeout:
                self._reach.refuse(end)

    async def give(self, lent: PooledConnection) -> None:
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is None:
            await lent.connection.close()
            return
        lost = lent.wire.is_lost
        (self._reach.record_failure if lost else self._reach.record_success)()
        await pool.putconn(lent.connection)
        if lost:
            await pool.check()

    async def close(self) -> None:
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close(PATIENCE)
        self._leave_ended()

    async def _open_pool(self) -> AsyncConnectionPool[AwaitedConnection]:
        self._leave_ended()
        loop = asyncio.get_running_loop()
        self._pools[loop] = made = AsyncConnectionPool(
            self._options.url,
            connection_class=AwaitedConnection,
            kwargs=self._options.kwargs(AsyncRawCursor),
            min_size=1,
            max_size=self._options.size,
            timeout=self._options.wait_seconds,
            num_workers=1,
            reconnect_timeout=_TRIED,
            reconnect_failed=self._reach.record_failure,
            configure=self._configure,
            name="memstone",
            open=False,
        )
        await made.open()
        return made

    async def _configure(self, connection: AwaitedConnection) -> None:
        register_vector_type(connection, self._options.vector_oid)
        self._reach.record_success()
        self._made[connection] = asyncio.get_running_loop()

    def _leave_ended(self) -> None:
        """Close what belongs to event loops that have ended: nobody can await it any more."""
        ended = [loop for loop in self._pools if loop.is_closed()]
        for loop in ended:
            self._pools.pop(loop)
        for connection, loop in list(self._made.items()):
            if loop in ended:
                connection.pgconn.finish()
