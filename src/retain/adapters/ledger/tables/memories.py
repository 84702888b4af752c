"""Versions of remembered things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from retain.adapters.ledger.codec import (
    INSERT_RECORD,
    SELECT_LINK,
    SELECT_RECORD,
    link_part,
    record_params,
    to_link,
    to_record,
)
from retain.adapters.ledger.seam import Row, Sql, chunks, marks
from retain.model.instant import Instant
from retain.model.memory import Found, Record
from retain.model.query import Where
from retain.model.scope import Scope

Compile: TypeAlias = Callable[[Where], tuple[str, list[Any]]]

_JOIN = "memories m JOIN links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq"
_FOUND = f"SELECT {SELECT_RECORD}, {SELECT_LINK} FROM {_JOIN} WHERE "
_SEEN = f"{_FOUND}m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL LIMIT 1"
_CURRENT = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL"
# Only what stands near the end is looked at: a user without turns may have any number of facts.
_LATEST = """
SELECT m.text, m.occurred_at
FROM (SELECT memory_seq FROM links
      WHERE tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ? AND memory_seq < ?
      ORDER BY memory_seq DESC LIMIT 50) l
JOIN memories m ON m.seq = l.memory_seq
WHERE m.layer = ? AND m.valid_to IS NULL AND m.status = 'active' AND (m.layer = 'turn' OR m.source = 'manual')
ORDER BY m.seq DESC LIMIT 1"""


class MemoriesTable:
    """See ``retain.ports.ledger.Memories``."""

    def __init__(self, sql: Sql, compile_where: Compile) -> None:
        self._sql, self._where = sql, compile_where

    async def insert(self, record: Record) -> int:
        record.seq = await self._sql.insert(INSERT_RECORD, record_params(record))
        return record.seq

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        # A version never ends before it began, even when clocks or backdated revisions disagree.
        changed = await self._sql.run(
            "UPDATE memories SET status = ?, valid_to = max(valid_from, ?) WHERE seq = ? AND valid_to IS NULL",
            (status, at, seq),
        )
        return changed == 1

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        await self._sql.run(
            "UPDATE memories SET status = 'deleted' WHERE tenant_id = ? AND id = ? AND status = 'superseded'",
            (tenant_id, memory_id),
        )

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[Found]:
        condition, params = self._where(where)
        order = "ASC" if oldest_first else "DESC"
        # A memory may be seen through several links of one scope; it is listed once.
        query = f"{_FOUND}{condition} GROUP BY m.seq ORDER BY m.seq {order} LIMIT ? OFFSET ?"
        return [_found(row) for row in await self._sql.rows(query, [*params, limit, offset])]

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        ids = (scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id)
        row = await self._sql.one(_LATEST, (*ids, 1 << 62 if below is None else below, layer))
        return None if row is None else (row[0], row[1])

    async def count(self, where: Where) -> dict[str, int]:
        condition, params = self._where(where)
        query = f"SELECT m.kind, count(DISTINCT m.seq) FROM {_JOIN} WHERE {condition} GROUP BY m.kind"
        return dict(await self._sql.rows(query, params))

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        row = await self._sql.one(_CURRENT, (tenant_id, memory_id))
        return None if row is None else to_record(row)

    async def seen(self, tenant_id: str, memory_id: str) -> Found | None:
        row = await self._sql.one(_SEEN, (tenant_id, memory_id))
        return None if row is None else _found(row)

    async def at(self, seq: int) -> Record | None:
        row = await self._sql.one(f"SELECT {SELECT_RECORD} FROM memories m WHERE m.seq = ?", (seq,))
        return None if row is None else to_record(row)

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        query = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.version = ?"
        row = await self._sql.one(query, (tenant_id, memory_id, version))
        return None if row is None else to_record(row)

    async def seqs(self, where: Where) -> list[int]:
        condition, params = self._where(where)
        return [row[0] for row in await self._sql.rows(f"SELECT DISTINCT m.seq FROM {_JOIN} WHERE {condition}", params)]

    async def among(self, seqs: Sequence[int], where: Where) -> list[Found]:
        condition, params = self._where(where)
        found: dict[int, Found] = {}
        for part in chunks(seqs):
            query = f"{_FOUND}m.seq IN ({marks(len(part))}) AND {condition}"
            for row in await self._sql.rows(query, [*part, *params]):
                item = _found(row)
                found.setdefault(item.record.seq, item)
        return list(found.values())


def _found(row: Row) -> Found:
    return Found(to_record(row), to_link(link_part(row)))
