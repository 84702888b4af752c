"""A SQLite file of another system, read and never written.

It comes from elsewhere, so nothing in it is run: no view, no virtual table, no trigger, no function of the schema.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from retain.errors import InvalidInput

_CELL_BYTES: Final = 16_777_216
_STEPS: Final = 2_000_000
_MOST_STEPS: Final = 5_000
"""A question to a database of somebody else's ends after so many times so many steps, whatever it was made to do."""

_PLAIN: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"


@contextmanager
def sqlite_source(source: Path | bytes) -> Iterator[SqliteTables]:
    """See ``retain.ports.sources.TableSource``."""
    try:
        with closing(_opened(source)) as database:
            yield SqliteTables(database)
    except sqlite3.Error as error:
        raise InvalidInput(f"the database cannot be read: {error}", hint="is it whole, and not encrypted?") from error


class SqliteTables:
    """See ``retain.ports.sources.Tables``."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._columns: dict[str, frozenset[str]] | None = None

    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of every plain table."""
        if self._columns is None:
            names = [str(name) for (name,) in self._database.execute(_PLAIN).fetchall()]
            self._columns = {name: self._of(name) for name in names}
        return self._columns

    def _of(self, table: str) -> frozenset[str]:
        found = self._database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return frozenset(str(name) for (name,) in found)

    def rows(self, table: str, order: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a table; bytes that are no text are read as None."""
        columns = sorted(self.columns().get(table, frozenset()))
        if not columns:
            return
        wanted = ", ".join(_named(name) for name in columns)
        by = ", ".join(_named(name) for name in order if name in columns)
        question = f"SELECT {wanted} FROM {_named(table)}"  # noqa: S608 - names the database gave, quoted
        for row in self._database.execute(question + (f" ORDER BY {by}" if by else "")):
            yield {name: None if isinstance(value, bytes) else value for name, value in zip(columns, row, strict=True)}


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _opened(source: Path | bytes) -> sqlite3.Connection:
    if isinstance(source, bytes):
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.deserialize(_without_log(source))
    else:
        path = quote(str(source.absolute()))
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, timeout=5.0)
    return _guarded(database)


def _without_log(raw: bytes) -> bytes:
    """A file that is written with a log cannot be read from memory unless it says it is not; its log is not here."""
    return raw[:18] + b"\x01\x01" + raw[20:] if raw[18:20] == b"\x02\x02" else raw


def _guarded(database: sqlite3.Connection) -> sqlite3.Connection:
    """Let a database from elsewhere do nothing but tell its rows, and not for ever."""
    for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {setting}")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    steps = iter(range(_MOST_STEPS))
    database.set_progress_handler(lambda: 0 if next(steps, None) is not None else 1, _STEPS)
    return database
