"""How every connection to PostgreSQL is made, whatever the environment or the role's settings say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

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


def options(url: str, name: str = NAME) -> dict[str, Any]:
    """What psycopg is told beside a URL, which may say more about names and patience."""
    told = conninfo_to_dict(url)
    patience = {option: value for option, value in _UNLESS_TOLD.items() if option not in told}
    return {**patience, **_ALWAYS, "fallback_application_name": name}


def connected(url: str, name: str = NAME) -> psycopg.Connection[Any]:
    """A connection of one's own."""
    return psycopg.connect(url, **options(url, name))


@contextmanager
def setting_up(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """A transaction that makes what is missing in a database, one process after the other, however long it takes.

    The lock is held by the transaction, not by the session: behind a pooler the next statement may go to another one.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        yield
