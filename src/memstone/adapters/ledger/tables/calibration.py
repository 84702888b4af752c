"""What unrelated questions score, and memories to find that out with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Sql
from memstone.model.instant import Instant
from memstone.model.scope import Scope

_PUT: Final = """
INSERT INTO calibration (tenant_id, signature, body, updated_at) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, signature) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at"""
_FROM: Final = """
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
WHERE l.tenant_id = ?"""
# Numbers that were given out in turns, to one user and another, must not end up all in or all out.
_PRIME: Final = 104_729
_FACTOR: Final = 7_919


class CalibrationTable:
    """See ``memstone.ports.work_tables.Calibration``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, name: str) -> dict[str, Any] | None:
        query = "SELECT body FROM calibration WHERE tenant_id = ? AND signature = ?"
        row = await self._sql.one(query, (tenant_id, name))
        return None if row is None else load(row[0])

    async def put(self, tenant_id: str, name: str, body: Mapping[str, Any], at: Instant) -> None:
        await self._sql.run(_PUT, (tenant_id, name, dump(body), at))

    async def sample(self, scope: Scope, signature: str, most: int) -> tuple[int, list[bytes]]:
        given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
        # "<> ''" repeats the condition of the partial indexes, which the planner needs to see to use them.
        narrowed = _FROM + "".join(f" AND l.{name} = ? AND l.{name} <> ''" for name, _ in given)
        params = (signature, scope.tenant_id, *(value for _, value in given))
        counted = await self._sql.one(f"SELECT count(*) {narrowed}", params)
        rows = int(counted[0]) if counted else 0
        share = _PRIME if rows <= most else _PRIME * most // rows
        spread = f"SELECT v.vector {narrowed} AND (l.memory_seq % {_PRIME}) * {_FACTOR} % {_PRIME} < ?"
        found = await self._sql.rows(f"{spread} ORDER BY l.memory_seq", (*params, share))
        return rows, [bytes(row[0]) for row in found]
