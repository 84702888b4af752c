"""Counters, and figures that the history tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memstone.adapters.ledger.seam import Sql
from memstone.model.instant import Instant

_ADD: Final = """
INSERT INTO counters (tenant_id, user_id, day, name, value) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, user_id, day, name) DO UPDATE SET value = counters.value + excluded.value"""
_HAND_OVER: Final = """
INSERT INTO counters (tenant_id, user_id, day, name, value)
SELECT tenant_id, ?, day, name, value FROM counters WHERE tenant_id = ? AND user_id = ?
ON CONFLICT (tenant_id, user_id, day, name) DO UPDATE SET value = counters.value + excluded.value"""
# "|| ''" hides the layer from a planner without statistics, which would look for each memory among all facts.
_HAPPENED: Final = """
SELECT e.event, count(*) FROM events e
WHERE {whose} AND e.created_at >= ? AND e.undoes IS NULL AND (e.event <> 'UPDATE' OR e.old_text <> e.new_text)
  AND EXISTS (SELECT 1 FROM memories m
              WHERE m.tenant_id = e.tenant_id AND m.id = e.memory_id AND m.layer || '' = 'fact')
GROUP BY e.event"""
_DAY: Final = 10
"""An instant begins with its day."""


class MetricsTable:
    """See ``memstone.ports.tables.Metrics``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def count(self, tenant_id: str, user_id: str, at: Instant, counts: Mapping[str, int]) -> None:
        rows = ((tenant_id, user_id, at[:_DAY], name, more) for name, more in counts.items() if more)
        await self._sql.many(_ADD, rows)

    async def counted(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        whose, values = _whose(tenant_id, user_id)
        query = f"SELECT name, sum(value) FROM counters WHERE {whose} AND day >= ? GROUP BY name"
        return {str(name): int(total) for name, total in await self._sql.rows(query, (*values, since[:_DAY]))}

    async def happened(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        whose, values = _whose(tenant_id, user_id, "e.")
        rows = await self._sql.rows(_HAPPENED.format(whose=whose), (*values, since))
        return {str(event): int(total) for event, total in rows}

    async def uses(self, tenant_id: str, user_id: str) -> int:
        whose, values = _whose(tenant_id, user_id, "l.")
        current = "SELECT 1 FROM memories m WHERE m.seq = l.memory_seq AND m.valid_to IS NULL"
        query = f"SELECT sum(l.use_count) FROM links l WHERE {whose} AND EXISTS ({current})"
        row = await self._sql.one(query, values)
        return int(row[0] or 0) if row else 0

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        await self._sql.run(_HAND_OVER, (new_user, tenant_id, old_user))
        await self._sql.run("DELETE FROM counters WHERE tenant_id = ? AND user_id = ?", (tenant_id, old_user))


def _whose(tenant_id: str, user_id: str, row: str = "") -> tuple[str, tuple[str, ...]]:
    if not user_id:
        return f"{row}tenant_id = ?", (tenant_id,)
    return f"{row}tenant_id = ? AND {row}user_id = ?", (tenant_id, user_id)
