"""Whole tables, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from memstone.adapters.ledger.seam import Sql, marks
from memstone.adapters.ledger.tables.fulltext import FullTextTable
from memstone.model.memory import TextDoc
from memstone.ports.tables import BulkRow, BulkTable

FIRST: Final = ("memories", "entities", "accounts", "links", "vectors")
"""Others refer to the first three, and the words of the full text belong to links that are there."""

WORDS: Final = BulkTable("words", ("seq", "body", "key", "speaker", "day", "scope"), ("seq",), refers="seq")
"""They are put through the full text, which keeps an index over them."""

_COLUMNS: Final = """
SELECT t.name, c.name, c.pk FROM sqlite_schema t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' ORDER BY t.name, c.pk, c.name"""
_WORDS: Final = """
SELECT w.seq, w.body, w.key, w.speaker, w.day, w.scope FROM words w JOIN memories m ON m.seq = w.seq
WHERE m.tenant_id = ?"""


class BulkTables:
    """See ``memstone.ports.tables.Bulk``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def tables(self) -> list[BulkTable]:
        return described(await self._sql.rows(_COLUMNS))

    async def tenants(self) -> list[str] | None:
        names = [table.name for table in await self.tables() if table != WORDS]
        every = " UNION ".join(f"SELECT tenant_id FROM {name}" for name in names)
        return sorted(str(row[0]) for row in await self._sql.rows(every) if row[0])

    async def count(self, tenant_id: str, table: BulkTable) -> int:
        rows = _WORDS if table == WORDS else f"SELECT 1 FROM {table.name} WHERE tenant_id = ?"
        row = await self._sql.one(f"SELECT count(*) FROM ({rows}) r", (tenant_id,))
        return int(row[0]) if row else 0

    async def page(self, tenant_id: str, table: BulkTable, after: Sequence[Any] | None, limit: int) -> list[BulkRow]:
        prefix = "w." if table == WORDS else ""
        columns = ", ".join(table.columns)
        rows = _WORDS if table == WORDS else f"SELECT {columns} FROM {table.name} WHERE tenant_id = ?"
        key = ", ".join(f"{prefix}{name}" for name in table.key)
        later = "" if after is None else f" AND ({key}) > ({marks(len(table.key))})"
        return await self._sql.rows(f"{rows}{later} ORDER BY {key} LIMIT ?", (tenant_id, *(after or ()), limit))

    async def put(self, tenant_id: str, table: BulkTable, rows: Iterable[BulkRow]) -> None:
        if table == WORDS:
            await self.put_words(rows)
            return
        columns = ", ".join(("tenant_id", *table.columns))
        statement = f"INSERT INTO {table.name} ({columns}) VALUES ({marks(len(table.columns) + 1)})"
        await self._sql.many(statement, ((tenant_id, *row) for row in rows))

    async def put_words(self, rows: Iterable[BulkRow]) -> None:
        """Put words into the full text."""
        await FullTextTable(self._sql).put_back(docs(rows))

    async def reserve(self, table: BulkTable, count: int) -> list[int]:
        query = f"SELECT coalesce(max({table.number}), 0) FROM {table.name}"
        row = await self._sql.one(query)
        spent = await self._sql.one("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,))
        last = max(int(row[0]) if row else 0, int(spent[0]) if spent else 0)
        return list(range(last + 1, last + count + 1))


def docs(rows: Iterable[BulkRow]) -> list[tuple[int, TextDoc]]:
    """Rows of words as the full text takes them."""
    found = (dict(zip(WORDS.columns, row, strict=True)) for row in rows)
    return [(int(row.pop("seq")), TextDoc(**row)) for row in found]


def described(rows: Iterable[tuple[Any, ...]]) -> list[BulkTable]:
    """Tables from the names of their columns and the places these have in the primary key, sorted by table."""
    tables = [WORDS]
    for name, columns in groupby(rows, key=lambda row: row[0]):
        places = {column: place for _, column, place in columns}
        if "tenant_id" in places and name != WORDS.name:
            tables.append(_table(name, places))
    return sorted(
        tables, key=lambda table: (FIRST.index(table.name) if table.name in FIRST else len(FIRST), table.name)
    )


def _table(name: str, places: dict[str, int]) -> BulkTable:
    columns = tuple(sorted(column for column in places if column != "tenant_id"))
    key = [column for column, place in sorted(places.items(), key=lambda one: one[1]) if place and column in columns]
    number = "seq" if key == ["seq"] else "id" if name == "changes" else ""
    return BulkTable(name, columns, tuple(key), number, "memory_seq" if "memory_seq" in columns else "")
