"""A file of a store that was copied without its log is recognised, and not opened as if nothing were missing.

In WAL mode what was committed last lies in the log beside the file. The file alone cannot tell, unless it says so. So
one row holds two numbers. The next number is *announced*, and a checkpoint brings that into the file; that this number
was *begun* is left to the log. A file without its log therefore announces more than was begun. With the log, or after a
checkpoint of everything by anybody, both numbers are the same, and nothing is missing.

Such a checkpoint makes them the same in the file, too, and the next commit begins the log anew, under another salt. So
after each commit the salt is looked at, which takes a microsecond, and after a new one the file is asked what it says.
If a long reader keeps a checkpoint from its end, the log is not begun anew: until that reader is done, a copy of the
file alone may not be recognised.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from memstone.adapters.ledger.private import ONLY_ME
from memstone.adapters.ledger.sqlite_connection import Connection
from memstone.errors import Corrupted

_WAITS: Final = "SELECT announced > begun FROM log_mark WHERE id = 1"
_ANNOUNCE: Final = "UPDATE log_mark SET announced = announced + 1 WHERE id = 1"
_BEGIN: Final = "UPDATE log_mark SET begun = announced WHERE id = 1"
_SALT: Final = 16, 8
"""Where the header of a log has its salt, and how many bytes that is."""

_PAUSE: Final = 5.0
"""So many seconds after an announcement that did not get into the file the next one is made."""


def lacks_log(database: sqlite3.Connection, path: Path) -> bool:
    """Whether a file says that a log belongs to it, and there is none."""
    return _says_more(database) is True and not _log_bytes(path) and not _note(path).exists()


def refuse_without_log(connection: Connection, path: Path) -> None:
    """Raise ``Corrupted`` if a file was copied without its log."""
    if lacks_log(connection.raw, path):
        raise Corrupted(
            f"{path} was copied while it was in use, without its log {path.name}-wal: what was stored last is missing",
            hint=f"copy {path.name}-wal too, or use `memstone backup`, which copies a store in use; "
            "store.check = false opens the file as it is",
        )


def take_note_of_log(connection: Connection, path: Path) -> None:
    """Say that nothing is missing that a process announced which crashed before it could say so."""
    if _log_bytes(path) or _note(path).exists():
        begin_log(connection)
        _note(path).unlink(missing_ok=True)


def begin_log(connection: Connection) -> None:
    """Say that what was announced is there: in the log, or in a copy that needs none."""
    if _says_more(connection.raw):
        _run(connection, _BEGIN)


def _run(connection: Connection, statement: str) -> None:
    connection.begin("BEGIN IMMEDIATE")
    try:
        connection.raw.execute(statement)
        connection.raw.execute("COMMIT")
    finally:
        connection.rollback()


def _note(path: Path) -> Path:
    """A file that is there while a log is announced: if the process dies meanwhile, nothing is missing."""
    return path.with_name(f"{path.name}-mark")


def _says_more(database: sqlite3.Connection) -> bool | None:
    """Whether a log is announced that was not begun; None in a store of an older schema."""
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
        with suppress(sqlite3.Error, OSError):
            salt = self._read_salt()
            if salt and salt != self._salt and time.monotonic() >= self._next:
                self._see_to(connection)

    def _see_to(self, connection: Connection) -> None:
        begin_log(connection)  # of an announcement that a full disk interrupted
        if not self._is_announced():
            self._next = time.monotonic() + _PAUSE
            self._announce(connection)
        if self._is_announced():
            self._salt, self._next = self._read_salt(), 0.0

    def _announce(self, connection: Connection) -> None:
        note = _note(self._path)
        note.touch(ONLY_ME)
        _run(connection, _ANNOUNCE)
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

    def _is_announced(self) -> bool | None:
        """What the file says by itself. SQLite closes its descriptor in a way that costs nobody a lock."""
        where = f"{self._path.absolute().as_uri()}?immutable=1"
        with closing(sqlite3.connect(where, uri=True)) as file:
            return _says_more(file)
