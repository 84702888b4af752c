"""The ledger in an SQLite file: readers, the write queue, free disk space, and forks.

SQLite keeps a table of the locks of its process, and a forked child inherits it. The child then believes that it has
locks that only its parent has, and a checkpoint by the parent can remove what the child is writing to. So every ledger
closes its connections before a fork, and parent and child open their own when they next need one.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from weakref import WeakSet

from pydantic import BaseModel, ConfigDict

from memstone.adapters.encrypted_files import describe_keys
from memstone.adapters.sql.rows import MY_FOLDER, make_private, run_and_log
from memstone.adapters.sqlite.connection import Connection, open_connection, translate_errors
from memstone.adapters.sqlite.copies import SqliteCopies
from memstone.adapters.sqlite.driver import CIPHER, PLAIN, CipherDriver, Driver, cipher_version
from memstone.adapters.sqlite.integrity import (
    LogMark,
    find_damage,
    lacks_log,
    refuse_damaged_file,
    refuse_without_log,
    take_note_of_log,
)
from memstone.adapters.sqlite.migrations import latest_schema_version, migrate_schema, refuse_upgraded, version_of
from memstone.adapters.sqlite.write_queue import WriteQueue
from memstone.drive import drive
from memstone.errors import EncryptionError, MemstoneError, StorageError, StorageFull, StorageReadOnly, Unsupported
from memstone.ports.io import Io
from memstone.ports.ledger import Work
from memstone.ports.storage import EncryptionKeys

if TYPE_CHECKING:
    from memstone.results import EncryptionStatus, StoreCheck

# --- forking a process that has SQLite files open ---------------------------------------------------------------------


PATIENCE: Final = 5.0
"""How many seconds a fork waits for work under way."""


class Forkable(Protocol):
    """What is told about a fork."""

    def before_fork(self) -> None:
        """Come to rest and close connections."""
        ...

    def after_fork(self, *, child: bool) -> None:
        """Go on, in the parent or in the child."""
        ...


_watched: WeakSet[Forkable] = WeakSet()
_resting: list[Forkable] = []
_forking: Final = threading.Lock()


def register_for_forks(ledger: Forkable) -> None:
    """Tell a ledger about every fork, as long as it lives."""
    with _forking:
        _watched.add(ledger)


def _pause_for_fork() -> None:
    _forking.acquire()
    _resting.extend(_watched)
    for ledger in _resting:
        ledger.before_fork()


def _resume_after_fork(*, child: bool) -> None:
    for ledger in _resting:
        ledger.after_fork(child=child)
    _resting.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_pause_for_fork,
        after_in_parent=lambda: _resume_after_fork(child=False),
        after_in_child=lambda: _resume_after_fork(child=True),
    )


# --- whether there is room on the disk for a store to grow, and whether it can be written to at all -------------------


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TRIED_BYTES: Final = 65_536
_MEGABYTE: Final = 1_000_000


def refuse_full_disk(folder: Path, reserve_bytes: int) -> None:
    """Raise ``StorageFull`` if less space is free than is reserved.

    A folder that cannot be read is left to others.
    """
    if not reserve_bytes:
        return
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if free < reserve_bytes:
        raise StorageFull(
            f"{folder}: {free / _MEGABYTE:,.0f} MB free, {reserve_bytes / _MEGABYTE:,.0f} MB must stay free",
            hint="free some space or delete memories; store.reserve_mb sets how much must stay free",
        )


def try_to_write(folder: Path) -> None:
    """Write a file that has no name and is gone at once; raise if the disk is full or cannot be written."""
    try:
        with TemporaryFile(dir=folder) as tried:
            tried.write(bytes(_TRIED_BYTES))  # through a buffer, which writes all of it or raises
            tried.flush()
    except OSError as error:
        kind = StorageFull if error.errno in _FULL else StorageReadOnly
        raise kind(f"{folder}: {error.strerror}") from error


# --- connections for reading, shared by any number of threads ---------------------------------------------------------


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
    def connections_in_use(self) -> int:
        """How many connections are in use."""
        return self._lent

    def use(self, work: Callable[[Connection], T]) -> T:
        """Return the result of work on a connection nobody else uses meanwhile."""
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
        self.close_idle()
        return quiet

    def resume(self) -> None:
        """Lend again."""
        with self._change:
            self._resting = False
            self._change.notify_all()

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        self._closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """Close what is not in use."""
        with self._change:
            idle, self._idle = self._idle, deque()
        for connection in idle:
            connection.close()


# --- the ledger in one SQLite file ------------------------------------------------------------------------------------


_KEY_CHANGES: Final = 3
"""How often in a row the key of a file may have changed when somebody needs it."""


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

    def __init__(self, config: SqliteConfig, io: Io, keys: EncryptionKeys | None = None) -> None:
        """With ``keys``, the file is encrypted with the first of them that fits; a store in memory never is."""
        self._config, self._io, self._keys = config, io, keys
        self._chosen: Driver = PLAIN if keys is None or config.path is None else CipherDriver(keys)
        self._where = str(config.path) if config.path else "memory:"
        self._writer: Connection | None = None
        self._log_mark = LogMark(config.path) if config.path is not None else None
        self._closed = ""
        self._start()
        register_for_forks(self)

    def _start(self) -> None:
        """Make locks and queues that nobody holds: at first, and in a forked child."""
        self._guard = threading.Lock()
        self._queue = WriteQueue(self._open_writer, self._update_log_mark)
        self._readers = Readers(self._fresh_reader)
        self._lock_state: tuple[bool, bool] = (False, False)

    async def open(self) -> None:
        """Open the file and bring its schema up to date."""
        await self._io.run(self._open)

    def _open(self) -> None:
        with translate_errors(self._where):
            self._open_writer()

    async def migrate(self, grant: Sequence[str] = ()) -> dict[str, Any]:
        """Open the file, which brings its schema up to date."""
        if grant:
            raise Unsupported("an SQLite file has no roles to grant access to", kind="ledger", name="sqlite")
        before = await self._io.run(self._version)
        await self.open()
        return {"location": self._where, "before": before, "schema": latest_schema_version()}

    def _version(self) -> int:
        """Return the version of the file as it is; 0 where there is none."""
        if self._config.path is None or not self._config.path.exists():
            return 0
        with translate_errors(self._where):
            connection = self._connect(writable=False)
            try:
                return version_of(connection)
            finally:
                connection.close()

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot."""
        return await self._io.run(lambda: self._run_read(work))

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of one statement."""
        return await self._io.run(lambda: self._peek(work))

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        return await run_and_log(work, lambda unit: self._io.run(lambda: self._write(unit)))

    async def aside(self, work: Work[T]) -> T:
        """Run a unit as any other one that writes: there is one place to write in a file."""
        return await self.write(work)

    async def note(self, work: Work[T]) -> T:
        """Run a unit as one transaction that does not wait for the disk, unless one does that it is stored with."""
        return await run_and_log(work, lambda unit: self._io.run(lambda: self._write(unit, synced=False)))

    def of(self, tenant_id: str) -> SqliteLedger:  # noqa: ARG002 - every statement names its tenant
        """Return this ledger: a file has no walls between tenants."""
        return self

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Look at the disk that holds the file."""
        if self._config.path is None:
            return
        folder = self._config.path.parent
        refuse_full_disk(folder, self._config.reserve_bytes)
        if by_writing:
            await self._io.run(lambda: try_to_write(folder))

    async def check(self) -> StoreCheck:
        """Report location, schema, size, journal and the result of SQLite's own integrity check."""
        return await self._io.run(self._check)

    async def close(self) -> None:
        """Close every connection."""
        await self._io.run(self._close)

    def _write(self, work: Work[T], *, synced: bool = True) -> T:
        with translate_errors(self._where):
            return self._again_with_new_key(lambda: self._queue.run(work, synced=synced), self._reopen)

    def _again_with_new_key(self, call: Callable[[], T], prepare: Callable[[], None]) -> T:
        """Return the result of a call; if somebody changed the key of the file meanwhile, call it again.

        Whoever has another key than the file cannot read its first page, so nothing has happened yet.
        """
        for _ in range(_KEY_CHANGES):
            try:
                return call()
            except sqlite3.DatabaseError as error:
                if not self._chosen.is_other_key(error):
                    raise
            prepare()
        return call()

    def _reopen(self) -> None:
        """Close what was opened with a former key; whoever needs a connection next opens one with the new key."""
        with self._queue.turn, self._guard:
            if self._writer is not None and not self._writer.is_readable():
                self._close_writer()
        self._readers.close_idle()

    def _run_read(self, work: Work[T]) -> T:
        if self._config.path is None:  # one connection is the whole store, so reads take their turn
            return self._write(work)

        def run_in_snapshot(connection: Connection) -> T:
            connection.raw.execute("BEGIN")
            value = drive(work(connection.tx))
            connection.raw.execute("COMMIT")
            return value

        with translate_errors(self._where):
            return self._use_reader(run_in_snapshot)

    def _peek(self, work: Work[T]) -> T:
        if self._config.path is None:
            return self._write(work)
        with translate_errors(self._where):
            return self._use_reader(lambda connection: drive(work(connection.tx)))

    def _use_reader(self, read: Callable[[Connection], T]) -> T:
        """Return the result of reading; where a table or column is missing after an upgrade, say that."""
        try:
            return self._again_with_new_key(lambda: self._readers.use(read), self._reopen)
        except sqlite3.OperationalError as error:
            if str(error).startswith("no such"):
                self._readers.use(refuse_upgraded)
            raise

    def _fresh_reader(self) -> Connection:
        self._open_writer()
        return self._connect(writable=False)

    def _connect(self, *, writable: bool) -> Connection:
        path, durable = str(self._config.path), self._config.durable
        return open_connection(path, uri=False, writable=writable, durable=durable, driver=self._chosen)

    def _driver(self) -> Driver:
        if self._config.path is None and self._keys is not None:
            raise EncryptionError(
                "a store in memory has no encrypted backups", hint="use a file, or leave out store.encryption_key"
            )
        return self._chosen

    def _update_log_mark(self, connection: Connection) -> None:
        if self._log_mark is not None:
            self._log_mark.keep(connection)

    def _file(self) -> Path | None:
        return self._config.path

    def _open_writer(self) -> Connection:
        if self._writer is not None and not self._closed:
            return self._writer
        with self._guard:
            if self._closed:
                raise StorageError(self._closed, hint="create a new one")
            if self._writer is None:
                self._writer = self._again_with_new_key(lambda: _fresh_writer(self._config, self._chosen), lambda: None)
            return self._writer

    def _check(self) -> StoreCheck:
        with translate_errors(self._where):
            if self._config.path is not None:
                return self._use_reader(self._report)
            with self._queue.turn:
                return self._report(self._open_writer())

    def _report(self, connection: Connection) -> StoreCheck:
        damage = find_damage(connection.raw)
        if self._config.path is not None and lacks_log(connection.raw, self._config.path):
            damage = ["the file was copied without its log: the newest data is missing", *damage]
        return {
            "location": self._where,
            "sqlite": str(connection.raw.execute("SELECT sqlite_version()").fetchone()[0]),
            "schema": version_of(connection),
            "latest_schema": latest_schema_version(),
            "journal": _query_pragma(connection, "journal_mode")[0][0],
            "integrity": damage or ["ok"],
            "foreign_keys": 0 if damage else len(_query_pragma(connection, "foreign_key_check")),
            "bytes": self._config.path.stat().st_size if self._config.path else 0,
            "encryption": self._describe_encryption(),
        }

    def _describe_encryption(self) -> EncryptionStatus:
        if self._config.path is None:
            return describe_keys("memory", CIPHER, None)
        if not isinstance(self._chosen, CipherDriver):
            return describe_keys("plain", CIPHER, None)
        cipher = f"{CIPHER} {cipher_version()}"
        return describe_keys("encrypted", cipher, self._keys, self._chosen.key_of(self._config.path))

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
        self._lock_state = (turn, guard)
        self._rested = turn and quiet and guard
        if self._rested and self._config.path is not None:
            self._close_writer()

    def after_fork(self, *, child: bool) -> None:
        """Go on; a child has only the forking thread, so what others held or waited for is gone."""
        if child:
            self._start()
            if not self._rested:
                self._inherited, self._writer = self._writer, None  # kept, because closing it would disturb the parent
                self._closed = self._closed or "this memory was in use when its process was forked"
            return
        self._readers.resume()
        for lock, is_held in zip((self._queue.turn, self._guard), self._lock_state, strict=True):
            if is_held:
                lock.release()


def _query_pragma(connection: Connection, pragma: str) -> list[tuple[Any, ...]]:
    return connection.raw.execute(f"PRAGMA {pragma}").fetchall()


def _fresh_writer(config: SqliteConfig, driver: Driver) -> Connection:
    if config.path is None:
        connection = open_connection(":memory:", uri=False, writable=True, durable=False)
    else:
        _make_folder(config.path)
        make_private(config.path)  # its log and its shared memory get the same permissions
        target, durable = str(config.path), config.durable
        connection = open_connection(target, uri=False, writable=True, durable=durable, driver=driver)
    try:
        if config.path is not None and config.check:
            refuse_damaged_file(connection, config.path)
            refuse_without_log(connection, config.path)
        if config.path is not None:
            take_note_of_log(connection, config.path)
        _use_wal(connection, config)
        migrate_schema(connection, config.path)
        connection.wait_with_jitter()
    except (sqlite3.Error, MemstoneError):
        connection.close()
        raise
    return connection


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(mode=MY_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {path.parent}: {error.strerror}", hint="choose another store.url") from error


def _use_wal(connection: Connection, config: SqliteConfig) -> None:
    """Switch to a log: readers then never wait for the writer. Switching needs the lock for a moment."""
    if config.path is None:
        return
    if connection.raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.begin("PRAGMA journal_mode = WAL")
