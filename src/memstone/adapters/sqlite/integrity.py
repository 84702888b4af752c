"""Look for damage in an SQLite file, and for a missing log.

SQLite notices pages that cannot be, and its own check compares every index with its table. It does not notice that a
character of a text has become another, so the text of each memory is compared with the hash that is stored beside it.
A vector has the length 1, which shows where one of its numbers has become quite another. What nobody notices: other
values that were changed in place, such as a time, metadata or an event.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from memstone.adapters.sql.rows import ONLY_ME, refuse_damaged
from memstone.adapters.sqlite.connection import Connection, is_unreadable, primary_code
from memstone.adapters.sqlite.driver import Driver
from memstone.errors import Corrupted, MemstoneError

# --- damage in a SQLite file ------------------------------------------------------------------------------------------


CHECKED_BYTES: Final = 8 << 20
"""A file of so many bytes is checked whenever it is opened, in 40 ms at most; larger ones by workers and backups."""

_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"
_VECTORS: Final = "SELECT memory_seq, vector FROM vectors"
_FLOAT_BYTES: Final = 4
_ROUNDING: Final = 0.01
_OPEN_ANYWAY: Final = "`memstone export --everybody` saves what can be read; store.check = false opens it as it is"


def find_damage(database: sqlite3.Connection) -> list[str]:
    """Return what is damaged, by tables and the first of each; nothing for a sound file."""
    if not (found := _find_problems(database, "integrity_check(5)")):
        return _damaged_values(database)
    tables = [row[0] for row in database.execute(_TABLES).fetchall()]
    wrong = {table: _find_problems(database, f"integrity_check('{table}')") for table in tables}
    return [f"{table}: {lines[0]}" for table, lines in wrong.items() if lines] or found


def refuse_damaged_file(connection: Connection, path: Path) -> None:
    """Raise ``Corrupted`` if a small file is damaged; larger ones are left to workers and backups."""
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size + (log.stat().st_size if log.exists() else 0) > CHECKED_BYTES:
        return
    if found := _find_problems(connection.raw, "integrity_check(1)"):
        raise Corrupted(f"{path} is damaged: {found[0]}", hint=f"restore a backup; {_OPEN_ANYWAY}")


def refuse_damaged_copy(database: sqlite3.Connection, store: str) -> None:
    """Raise ``Corrupted`` if a copy that was just made is damaged, because the store is."""
    if found := _find_problems(database, "integrity_check(1)") or _damaged_values(database):
        raise Corrupted(
            f"{store} is damaged, and no backup was written: {found[0]}",
            hint=f"keep the backups you have: `memstone doctor` shows what is damaged; {_OPEN_ANYWAY}",
        )


def _find_problems(database: sqlite3.Connection, check: str) -> list[str]:
    try:
        return [row[0] for row in database.execute(f"PRAGMA {check}").fetchall() if row[0] != "ok"]
    except sqlite3.DatabaseError as error:  # the check breaks off at a page that cannot be read
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        return [str(error)]


def _damaged_values(database: sqlite3.Connection) -> list[str]:
    """Return the first value of each table that cannot be read, or is not what was stored."""
    tables = [row[0] for row in database.execute(_TABLES).fetchall() if not row[0].startswith("fulltext")]
    return [problem for table in tables if (problem := _damaged_value(database, table))]


def _damaged_value(database: sqlite3.Connection, table: str) -> str:
    try:
        if table == "vectors":
            _compare_lengths(database.execute(_VECTORS))
            return ""
        if table == "memories":
            for memory_id, text, stored_hash in database.execute("SELECT id, text, hash FROM memories"):
                refuse_damaged(memory_id, text, stored_hash)
        _read_through(database.execute(f'SELECT * FROM "{table}"'))
    except Corrupted as error:
        return f"{table}: {error.message}"
    except sqlite3.OperationalError as error:
        if not is_unreadable(error):
            raise
        return f"{table}: a text is damaged and cannot be read"
    return ""


def _compare_lengths(rows: Any) -> None:
    """Raise ``Corrupted`` if a vector has not the length 1; the vector of nothing has none."""
    import numpy as np  # only whoever checks needs it

    while page := rows.fetchmany(1_000):
        by_size: dict[int, list[tuple[int, bytes]]] = {}
        for seq, vector in page:
            by_size.setdefault(len(vector), []).append((seq, vector))
        for size, found in by_size.items():
            if size % _FLOAT_BYTES:
                raise Corrupted(f"the vector of version {found[0][0]} is damaged")
            numbers = np.frombuffer(b"".join(vector for _, vector in found), "<f4").reshape(len(found), -1)
            lengths = np.linalg.norm(numbers.astype("<f8"), axis=1)
            wrong = np.flatnonzero(~((np.abs(lengths - 1.0) < _ROUNDING) | (lengths == 0.0)))
            if len(wrong):
                raise Corrupted(f"the vector of version {found[wrong[0]][0]} is damaged")


def _read_through(rows: Any) -> None:
    while rows.fetchmany(1_000):
        pass


# --- a file of a store that was copied without its log is recognised, and not opened as if nothing --------------------


_WAITS: Final = "SELECT announced > begun FROM log_mark WHERE id = 1"
_ANNOUNCE: Final = "UPDATE log_mark SET announced = announced + 1 WHERE id = 1"
_BEGIN: Final = "UPDATE log_mark SET begun = announced WHERE id = 1"
_SALT: Final = 16, 8
"""Where the header of a log has its salt, and how many bytes that is."""

_PAUSE: Final = 5.0
"""So many seconds after an announcement that did not get into the file the next one is made."""


_SETTLED: Final = 0.5
_LOOK_AGAIN: Final = 0.02
"""Seconds: a process that is about to begin its log does so within the first; how often to look is the second."""


def lacks_log(database: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file says that a log belongs to it, and there is none.

    While others write, the three signs are not seen at one moment: one process may begin its log, and another take the
    note of both away, after the first sign was read. So a file is only said to lack its log if it does for a while.
    """
    until = time.monotonic() + _SETTLED
    while _says_more(database) is True and not _log_bytes(path) and not _log_mark_path(path).exists():
        if time.monotonic() >= until:
            return True
        time.sleep(_LOOK_AGAIN)
    return False


def refuse_without_log(connection: Connection, path: Path) -> None:
    """Raise ``Corrupted`` if a file was copied without its log."""
    if lacks_log(connection.raw, path):
        raise Corrupted(
            f"{path} was copied while it was in use, without its log {path.name}-wal: the newest data is missing",
            hint=f"copy {path.name}-wal too, or use `memstone backup`, which copies a store in use; "
            "store.check = false opens the file as it is",
        )


def take_note_of_log(connection: Connection, path: Path) -> None:
    """Say that nothing is missing that a process announced which crashed before it could say so."""
    if _log_bytes(path) or _log_mark_path(path).exists():
        begin_log(connection)
        _log_mark_path(path).unlink(missing_ok=True)


def begin_log(connection: Connection) -> None:
    """Say that what was announced is there: in the log, or in a copy that needs none."""
    if _says_more(connection.raw):
        _execute_in_transaction(connection, _BEGIN)


def _execute_in_transaction(connection: Connection, statement: str) -> None:
    connection.begin("BEGIN IMMEDIATE")
    try:
        connection.raw.execute(statement)
        connection.raw.execute("COMMIT")
    finally:
        connection.rollback()


def _log_mark_path(path: Path) -> Path:
    """Return a file that is there while a log is announced: if the process dies meanwhile, nothing is missing."""
    return path.with_name(f"{path.name}-mark")


def _says_more(database: sqlite3.Connection) -> bool | None:
    """Return whether a log is announced that was not begun; None in a store of an older schema."""
    try:
        row = database.execute(_WAITS).fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else bool(row[0])


def _log_bytes(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0


class LogMark:
    """Lets the file of a store announce its log, as long as one connection writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log: int | None = None
        self._salt = b""
        self._next = 0.0

    def close(self) -> None:
        """Let go of the log, before its connection is closed; nobody locks it, so that costs nobody a lock."""
        if self._log is not None:
            os.close(self._log)
            self._log, self._salt = None, b""

    def keep(self, connection: Connection) -> None:
        """Announce the log if the file does not; to be called after a commit, which is not undone if this fails."""
        with suppress(sqlite3.Error, OSError, MemstoneError):
            salt = self._read_salt()
            if salt and salt != self._salt and time.monotonic() >= self._next:
                self._see_to(connection)

    def _see_to(self, connection: Connection) -> None:
        begin_log(connection)  # of an announcement that a full disk interrupted
        if not self._is_announced(connection.driver):
            self._next = time.monotonic() + _PAUSE
            self._announce(connection)
        if self._is_announced(connection.driver):
            self._salt, self._next = self._read_salt(), 0.0

    def _announce(self, connection: Connection) -> None:
        note = _log_mark_path(self._path)
        note.touch(ONLY_ME)
        _execute_in_transaction(connection, _ANNOUNCE)
        try:
            connection.raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        finally:
            begin_log(connection)
        note.unlink(missing_ok=True)

    def _read_salt(self) -> bytes:
        start, size = _SALT
        if not hasattr(os, "pread"):
            return b""
        if self._log is None:
            self._log = os.open(self._path.with_name(f"{self._path.name}-wal"), os.O_RDONLY)
        return os.pread(self._log, size, start)

    def _is_announced(self, driver: Driver) -> bool | None:
        """Return what the file says by itself. SQLite closes its descriptor in a way that costs nobody a lock."""
        where = f"{self._path.absolute().as_uri()}?immutable=1"
        with closing(driver.connect(where, uri=True)) as file:
            return _says_more(file)
