"""How every connection to PostgreSQL is made, whatever the environment or the role's settings say."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, Connection, OperationalError, RawCursor, adapt, pq
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.postgres.statements import AsyncWire, BlockingWire, PeekingSql, PostgresSql, Wire
from memstone.adapters.postgres.tx import PostgresTx
from memstone.adapters.sql.rows import Row
from memstone.errors import (
    Conflict,
    Corrupted,
    InvalidInput,
    MemstoneError,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    TooLarge,
)

if TYPE_CHECKING:
    from psycopg.abc import Buffer


# --- how every connection to PostgreSQL is made, whatever the environment or the role's settings say ------------------


NAME: Final = "memstone"
"""How the server is told who asks, unless the URL does."""

_ALWAYS: Final[dict[str, Any]] = {"autocommit": True, "client_encoding": "utf8"}
"""Transactions begin and end where the code says so, and text is told in all its characters."""

_UNLESS_TOLD: Final[dict[str, int]] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""When a machine is gone without a word: otherwise a call would wait for it for a quarter of an hour."""

_LOCK: Final = 0x52544E31  # "RTN1"


def options(url: str, name: str = NAME) -> dict[str, Any]:
    """What psycopg is told beside a URL, which may say more about names and patience."""
    told = conninfo_to_dict(url)
    patience = {option: value for option, value in _UNLESS_TOLD.items() if option not in told}
    return {**patience, **_ALWAYS, "fallback_application_name": name}


def connected(url: str, name: str = NAME) -> psycopg.Connection[Any]:
    """A connection of one's own."""
    return psycopg.connect(url, **options(url, name))


@contextmanager
def setting_up(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """A transaction that makes what is missing in a database, one process after the other, however long it takes.

    The lock is held by the transaction, not by the session: behind a pooler the next statement may go to another one.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        yield


# --- postgreSQL's errors in Memstone's words --------------------------------------------------------------------------


RUN_AGAIN: Final = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock: the same unit may succeed at once."""

AWAY: Final = frozenset({"57P01", "57P02", "57P03"})
"""The server is shutting down, has crashed, or is starting."""

_BY_STATE: Final[dict[str, tuple[type[MemstoneError], str]]] = {
    "22003": (InvalidInput, "whole numbers have at most 64 bits"),
    "23505": (Conflict, ""),
    "25006": (StorageReadOnly, "this is a standby, or the role may only read"),
    "42501": (StorageError, "the role lacks a privilege: `memstone migrate --grant ROLE` as the owner gives it"),
    "53100": (StorageFull, ""),
    "53300": (StorageBusy, "raise max_connections of the server, or lower store.pool_size"),
    "54000": (TooLarge, ""),
    "55P03": (StorageBusy, "another process has been writing for this tenant all the time"),
    "57014": (StorageBusy, "raise store.statement_seconds if this was no accident"),
    "XX001": (Corrupted, ""),
    "XX002": (Corrupted, ""),
}


def is_passing(error: psycopg.Error) -> bool:
    """Whether the same unit may succeed when it is run again."""
    return error.sqlstate in RUN_AGAIN or error.sqlstate in AWAY


def translated(error: psycopg.Error, where: str) -> MemstoneError:
    """The typed error for one of PostgreSQL's; without its detail, which may quote what somebody stored."""
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    if error.sqlstate in _BY_STATE:
        kind, hint = _BY_STATE[error.sqlstate]
        if "index row" in said:
            hint = "shorten the ids: PostgreSQL indexes at most 2.7 kB of them together"
        return kind(f"{where}: {said}", hint=hint or None)
    if isinstance(error, PoolTimeout):
        return StorageBusy(
            f"{where}: no connection within {said.rpartition(' after ')[2]}",
            hint="is the server running, and does it take store.pool_size connections of every process?",
        )
    if isinstance(error, psycopg.OperationalError):
        return StorageBusy(f"{where} cannot be reached: {said}", hint="is the server running, and does the URL fit?")
    if isinstance(error, psycopg.DataError) and "NUL" in said:
        return InvalidInput("a text holds a NUL character", hint="remove it; databases cannot store it as text")
    return StorageError(f"{where}: {said}")


@contextmanager
def translating(where: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into Memstone's at the boundary."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error, where) from error
    except UnicodeEncodeError as error:
        hint = "a number has 64 bits at most, and a text whole characters only"
        raise InvalidInput(f"{where} cannot hold a value: {error}", hint=hint) from error


# --- vectors between pgvector, which writes them big-endian behind a header, and the ledger's -------------------------


_HEADER: Final = 4
"""Two bytes for the dimension, two that are not used."""


class PgVector:
    """A vector on its way to the database."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def wire(self) -> bytes:
        """As pgvector reads it."""
        values = np.frombuffer(self.raw, "<f4")
        return struct.pack(">HH", len(values), 0) + values.astype(">f4").tobytes()


class _Dumper(adapt.Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: PgVector) -> Buffer | None:
        return obj.wire()


class _Loader(adapt.Loader):
    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, ">f4", offset=_HEADER).astype("<f4").tobytes()


def register(connection: Any, vector_oid: int) -> None:
    """Let a connection read and write vectors."""
    adapters = connection.adapters
    adapters.register_loader(vector_oid, _Loader)
    adapters.register_dumper(PgVector, type("_VectorDumper", (_Dumper,), {"oid": vector_oid}))


# --- psycopg's two pools behind one -----------------------------------------------------------------------------------


PATIENCE: Final = 5.0
"""How many seconds closing waits for connections that are in use."""

OUTAGE: Final = 10.0
"""How many seconds a server that takes no connections is waited for: a restart takes about as long."""

_TRIED: Final = 2.0
"""For so long it is tried to connect; who waits in an outage asks anew, as the pool itself tries ever less often."""


@dataclass(slots=True)
class Lent:
    """A connection that nobody else uses meanwhile, and the tables over it."""

    connection: Any
    wire: Wire
    tx: PostgresTx
    peeking: PeekingSql
    peeked: PostgresTx


def _lent(connection: Any, wire: Wire) -> Lent:
    peeking = PeekingSql(wire)
    return Lent(connection, wire, PostgresTx(PostgresSql(wire)), peeking, PostgresTx(peeking))


class Blocking(Connection[Row]):
    """A connection that knows its tables."""

    @cached_property
    def lent(self) -> Lent:
        """Made once a connection."""
        return _lent(self, BlockingWire(self))


class Awaited(AsyncConnection[Row]):
    """The same for asyncio."""

    @cached_property
    def lent(self) -> Lent:
        """Made once a connection."""
        return _lent(self, AsyncWire(self))


@dataclass(frozen=True, slots=True)
class Options:
    """How connections are made."""

    url: str = field(repr=False)
    size: int
    wait_seconds: float
    vector_oid: int = 0

    def kwargs(self, cursor: type[Any]) -> dict[str, Any]:
        """What psycopg is told about every connection."""
        return {**options(self.url), "cursor_factory": cursor}


class Pool(Protocol):
    """Lends connections."""

    async def take(self) -> Lent:
        """A connection; waits while all are in use."""
        ...

    async def give(self, lent: Lent) -> None:
        """Take it back; one that is lost is replaced, and so are those nobody uses that were lost with it."""
        ...

    async def close(self) -> None:
        """Close them all."""
        ...


class _Reach:
    """Whether the server takes connections. A pool that is only busy is worth waiting for, one that has none is not."""

    def __init__(self, wait_seconds: float) -> None:
        self._wait_seconds = wait_seconds
        self._missed_since: float | None = None

    def deadline(self) -> float:
        """Until when somebody who asks now waits."""
        return monotonic() + self._wait_seconds

    def missed(self, *_: object) -> None:
        """A connection was lost, or could not be made."""
        if self._missed_since is None:
            self._missed_since = monotonic()

    def met(self) -> None:
        """There is one that works."""
        self._missed_since = None

    def patience(self, end: float) -> float:
        """How many seconds to wait before asking anew."""
        left = end - monotonic()
        return left if self._missed_since is None else min(left, _TRIED)

    def refuse(self, end: float) -> None:
        """Give up what was waited for in vain, when it is time or the server has been gone for too long."""
        if self._missed_since is not None and monotonic() - self._missed_since >= OUTAGE:
            raise OperationalError("it takes no connections") from None
        if monotonic() >= end:
            raise PoolTimeout(f"no connection after {self._wait_seconds:.2f} sec") from None


class BlockingPool:
    """Connections for threads."""

    def __init__(self, options: Options) -> None:
        self._options, self._reach = options, _Reach(options.wait_seconds)
        self._pools: dict[int, ConnectionPool[Blocking]] = {}  # by process: a child must not touch its parent's
        self._guard = ForkSafeLock()

    async def take(self) -> Lent:
        end = self._reach.deadline()
        while True:
            try:
                return self._pool().getconn(self._reach.patience(end)).lent
            except PoolTimeout:
                self._reach.refuse(end)

    async def give(self, lent: Lent) -> None:
        pool, lost = self._pool(), lent.wire.lost
        (self._reach.missed if lost else self._reach.met)()
        pool.putconn(lent.connection)
        if lost:
            pool.check()

    async def close(self) -> None:
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close(PATIENCE)

    def _pool(self) -> ConnectionPool[Blocking]:
        pool = self._pools.get(os.getpid())
        return pool if pool is not None else self._opened()

    def _opened(self) -> ConnectionPool[Blocking]:
        with self._guard:
            if os.getpid() not in self._pools:
                self._pools[os.getpid()] = made = ConnectionPool(
                    self._options.url,
                    connection_class=Blocking,
                    kwargs=self._options.kwargs(RawCursor),
                    min_size=1,
                    max_size=self._options.size,
                    timeout=self._options.wait_seconds,
                    num_workers=1,
                    reconnect_timeout=_TRIED,
                    reconnect_failed=self._reach.missed,
                    configure=self._configure,
                    name="memstone",
                    open=False,
                )
                made.open()
            return self._pools[os.getpid()]

    def _configure(self, connection: Blocking) -> None:
        register(connection, self._options.vector_oid)
        self._reach.met()


class AsyncPool:
    """Connections for tasks, a pool for every event loop."""

    def __init__(self, options: Options) -> None:
        self._options, self._reach = options, _Reach(options.wait_seconds)
        self._pools: dict[asyncio.AbstractEventLoop, AsyncConnectionPool[Awaited]] = {}
        self._made: WeakKeyDictionary[Awaited, asyncio.AbstractEventLoop] = WeakKeyDictionary()

    async def take(self) -> Lent:
        pool = self._pools.get(asyncio.get_running_loop()) or await self._opened()
        end = self._reach.deadline()
        while True:
            try:
                return (await pool.getconn(self._reach.patience(end))).lent
            except PoolTimeout:
                self._reach.refuse(end)

    async def give(self, lent: Lent) -> None:
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is None:
            await lent.connection.close()
            return
        lost = lent.wire.lost
        (self._reach.missed if lost else self._reach.met)()
        await pool.putconn(lent.connection)
        if lost:
            await pool.check()

    async def close(self) -> None:
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close(PATIENCE)
        self._leave_ended()

    async def _opened(self) -> AsyncConnectionPool[Awaited]:
        self._leave_ended()
        loop = asyncio.get_running_loop()
        self._pools[loop] = made = AsyncConnectionPool(
            self._options.url,
            connection_class=Awaited,
            kwargs=self._options.kwargs(AsyncRawCursor),
            min_size=1,
            max_size=self._options.size,
            timeout=self._options.wait_seconds,
            num_workers=1,
            reconnect_timeout=_TRIED,
            reconnect_failed=self._reach.missed,
            configure=self._configure,
            name="memstone",
            open=False,
        )
        await made.open()
        return made

    async def _configure(self, connection: Awaited) -> None:
        register(connection, self._options.vector_oid)
        self._reach.met()
        self._made[connection] = asyncio.get_running_loop()

    def _leave_ended(self) -> None:
        """Close what belongs to event loops that have ended: nobody can await it any more."""
        ended = [loop for loop in self._pools if loop.is_closed()]
        for loop in ended:
            self._pools.pop(loop)
        for connection, loop in list(self._made.items()):
            if loop in ended:
                connection.pgconn.finish()
