"""Whole-tenant questions and acts."""

from __future__ import annotations

from typing import Final

from memstone.adapters.ledger.seam import Sql
from memstone.adapters.ledger.tables.fulltext import FullTextTable
from memstone.model.instant import Instant
from memstone.model.scope import Scope

# Children first, so that no foreign key is in the way. Keys, agents and settings are configuration, not memory.
_MEMORY_TABLES: Final = (
    "mentions",
    "relations",
    "entities",
    "vectors",
    "links",
    "indexes",
    "changes",
    "events",
    "signals",
    "jobs",
    "leases",
    "receipts",
    "suppressed",
    "llm_cache",
    "continuations",
    "calibration",
    "idempotency",
    "counters",
)
_COUNTS: Final = """
SELECT (SELECT count(*) FROM memories WHERE tenant_id = :t AND valid_to IS NULL
          AND status IN ('active', 'disabled', 'quarantined')),
       (SELECT count(*) FROM memories WHERE tenant_id = :t AND valid_to IS NULL
          AND status IN ('active', 'disabled', 'quarantined') AND layer = 'turn'),
       (SELECT count(*) FROM events WHERE tenant_id = :t),
       (SELECT count(*) FROM words f JOIN memories m ON m.seq = f.seq WHERE m.tenant_id = :t),
       (SELECT count(*) FROM vectors v JOIN indexes i ON i.tenant_id = v.tenant_id AND i.signature = v.signature
         WHERE v.tenant_id = :t AND i.state = 'active'),
       (SELECT count(*) FROM signals WHERE tenant_id = :t AND status = 'pending'),
       (SELECT count(*) FROM signals WHERE tenant_id = :t AND status = 'dead')"""


class AdminTable:
    """See ``memstone.ports.access_tables.Admin``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def counts(self, tenant_id: str) -> dict[str, int]:
        row = await self._sql.one(_COUNTS.replace(":t", "?"), (tenant_id,) * _COUNTS.count(":t"))
        names = ("memories", "turns", "events", "fulltext", "vectors", "pending", "dead")
        return dict(zip(names, row or (0,) * len(names), strict=True))

    async def reset(self, tenant_id: str) -> None:
        await self.clear_texts(tenant_id)
        for table in (*_MEMORY_TABLES, "memories"):
            await self._sql.run(f"DELETE FROM {table} WHERE tenant_id = ?", (tenant_id,))

    async def clear_texts(self, tenant_id: str) -> None:
        await FullTextTable(self._sql).clear(tenant_id)

    async def cursor(self) -> int:
        row = await self._sql.one("SELECT max(seq) FROM memories")
        return int(row[0]) if row and row[0] is not None else 0

    async def scopes(self, tenant_id: str, field: str, limit: int, offset: int) -> list[tuple[str, int, Instant]]:
        query = (
            f"SELECT l.{field}, count(DISTINCT m.seq), max(m.updated_at) FROM links l "
            "JOIN memories m ON m.seq = l.memory_seq AND m.tenant_id = l.tenant_id "
            f"WHERE l.tenant_id = ? AND l.{field} <> '' AND m.valid_to IS NULL AND m.status = 'active' "
            f"GROUP BY l.{field} ORDER BY count(DISTINCT m.seq) DESC, l.{field} LIMIT ? OFFSET ?"
        )
        rows = await self._sql.rows(query, (tenant_id, limit, offset))
        return [(str(name), int(count), str(last)) for name, count, last in rows]

    async def users_of(self, scope: Scope) -> list[str]:
        given = [(name, getattr(scope, name)) for name in ("agent_id", "run_id") if getattr(scope, name)]
        # "<> ''" repeats the condition of the partial indexes, which the planner needs to see to use them.
        narrowed = "".join(f" AND {name} = ? AND {name} <> ''" for name, _ in given)
        query = f"SELECT DISTINCT user_id FROM links WHERE tenant_id = ?{narrowed}"
        rows = await self._sql.rows(query, (scope.tenant_id, *(value for _, value in given)))
        return [str(row[0]) for row in rows]
