"""The ledger in one SQLite file.

Readers take a connection from a small pool and see one snapshot; writers go through the write queue. The
blocking face runs a unit inline, the asyncio face as one piece of work on a pool thread.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from memstone.adapters.ledger.disk import refuse_full_disk, try_to_write
from memstone.adapters.ledger.migrate import latest, migrate, refuse_upgraded, version_of
from memstone.adapters.ledger.private import MY_FOLDER, make_private
from memstone.adapters.ledger.sqlite_connection import Connection, connect
from memstone.adapters.ledger.sqlite_copies import SqliteCopies
from memstone.adapters.ledger.sqlite_damage import find_damage, refuse_damaged_file
from memstone.adapters.ledger.sqlite_errors import translating
from memstone.adapters.ledger.sqlite_fork import PATIENCE, watch
from memstone.adapters.ledger.sqlite_log_mark import LogMark, lacks_log, refuse_without_log, take_note_of_log
from memstone.adapters.ledger.sqlite_readers import Readers
from memstone.adapters.ledger.telling import told
from memstone.adapters.ledger.write_queue import WriteQueue
from memstone.drive import drive
from memstone.errors import MemstoneError, StorageError, Unsupported
from memstone.ports.io import Io
from memstone.ports.ledger import Work

T = TypeVar("T")


class SqliteConfig(BaseModel):
    """``path`` of the file, or None for a store that lives only in memory.

    ``durable`` waits for the disk on every commit; without it a power cut (not a crash of the process) may
    take the last moments. ``check`` looks for damage whenever a small file is opened. ``reserve_bytes`` must stay
    free on the disk when something is added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path | None = None
    durable: bool = True
    check: bool = True
    reserve_bytes: int = 0


class SqliteLedger(SqliteCopies):
    """See ``memstone.ports.ledger.Ledger``."""

    Config = SqliteConfig
    in_process = True

    def __init__(self, config: SqliteConfig, io: Io) -> None:
        self._config, self._io = config, io
        self._where = str(config.path) if config.path else "memory:"
        self._writer: Connection | None = None
        self._log_mark = LogMark(config.path) if config.path is not None else None
        self._closed = ""
        self._start()
        watch(self)

    def _start(self) -> None:
        """Locks and queues nobody holds: at first, and in a forked child."""
        self._guard = threading.Lock()
        self._queue = WriteQueue(self._open_writer, self._committed)
        self._readers = Readers(self._fresh_reader)
        self._held: tuple[bool, bool] = (False, False)

    async def open(self) -> None:
        """Open the file and bring its schema up to date."""
        await self._io.run(self._open)

    def _open(self) -> None:
        with translating(self._where):
            self._open_writer()

    async def migrate(self, grant: Sequence[str] = ()) -> dict[str, Any]:
        """Open the file, which brings its schema up to date."""
        if grant:
            raise Unsupported("a file has no roles to grant anything to", kind="ledger", name="sqlite")
        before = await self._io.run(self._version)
        await self.open()
        return {"location": self._where, "before": before, "schema": latest()}

    def _version(self) -> int:
        """The version of the file as it is; 0 where there is none."""
        if self._config.path is None or not self._config.path.exists():
            return 0
        with translating(self._where):
            connection = connect(str(self._config.path), uri=False, writable=False, durable=True)
            try:
                return version_of(connection)
            finally:
                connection.close()

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot."""
        return await self._io.run(lambda: self._read(work))

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of one statement."""
        return await self._io.run(lambda: self._peek(work))

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        return await told(work, lambda unit: self._io.run(lambda: self._write(unit)))

    async def aside(self, work: Work[T]) -> T:
        """Run a unit as any other one that writes: there is one place to write in a file."""
        return await self.write(work)

    async def note(self, work: Work[T]) -> T:
        """Run a unit as one transaction that does not wait for the disk, unless one does that it is stored with."""
        return await told(work, lambda unit: self._io.run(lambda: self._write(unit, synced=False)))

    def of(self, tenant_id: str) -> SqliteLedger:  # noqa: ARG002 - every statement names its tenant
        """This ledger: a file has no walls between tenants."""
        return self

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Look at the disk that holds the file."""
        if self._config.path is None:
            return
        folder = self._config.path.parent
        refuse_full_disk(folder, self._config.reserve_bytes)
        if by_writing:
            await self._io.run(lambda: try_to_write(folder))

    async def check(self) -> dict[str, Any]:
        """Location, schema, size, journal and the result of SQLite's own integrity check."""
        return await self._io.run(self._check)

    async def close(self) -> None:
        """Close every connection."""
        await self._io.run(self._close)

    def _write(self, work: Work[T], *, synced: bool = True) -> T:
        with translating(self._where):
            return self._queue.run(work, synced=synced)

    def _read(self, work: Work[T]) -> T:
        if self._config.path is None:  # one connection is the whole store, so reads take their turn
            return self._write(work)

        def read(connection: Connection) -> T:
            connection.raw.execute("BEGIN")
            value = drive(work(connection.tx))
            connection.raw.execute("COMMIT")
            return value

        with translating(self._where):
            return self._asked(read)

    def _peek(self, work: Work[T]) -> T:
        if self._config.path is None:
            return self._write(work)
        with translating(self._where):
            return self._asked(lambda connection: drive(work(connection.tx)))

    def _asked(self, read: Callable[[Connection], T]) -> T:
        """The result of reading; where a table or column is missing after an upgrade, say that."""
        try:
            return self._readers.use(read)
        except sqlite3.OperationalError as error:
            if str(error).startswith("no such"):
                self._readers.use(refuse_upgraded)
            raise

    def _fresh_reader(self) -> Connection:
        self._open_writer()
        return connect(str(self._config.path), uri=False, writable=False, durable=True)

    def _committed(self, connection: Connection) -> None:
        if self._log_mark is not None:
            self._log_mark.keep(connection)

    def _file(self) -> Path | None:
        return self._config.path

    def _open_writer(self) -> Connection:
        if self._writer is not None and not self._closed:
            return self._writer
        with self._guard:
            if self._closed:
                raise StorageError(self._closed, hint="make a new one")
            if self._writer is None:
                self._writer = _fresh_writer(self._config)
            return self._writer

    def _check(self) -> dict[str, Any]:
        with translating(self._where):
            if self._config.path is not None:
                return self._readers.use(self._report)
            with self._queue.turn:
                return self._report(self._open_writer())

    def _report(self, connection: Connection) -> dict[str, Any]:
        damage = find_damage(connection.raw)
        if self._config.path is not None and lacks_log(connection.raw, self._config.path):
            damage = ["the file was copied without its log: what was stored last is missing", *damage]
        return {
            "location": self._where,
            "sqlite": sqlite3.sqlite_version,
            "schema": version_of(connection),
            "latest_schema": latest(),
            "journal": _ask(connection, "journal_mode")[0][0],
            "integrity": damage or ["ok"],
            "foreign_keys": 0 if damage else len(_ask(connection, "foreign_key_check")),
            "bytes": self._config.path.stat().st_size if self._config.path else 0,
        }

    def _close(self) -> None:
        self._closed = self._closed or "this memory is closed"
        self._readers.close()
        # SQLite does not survive a connection that is closed under a running statement. A commit that takes too long
        # (another process holds the lock) keeps its connection, which goes with the ledger.
        if self._queue.turn.acquire(timeout=PATIENCE):
            try:
                with self._guard:
                    self._close_writer()
            finally:
                self._queue.turn.release()

    def _close_writer(self) -> None:
        if self._writer is not None:
            if self._log_mark is not None:
                self._log_mark.close()
            self._writer.close()
            self._writer = None

    def before_fork(self) -> None:
        """Close the file, so that the child inherits nothing of it; see ``sqlite_fork``."""
        turn = self._queue.turn.acquire(timeout=PATIENCE)
        quiet = self._readers.rest(PATIENCE)
        guard = self._guard.acquire(timeout=PATIENCE)
        self._held = (turn, guard)
        self._rested = turn and quiet and guard
        if self._rested and self._config.path is not None:
            self._close_writer()

    def after_fork(self, *, child: bool) -> None:
        """Go on; a child has only the forking thread, so what others held or waited for is gone."""
        if child:
            self._start()
            if not self._rested:
                self._inherited, self._writer = self._writer, None  # kept, because closing it would disturb the parent
                self._closed = self._closed or "this memory was at work when its process was forked"
            return
        self._readers.resume()
        for lock, held in zip((self._queue.turn, self._guard), self._held, strict=True):
            if held:
                lock.release()


def _ask(connection: Connection, pragma: str) -> list[tuple[Any, ...]]:
    return connection.raw.execute(f"PRAGMA {pragma}").fetchall()


def _fresh_writer(config: SqliteConfig) -> Connection:
    if config.path is None:
        connection = connect(":memory:", uri=False, writable=True, durable=False)
    else:
        _make_folder(config.path)
        make_private(config.path)  # its log and its shared memory get the same permissions
        connection = connect(str(config.path), uri=False, writable=True, durable=config.durable)
    try:
        if config.path is not None and config.check:
            refuse_damaged_file(connection, config.path)
            refuse_without_log(connection, config.path)
        if config.path is not None:
            take_note_of_log(connection, config.path)
        _use_wal(connection, config)
        migrate(connection, config.path)
        connection.wait_with_jitter()
    except (sqlite3.Error, MemstoneError):
        connection.close()
        raise
    return connection


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(mode=MY_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {path.parent}: {error.strerror}", hint="choose another store.url") from error


def _use_wal(connection: Connection, config: SqliteConfig) -> None:
    """Readers then never wait for the writer. Switching needs the lock for a moment."""
    if config.path is None:
        return
    if connection.raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.begin("PRAGMA journal_mode = WAL")
