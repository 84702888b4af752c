"""Damage in a SQLite file: what is looked for, when, and what is said.

SQLite notices pages that cannot be, and its own check compares every index with its table. It does not notice that a
character of a text has become another, so the text of each memory is compared with the hash that is stored beside it.
A vector has the length 1, which shows where one of its numbers has become quite another. What nobody notices: other
values that were changed in place, such as a time, metadata or an event.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final

from memstone.adapters.ledger.codec import refuse_damaged
from memstone.adapters.ledger.sqlite_connection import Connection
from memstone.adapters.ledger.sqlite_errors import is_unreadable, primary_code
from memstone.errors import Corrupted

CHECKED_BYTES: Final = 8 << 20
"""A file of so many bytes is checked whenever it is opened, in 40 ms at most; larger ones by workers and backups."""

_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"
_VECTORS: Final = "SELECT memory_seq, vector FROM vectors"
_FLOAT_BYTES: Final = 4
_ROUNDING: Final = 0.01
_OPEN_ANYWAY: Final = "`memstone export --everybody` saves what can be read; store.check = false opens it as it is"


def find_damage(database: sqlite3.Connection) -> list[str]:
    """Return what is damaged, by tables and the first of each; nothing for a sound file."""
    if not (found := _problems(database, "integrity_check(5)")):
        return _damaged_values(database)
    tables = [row[0] for row in database.execute(_TABLES).fetchall()]
    wrong = {table: _problems(database, f"integrity_check('{table}')") for table in tables}
    return [f"{table}: {lines[0]}" for table, lines in wrong.items() if lines] or found


def refuse_damaged_file(connection: Connection, path: Path) -> None:
    """Raise ``Corrupted`` if a small file is damaged; larger ones are left to workers and backups."""
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size + (log.stat().st_size if log.exists() else 0) > CHECKED_BYTES:
        return
    if found := _problems(connection.raw, "integrity_check(1)"):
        raise Corrupted(f"{path} is damaged: {found[0]}", hint=f"restore a backup; {_OPEN_ANYWAY}")


def refuse_damaged_copy(database: sqlite3.Connection, store: str) -> None:
    """Raise ``Corrupted`` if a copy that was just made is damaged, because the store is."""
    if found := _problems(database, "integrity_check(1)") or _damaged_values(database):
        raise Corrupted(
            f"{store} is damaged, and no backup was written: {found[0]}",
            hint=f"keep the backups you have: `memstone doctor` shows what is damaged; {_OPEN_ANYWAY}",
        )


def _problems(database: sqlite3.Connection, check: str) -> list[str]:
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
