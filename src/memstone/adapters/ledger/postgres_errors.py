"""PostgreSQL's errors in Memstone's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolTimeout

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
