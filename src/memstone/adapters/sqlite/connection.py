"""Open SQLite connections, and translate their errors."""

from __future__ import annotations

import random
import re
import sqlite3
import time
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from memstone.adapters.sql.rows import Params, Row
from memstone.adapters.sql.tx import SqlTx
from memstone.adapters.sql.where import Shapes, compile_where
from memstone.adapters.sqlite.driver import ENCRYPTED_MARK, PLAIN, STATEMENTS, Driver, is_not_a_database, starts_with
from memstone.errors import (
    Conflict,
    Corrupted,
    EncryptionError,
    InvalidInput,
    MemstoneError,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
)

# --- SQLite's errors in Memstone's words ------------------------------------------------------------------------------


_BY_CODE: dict[int, type[MemstoneError]] = {
    sqlite3.SQLITE_BUSY: StorageBusy,
    sqlite3.SQLITE_LOCKED: StorageBusy,
    sqlite3.SQLITE_READONLY: StorageReadOnly,
    sqlite3.SQLITE_PERM: StorageReadOnly,
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_CORRUPT: Corrupted,
    sqlite3.SQLITE_NOTADB: Corrupted,
}
_PRIMARY = 0xFF
_CANNOT_OPEN = "check that the directory exists, that this user may write to it, and the limit on open files"
_DISK = "the disk or a limit on file sizes failed it; nothing that was acknowledged is lost"


def primary_code(error: sqlite3.Error) -> int:
    """Return the error code without its extension bits."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY


def is_unreadable(error: sqlite3.Error) -> bool:
    """Return whether a text could not be read because its bytes are no text; SQLite itself does not mind."""
    return str(error).startswith("Could not decode to UTF-8")


def to_memstone_error(error: sqlite3.Error, where: str) -> MemstoneError:
    """Return the typed error for one of SQLite's."""
    if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
        return Conflict(f"the same thing is already stored: {error}")
    if is_unreadable(error):  # the error itself quotes what somebody stored
        return Corrupted(f"{where}: a text is damaged and cannot be read")
    if is_not_a_database(error) and starts_with(Path(where), ENCRYPTED_MARK):
        return EncryptionError(
            f"{where} is encrypted, but store.encryption_key is not set",
            hint="set it to where the key is, for example keyring:memstone/people; nothing was changed",
        )
    code = primary_code(error)
    if code in _BY_CODE:
        return _BY_CODE[code](f"{where}: {error}")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(f"{where} cannot be opened: {error}", hint=_CANNOT_OPEN)
    return StorageError(f"{where}: {error}", hint=_DISK if code == sqlite3.SQLITE_IOERR else None)


class translate_errors:  # noqa: N801 - it is used like a function
    """Turn SQLite's errors into Memstone's at the boundary."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        """Do nothing: everybody comes by here, and most have no error."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.Error):
            raise to_memstone_error(error, self._where) from error
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            hint = "numbers can have at most 64 bits, and texts must be valid Unicode"
            raise InvalidInput(f"{self._where} cannot store a value: {error}", hint=hint) from error


# --- how a SQLite connection is opened, and how the seam speaks to it -------------------------------------------------


BUSY_SECONDS: Final = 60.0
_WHERE: Final = Shapes(compile_where)
_TOGETHER: Final = 20
"""How many rows one statement inserts: with more it is hardly faster, and takes longer to compile."""

_VALUES: Final = re.compile(r"\s*INSERT( INTO [^?]* VALUES )(\((?:\?, )*\?\))")


class SqliteSql:
    """The seam over one connection: every call answers at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute, self._executemany = connection.execute, connection.executemany

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        return self._execute(query, params).fetchall()

    async def one(self, query: str, params: Params = ()) -> Row | None:
        row: Row | None = self._execute(query, params).fetchone()
        return row

    async def run(self, query: str, params: Params = ()) -> int:
        return self._execute(query, params).rowcount

    async def insert(self, query: str, params: Params) -> int:
        key = self._execute(query, params).lastrowid
        assert key is not None, "an INSERT gives a row id"  # noqa: S101 - tells the type checker what SQLite promises
        return key

    async def many(self, query: str, params: Iterable[Params]) -> None:
        rows = iter(params)
        part = list(islice(rows, _TOGETHER))
        while len(part) == _TOGETHER and (several := _multi_row_insert(query)):
            self._execute(several, list(chain.from_iterable(part)))
            part = list(islice(rows, _TOGETHER))
        if part:
            self._executemany(query, part if len(part) < _TOGETHER else chain(part, rows))


@lru_cache(maxsize=STATEMENTS)
def _multi_row_insert(query: str) -> str:
    """Return the same INSERT for several rows, '' when it is none of given values.

    Each statement opens every index again.

    OR FAIL leaves the rows before one that fails, as statements of one row do: whoever fails undoes the whole unit.
    Without it SQLite would copy every page that the statement touches, to undo that statement alone.
    """
    one = _VALUES.match(query)
    if one is None:
        return ""
    return f"INSERT OR FAIL{one[1]}{', '.join([one[2]] * _TOGETHER)}{query[one.end() :]}"


class Connection:
    """A connection and the tables over it."""

    def __init__(self, raw: sqlite3.Connection, *, durable: bool = False, driver: Driver = PLAIN) -> None:
        self.raw, self.driver = raw, driver
        self._durable = self._synced = durable
        self.tx = SqlTx(SqliteSql(raw), _WHERE)

    def wait_with_jitter(self) -> None:
        """Leave the waiting to ``begin``, once the file is open: opening it waits in many places."""
        self.raw.execute("PRAGMA busy_timeout = 0")

    def sync(self, *, wanted: bool) -> None:
        """Say whether the next commit waits for the disk; in a store that never waits, none does.

        What was committed without waiting is on disk with the next commit that waits: both go to one log, in order.
        """
        if self._durable and wanted != self._synced:
            self.raw.execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._synced = wanted

    def begin(self, kind: str, seconds: float = BUSY_SECONDS) -> None:
        """Start a transaction; wait with jitter while another process holds the write lock.

        SQLite's own busy handler sleeps in fixed steps, so that many waiting processes wake together;
        random pauses spread them.
        """
        deadline = time.monotonic() + seconds
        pause = 0.001
        while True:
            try:
                self.raw.execute(kind)
            except sqlite3.OperationalError as error:
                if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            else:
                return
            time.sleep(random.uniform(0.2, 1.0) * pause)  # noqa: S311 - jitter, not a secret
            pause = min(pause * 1.5, 0.05)

    def rollback(self) -> None:
        """End a transaction without its changes; harmless when there is none."""
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK")

    def is_readable(self) -> bool:
        """Return whether the file can still be read: its key may have changed since it was opened."""
        try:
            self.rollback()
            self.raw.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError:
            return False
        return True

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()


def open_connection(target: str, *, uri: bool, writable: bool, durable: bool, driver: Driver = PLAIN) -> Connection:
    """Open a connection. Autocommit: transactions begin and end where the code says so."""
    raw = driver.connect(target, uri=uri, timeout=BUSY_SECONDS)
    try:
        raw.create_function("casefold", 1, _casefold_text, deterministic=True)
        for pragma in _list_pragmas(writable=writable, durable=durable):
            raw.execute(f"PRAGMA {pragma}")
    except BaseException:
        raw.close()
        raise
    return Connection(raw, durable=writable and durable, driver=driver)


def _list_pragmas(*, writable: bool, durable: bool) -> tuple[str, ...]:
    # cell_size_check: a page whose entries cannot be is noticed when it is read, not when it has led astray.
    shared = (
        *("foreign_keys = ON", "cache_size = -8192", "temp_store = MEMORY", "trusted_schema = OFF"),
        "cell_size_check = ON",
    )
    if not writable:
        return (*shared, "query_only = ON")
    # secure_delete: what is deleted leaves no text behind in free pages. wal_autocheckpoint: an add writes some 25
    # pages, so the default of 1,000 would copy the log back every 40 adds.
    synchronous = f"synchronous = {'FULL' if durable else 'NORMAL'}"
    return (*shared, synchronous, "secure_delete = ON", "wal_autocheckpoint = 8000")


def _casefold_text(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value
