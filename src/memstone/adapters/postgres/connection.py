"""Open PostgreSQL connections with fixed settings, and translate their errors."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psycopg
from psycopg import adapt, pq
from psycopg.conninfo import conninfo_to_dict
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


def connect_options(url: str, name: str = NAME) -> dict[str, Any]:
    """Return what psycopg is told beside a URL, which may say more about names and patience."""
    answer = conninfo_to_dict(url)
    patience = {option: value for option, value in _UNLESS_TOLD.items() if option not in answer}
    return {**patience, **_ALWAYS, "fallback_application_name": name}


def open_connection(url: str, name: str = NAME) -> psycopg.Connection[Any]:
    """Return a connection of one's own."""
    return psycopg.connect(url, **connect_options(url, name))


@contextmanager
def setting_up(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Yield a transaction that creates what a database lacks, one process at a time.

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
    "25006": (StorageReadOnly, "this is a standby, or the role is read-only"),
    "42501": (StorageError, "the role lacks a privilege: run `memstone migrate --grant ROLE` as the owner"),
    "53100": (StorageFull, ""),
    "53300": (StorageBusy, "raise max_connections of the server, or lower store.pool_size"),
    "54000": (TooLarge, ""),
    "55P03": (StorageBusy, "another process kept writing for this tenant"),
    "57014": (StorageBusy, "if the statement really takes that long, raise store.statement_seconds"),
    "XX001": (Corrupted, ""),
    "XX002": (Corrupted, ""),
}


def is_passing(error: psycopg.Error) -> bool:
    """Return whether the same unit may succeed when it is run again."""
    return error.sqlstate in RUN_AGAIN or error.sqlstate in AWAY


def to_memstone_error(error: psycopg.Error, where: str) -> MemstoneError:
    """Return the typed error for one of PostgreSQL's; without its detail, which may quote what somebody stored."""
    text = error.diag.message_primary or str(error).strip().partition("\n")[0]
    if error.sqlstate in _BY_STATE:
        kind, hint = _BY_STATE[error.sqlstate]
        if "index row" in text:
            hint = "shorten the ids: PostgreSQL indexes at most 2.7 kB of them together"
        return kind(f"{where}: {text}", hint=hint or None)
    if isinstance(error, PoolTimeout):
        return StorageBusy(
            f"{where}: no connection within {text.rpartition(' after ')[2]}",
            hint="check that the server is running and allows store.pool_size connections per process",
        )
    if isinstance(error, psycopg.OperationalError):
        return StorageBusy(
            f"{where} cannot be reached: {text}", hint="check that the server is running and that the URL is right"
        )
    if isinstance(error, psycopg.DataError) and "NUL" in text:
        return InvalidInput("a text contains a NUL character", hint="remove it; databases cannot store it as text")
    return StorageError(f"{where}: {text}")


@contextmanager
def translate_postgres_errors(where: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into Memstone's at the boundary."""
    try:
        yield
    except psycopg.Error as error:
        raise to_memstone_error(error, where) from error
    except UnicodeEncodeError as error:
        hint = "numbers can have at most 64 bits, and texts must be valid Unicode"
        raise InvalidInput(f"{where} cannot store a value: {error}", hint=hint) from error


# --- vectors between pgvector, which writes them big-endian behind a header, and the ledger's -------------------------


_HEADER: Final = 4
"""Two bytes for the dimension, two that are not used."""


class PgVector:
    """A vector on its way to the database."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def wire(self) -> bytes:
        """Return it as pgvector reads it."""
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


def register_vector_type(connection: Any, vector_oid: int) -> None:
    """Let a connection read and write vectors."""
    adapters = connection.adapters
    adapters.register_loader(vector_oid, _Loader)
    adapters.register_dumper(PgVector, type("_VectorDumper", (_Dumper,), {"oid": vector_oid}))
