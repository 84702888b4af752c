"""SQLite's errors in Memstone's words."""

from __future__ import annotations

import sqlite3

from memstone.errors import (
    Conflict,
    Corrupted,
    InvalidInput,
    MemstoneError,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
)

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
_CANNOT_OPEN = "does the directory exist, may this user write to it, and may the process open more files?"
_DISK = "the disk, or a limit on the size of files, let it down; nothing that was acknowledged is lost"


def primary_code(error: sqlite3.Error) -> int:
    """The error code without its extension bits."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY


def is_unreadable(error: sqlite3.Error) -> bool:
    """Whether a text could not be read because its bytes are no text; SQLite itself does not mind."""
    return str(error).startswith("Could not decode to UTF-8")


def translated(error: sqlite3.Error, where: str) -> MemstoneError:
    """The typed error for one of SQLite's."""
    if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
        return Conflict(f"the same thing is already stored: {error}")
    if is_unreadable(error):  # the error itself quotes what somebody stored
        return Corrupted(f"{where}: a text is damaged and cannot be read")
    code = primary_code(error)
    if code in _BY_CODE:
        return _BY_CODE[code](f"{where}: {error}")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StorageError(f"{where} cannot be opened: {error}", hint=_CANNOT_OPEN)
    return StorageError(f"{where}: {error}", hint=_DISK if code == sqlite3.SQLITE_IOERR else None)


class translating:  # noqa: N801 - it is used like a function
    """Turn SQLite's errors into Memstone's at the boundary."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        """Nothing: everybody comes by here, and most have no error."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.Error):
            raise translated(error, self._where) from error
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            hint = "a number has 64 bits at most, and a text whole characters only"
            raise InvalidInput(f"{self._where} cannot hold a value: {error}", hint=hint) from error
