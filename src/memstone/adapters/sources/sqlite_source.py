"""Read an SQLite file of another system without writing to it.

It comes from elsewhere, so nothing in it is run: no view, no virtual table, no trigger, no function of the schema.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from memstone.adapters.sources.qdrant_points import read_point
from memstone.errors import InvalidInput

_CELL_BYTES: Final = 16_777_216
_STEPS: Final = 2_000_000
_MOST_STEPS: Final = 5_000
"""A question to a database of somebody else's ends after so many times so many steps, whatever it was made to do."""

_PLAIN: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"


class SqliteSource:
    """See ``memstone.ports.storage.TableSource``: a database while it is open."""

    def __init__(self, source: Path | bytes) -> None:
        self._source = source
        self._columns: dict[str, frozenset[str]] | None = None

    def __enter__(self) -> Self:
        with _translate_read_errors():
            self._database = _open_database(self._source)
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def columns(self) -> Mapping[str, frozenset[str]]:
        """Return the columns of every plain table."""
        if self._columns is None:
            with _translate_read_errors():
                names = [str(name) for (name,) in self._database.execute(_PLAIN).fetchall()]
                self._columns = {name: self._of(name) for name in names}
        return self._columns

    def _of(self, table: str) -> frozenset[str]:
        found = self._database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return frozenset(str(name) for (name,) in found)

    def rows(self, table: str, order: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table; bytes are read as a point of Qdrant, or as None if they are none."""
        columns = sorted(self.columns().get(table, frozenset()))
        if not columns:
            return
        wanted = ", ".join(_quote_identifier(name) for name in columns)
        by = ", ".join(_quote_identifier(name) for name in order if name in columns)
        question = f"SELECT {wanted} FROM {_quote_identifier(table)}"  # noqa: S608 - names the database gave, quoted
        with _translate_read_errors():
            for row in self._database.execute(question + (f" ORDER BY {by}" if by else "")):
                answer = (read_point(value) if isinstance(value, bytes) else value for value in row)
                yield dict(zip(columns, answer, strict=True))


@contextmanager
def _translate_read_errors() -> Iterator[None]:
    """Yield what the database has to say against being read, in our words."""
    try:
        yield
    except sqlite3.Error as error:
        raise InvalidInput(
            f"the database cannot be read: {error}", hint="check that the file is complete and not encrypted"
        ) from error


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _open_database(source: Path | bytes) -> sqlite3.Connection:
    path = ":memory:" if isinstance(source, bytes) else f"file:{quote(str(source.absolute()))}?mode=ro"
    database = sqlite3.connect(path, uri=True, isolation_level=None, timeout=5.0)
    try:
        if isinstance(source, bytes):
            database.deserialize(_without_log(source))
        return _restrict_database(database)
    except sqlite3.Error:
        database.close()
        raise


def _without_log(raw: bytes) -> bytes:
    """Mark a file as written without a log, which is not here: otherwise it cannot be read from memory."""
    return raw[:18] + b"\x01\x01" + raw[20:] if raw[18:20] == b"\x02\x02" else raw


def _restrict_database(database: sqlite3.Connection) -> sqlite3.Connection:
    """Let a database from elsewhere do nothing but tell its rows, and not for ever."""
    for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {setting}")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    steps = iter(range(_MOST_STEPS))
    database.set_progress_handler(lambda: 0 if next(steps, None) is not None else 1, _STEPS)
    return database
