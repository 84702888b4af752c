"""SQLite's errors in Retain's words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from retain.errors import (
    Conflict,
    Corrupted,
    InvalidInput,
    RetainError,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
)

_BY_CODE: dict[int, type[RetainError]] = {
    sqlite3.SQLITE_BUSY: StorageBusy,
    sqlite3.SQLITE_LOCKED: StorageBusy,
    sqlite3.SQLITE_READONLY: StorageReadOnly,
    sqlite3.SQLITE_PERM: StorageReadOnly,
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_CORRUPT: Corrupted,
    sqlite3.SQLITE_NOTADB: Corrupted,
}
_PRIMARY = 0xFF


def primary_code(error: sqlite3.Error) -> int:
    """The error code without its extension bits."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY


def translated(error: sqlite3.Error, where: str) -> RetainError:
    """The typed error for one of SQLite's."""
    if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
        return Conflict(f"the same thing is already stored: {error}")
    code = primary_code(error)
    if code in _BY_CODE:
        return _BY_CODE[code](f"{where}: {error}")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(
            f"{where} cannot be opened: {error}", hint="does the directory exist, and may this user write to it?"
        )
    return StorageError(f"{where}: {error}")


@contextmanager
def translating(where: str) -> Iterator[None]:
    """Turn SQLite's errors into Retain's at the boundary."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, where) from error
    except (UnicodeEncodeError, OverflowError) as error:
        hint = "a number has 64 bits at most, and a text whole characters only"
        raise InvalidInput(f"{where} cannot hold a value: {error}", hint=hint) from error
