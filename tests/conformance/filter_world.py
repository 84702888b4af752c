"""Two small tables, and the two answers to a filter: the SQL's and the reference evaluator's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from memstone.adapters.sql.where import compile_where
from memstone.core.checks.filters import found_fields
from memstone.model.memory import FoundMemory
from memstone.model.query import LINK_FIELDS, RECORD_FIELDS, Where, is_match

TYPES = {"text": "TEXT", "instant": "TEXT", "number": "NUMERIC"}
SELECT = "SELECT m.seq FROM links l JOIN memories m ON m.seq = l.memory_seq WHERE "
EARLY, LATE = "2025-01-01T00:00:00.000000Z", "2026-05-07T12:00:00.000000Z"


def columns(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name.removeprefix('link_')} {TYPES[kind]}" for name, kind in fields.items())


def casefold(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


@contextmanager
def stored(rows: Sequence[FoundMemory]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("casefold", 1, casefold, deterministic=True)
        database.execute(f"CREATE TABLE memories ({columns(dict(RECORD_FIELDS))}, metadata TEXT, data TEXT)")
        database.execute(f"CREATE TABLE links ({columns(dict(LINK_FIELDS))}, memory_seq INTEGER)")
        database.execute("CREATE INDEX links_by_user ON links (tenant_id, user_id)")
        for found in rows:
            read = found_fields(found)
            insert(database, "memories", [*map(read, RECORD_FIELDS), *written(found)])
            insert(database, "links", [*(link_column(found, name) for name in LINK_FIELDS), found.record.seq])
        yield database


def written(found: FoundMemory) -> list[str]:
    """The columns that hold JSON."""
    return [json.dumps(found.record.metadata), json.dumps(found.record.data)]


def link_column(found: FoundMemory, name: str) -> object:
    holder = found.link.scope if name.endswith("_id") else found.link
    return getattr(holder, name.removeprefix("link_"))


def insert(database: sqlite3.Connection, table: str, values: Sequence[object]) -> None:
    marks = ", ".join("?" * len(values))
    database.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own table


def select(database: sqlite3.Connection, where: Where) -> set[int]:
    condition, params = compile_where(where)
    assert condition.count("?") == len(params)
    return {seq for (seq,) in database.execute(SELECT + condition, params)}


def selected(rows: Sequence[FoundMemory], where: Where) -> set[int]:
    with stored(rows) as database:
        return select(database, where)


def expected(rows: Sequence[FoundMemory], where: Where) -> set[int]:
    return {found.record.seq for found in rows if is_match(where, found_fields(found))}
