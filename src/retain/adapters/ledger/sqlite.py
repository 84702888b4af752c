"""The ledger in one SQLite file.

Readers take a connection from a small pool and see one snapshot; writers go through the write queue. The
blocking face runs a unit inline, the asyncio face as one piece of work on a pool thread.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict

from retain.adapters.ledger.migrate import latest, migrate, version_of
from retain.adapters.ledger.sqlite_connection import Connection, connect
from retain.adapters.ledger.sqlite_errors import translating
from retain.adapters.ledger.write_queue import WriteQueue
from retain.drive import drive
from retain.errors import RetainError, StorageError
from retain.ports.io import Io
from retain.ports.ledger import Work

T = TypeVar("T")
_IDLE_READERS: Final = 16


class SqliteConfig(BaseModel):
    """``path`` of the file, or None for a store that lives only in memory.

    ``durable`` waits for the disk on every commit; without it a power cut (not a crash of the process) may
    take the last moments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path | None = None
    durable: bool = True


class SqliteLedger:
    """See ``retain.ports.ledger.Ledger``."""

    Config = SqliteConfig

    def __init__(self, config: SqliteConfig, io: Io) -> None:
        self._config, self._io = config, io
        self._where = str(config.path) if config.path else "memory:"
        self._queue = WriteQueue(self._open_writer)
        self._guard = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Start without connections: at first, and in a forked child, which must not use its parent's."""
        self._pid = os.getpid()
        self._writer: Connection | None = None
        self._readers: deque[Connection] = deque()
        self._closed = False

    async def open(self) -> None:
        """Open the file and bring its schema up to date."""
        await self._io.run(self._open)

    def _open(self) -> None:
        with translating(self._where):
            self._open_writer()

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot."""
        return await self._io.run(lambda: self._read(work))

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        return await self._io.run(lambda: self._write(work))

    async def check(self) -> dict[str, Any]:
        """Location, schema, size, journal and the result of SQLite's own integrity check."""
        return await self._io.run(self._check)

    async def close(self) -> None:
        """Close every connection."""
        await self._io.run(self._close)

    def _write(self, work: Work[T]) -> T:
        self._reopen_after_fork()
        with translating(self._where):
            return self._queue.run(work)

    def _read(self, work: Work[T]) -> T:
        if self._config.path is None:  # one connection is the whole store, so reads take their turn
            return self._write(work)
        self._reopen_after_fork()
        with translating(self._where):
            connection = self._reader()
            try:
                connection.raw.execute("BEGIN")
                value = drive(work(connection.tx))
                connection.raw.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
            return value

    def _reader(self) -> Connection:
        try:
            return self._readers.pop()
        except IndexError:
            self._open_writer()
            return connect(str(self._config.path), uri=False, writable=False, durable=True)

    def _give_back(self, connection: Connection) -> None:
        if self._closed or len(self._readers) >= _IDLE_READERS:
            connection.close()
        else:
            self._readers.append(connection)

    def _open_writer(self) -> Connection:
        if self._writer is not None:
            return self._writer
        with self._guard:
            if self._closed:
                raise StorageError("this memory is closed", hint="make a new one")
            if self._writer is None:
                self._writer = _fresh_writer(self._config)
            return self._writer

    def _reopen_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._guard = threading.Lock()
            self._queue = WriteQueue(self._open_writer)
            self._abandoned = (self._writer, self._readers)  # kept, so that nothing of the parent's is closed here
            self._forget()

    def _check(self) -> dict[str, Any]:
        with translating(self._where):
            connection = self._open_writer()
            return {
                "location": self._where,
                "sqlite": sqlite3.sqlite_version,
                "schema": version_of(connection),
                "latest_schema": latest(),
                "journal": _ask(connection, "journal_mode")[0][0],
                "integrity": [row[0] for row in _ask(connection, "integrity_check(5)")],
                "foreign_keys": len(_ask(connection, "foreign_key_check")),
                "bytes": self._config.path.stat().st_size if self._config.path else 0,
            }

    def _close(self) -> None:
        if self._pid != os.getpid():
            return
        with self._guard:
            self._closed = True
            while self._readers:
                self._readers.pop().close()
            if self._writer is not None:
                self._writer.close()
                self._writer = None


def _ask(connection: Connection, pragma: str) -> list[tuple[Any, ...]]:
    return connection.raw.execute(f"PRAGMA {pragma}").fetchall()


def _fresh_writer(config: SqliteConfig) -> Connection:
    if config.path is None:
        connection = connect(":memory:", uri=False, writable=True, durable=False)
    else:
        _make_folder(config.path)
        connection = connect(str(config.path), uri=False, writable=True, durable=config.durable)
    try:
        _use_wal(connection, config)
        migrate(connection, config.path)
    except (sqlite3.Error, RetainError):
        connection.close()
        raise
    return connection


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {path.parent}: {error.strerror}", hint="choose another store.url") from error


def _use_wal(connection: Connection, config: SqliteConfig) -> None:
    """Readers then never wait for the writer. Switching needs the lock for a moment."""
    if config.path is None:
        return
    if connection.raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.begin("PRAGMA journal_mode = WAL")
