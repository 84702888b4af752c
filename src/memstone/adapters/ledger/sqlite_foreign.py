"""What is taken from a backup that this store did not sign: rows, into tables of our own making, and nothing else.

Triggers, views, and tables that no store has stay behind, and so do rows that would open a door: keys, accounts,
sessions, secrets, and settings that say where a service sends what it is told. A table that only looks like one of ours
is refused.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final, TypeAlias

from memstone.adapters.ledger.migrate import make_schema
from memstone.adapters.ledger.sqlite_connection import Connection
from memstone.errors import Corrupted
from memstone.ports.storage import ACCESS_TABLES, OWN_TABLES, SERVICE_SETTINGS

_Objects: TypeAlias = dict[tuple[str, str], str]
_OBJECTS: Final = "SELECT type, name, sql FROM {}.sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_MARK: Final = "log_mark"
_BARRED: Final = frozenset((*ACCESS_TABLES, *OWN_TABLES))
_NOT_OF_A_SERVICE: Final = f" WHERE substr(scope_key, 1, {len(SERVICE_SETTINGS)}) <> '{SERVICE_SETTINGS}'"


def take_rows(target: Connection, source: Path, version: int) -> dict[str, Any]:
    """Make a store of a version in an empty file and copy the rows of a foreign one; gives what was left out."""
    make_schema(target, version)
    raw = target.raw
    raw.execute("PRAGMA foreign_keys = OFF")
    raw.execute("ATTACH DATABASE ? AS foreign_store", (str(source),))
    try:
        ours, theirs = _objects(raw, "main"), _objects(raw, "foreign_store")
        tables = [name for (kind, name), _ in ours.items() if kind == "table" and not name.startswith("fulltext")]
        _refuse_other_tables(ours, theirs, tables)
        raw.execute("BEGIN IMMEDIATE")
        rows = {table: count for table in tables if (count := _take(raw, table)) and table != _MARK}
        raw.execute("INSERT INTO fulltext (fulltext) VALUES ('rebuild')")
        raw.execute("COMMIT")
    except sqlite3.IntegrityError as error:
        raise Corrupted(f"the backup holds rows that no store can have: {error}", hint="use another") from error
    finally:
        target.rollback()
        raw.execute("DETACH DATABASE foreign_store")
        raw.execute("PRAGMA foreign_keys = ON")
    return {"rows": rows, "objects": sorted(f"{kind} {name}" for kind, name in theirs.keys() - ours.keys())}


def _objects(raw: sqlite3.Connection, database: str) -> _Objects:
    """Everything that a database is made of, by kind and name: how it was made, blanks apart."""
    return {(kind, name): "".join((made or "").split()) for kind, name, made in raw.execute(_OBJECTS.format(database))}


def _refuse_other_tables(ours: _Objects, theirs: _Objects, tables: list[str]) -> None:
    other = [table for table in tables if theirs.get(("table", table)) != ours["table", table]]
    if other:
        raise Corrupted(
            f"the backup holds no store: {', '.join(sorted(other))} is missing, or not made as a store makes it",
            hint="was it made by Memstone?",
        )


def _take(raw: sqlite3.Connection, table: str) -> int:
    """Copy the rows of a table; gives how many were left out."""
    (count,) = raw.execute(f'SELECT count(*) FROM foreign_store."{table}"').fetchone()
    if table in _BARRED:
        return int(count)
    names = [row[1] for row in raw.execute(f'PRAGMA main.table_info("{table}")')]
    columns = ", ".join(f'"{name}"' for name in names)
    where = _NOT_OF_A_SERVICE if table == "settings" else ""
    taken = raw.execute(f'INSERT INTO main."{table}" ({columns}) SELECT {columns} FROM foreign_store."{table}"{where}')
    return int(count) - taken.rowcount
