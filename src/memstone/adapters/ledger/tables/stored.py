"""Every text that lies in the store, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Row, Sql, chunks, marks
from memstone.ports.tables import TABLES, Key, StoredRow

_NOT_SAID: Final = {"events": " AND event <> 'REDACT'"}
"""Rows that hold no words of anybody: they are written while the others are looked through."""

_KEYS: Final = {"receipts": "id", "idempotency": "key", "llm_cache": "key"}
_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "memories": ("text", "key", "data", "metadata"),
    "events": ("memory_id", "old_text", "new_text", "reason", "before", "after"),
    "signals": ("user_text", "assistant_text", "data", "last_error"),
    "receipts": ("body",),
    "idempotency": ("reply",),
    "llm_cache": ("reply",),
    "entities": ("name", "description"),
    "jobs": ("details",),
}
_JSON: Final = frozenset(
    {
        ("memories", "data"),
        ("memories", "metadata"),
        ("events", "before"),
        ("events", "after"),
        ("signals", "data"),
        ("receipts", "body"),
        ("idempotency", "reply"),
        ("jobs", "details"),
    }
)


class StoredTexts:
    """See ``memstone.ports.tables.Stored``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def count(self, tenant_id: str) -> int:
        counted = " + ".join(
            f"(SELECT count(*) FROM {table} WHERE tenant_id = ?{_NOT_SAID.get(table, '')})" for table in TABLES
        )
        row = await self._sql.one(f"SELECT {counted}", (tenant_id,) * len(TABLES))
        return int(row[0]) if row else 0

    async def page(self, tenant_id: str, table: str, after: Key | None, limit: int) -> list[StoredRow]:
        key = _key(table)
        later = "" if after is None else f" AND {key} > ?"
        query = f"{_select(table)} WHERE tenant_id = ?{later}{_NOT_SAID.get(table, '')} ORDER BY {key} LIMIT ?"
        given = (tenant_id, limit) if after is None else (tenant_id, after, limit)
        return _rows(table, await self._sql.rows(query, given))

    async def rows(self, tenant_id: str, table: str, keys: Sequence[Key]) -> list[StoredRow]:
        found: list[StoredRow] = []
        for part in chunks(keys):
            query = f"{_select(table)} WHERE tenant_id = ? AND {_key(table)} IN ({marks(len(part))})"
            found += _rows(table, await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def rewrite(self, tenant_id: str, table: str, key: Key, values: Mapping[str, Any]) -> None:
        columns = ", ".join(f"{name} = ?" for name in values)
        written = [_written(table, name, value) for name, value in values.items()]
        query = f"UPDATE {table} SET {columns} WHERE tenant_id = ? AND {_key(table)} = ?"
        await self._sql.run(query, (*written, tenant_id, key))

    async def drop(self, tenant_id: str, table: str, keys: Sequence[Key]) -> None:
        query = f"DELETE FROM {table} WHERE tenant_id = ? AND {_key(table)} = ?"
        await self._sql.many(query, ((tenant_id, key) for key in keys))

    async def citing(self, tenant_id: str, turn_id: str) -> list[StoredRow]:
        query = f"{_select('memories')} WHERE tenant_id = ? AND origin_id = ?"
        return _rows("memories", await self._sql.rows(query, (tenant_id, turn_id)))

    async def mentioned(self, tenant_id: str, seq: int) -> list[StoredRow]:
        among = "SELECT entity_id FROM mentions WHERE tenant_id = ? AND memory_seq = ?"
        query = f"{_select('entities')} WHERE tenant_id = ? AND id IN ({among})"
        return _rows("entities", await self._sql.rows(query, (tenant_id, tenant_id, seq)))

    async def rename(self, tenant_id: str, seq: int, dedupe: str, new: str | None) -> None:
        query = "UPDATE links SET dedupe = ? WHERE tenant_id = ? AND memory_seq = ? AND dedupe = ?"
        await self._sql.run(query, (new, tenant_id, seq, dedupe))

    async def tidy(self) -> None:
        await self._sql.run("INSERT INTO fulltext (fulltext) VALUES ('optimize')")


def _key(table: str) -> str:
    return _KEYS.get(table, "seq")


def _select(table: str) -> str:
    return f"SELECT {_key(table)}, {', '.join(_TEXTS[table])} FROM {table}"


def _rows(table: str, rows: Iterable[Row]) -> list[StoredRow]:
    names = _TEXTS[table]
    return [
        StoredRow(key, {name: _read(table, name, value) for name, value in zip(names, values, strict=True)})
        for key, *values in rows
    ]


def _read(table: str, name: str, value: Any) -> Any:
    return load(value) if value is not None and (table, name) in _JSON else value


def _written(table: str, name: str, value: Any) -> Any:
    return dump(value) if value is not None and (table, name) in _JSON else value
