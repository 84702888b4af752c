"""The accounts of what was shown to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Sql, marks
from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.erasure import Erased

_INSERT: Final = (
    "INSERT INTO receipts (tenant_id, id, user_id, agent_id, run_id, body, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
# By time alone, which the index answers without looking at a row; what was kept in the same moment stays with it.
_SURPLUS: Final = """
DELETE FROM receipts WHERE tenant_id = ? AND created_at < (
    SELECT created_at FROM receipts WHERE tenant_id = ? ORDER BY created_at DESC LIMIT 1 OFFSET ?)"""
# The last ones only, which the key answers: who asks about a moment ago need not read through all that ever was.
_ERASED: Final = """
SELECT tenant_id, id, created_at, user_digest, agent_digest, run_digest, memory_digest FROM (
    SELECT * FROM erasures ORDER BY seq DESC LIMIT 256) AS last
WHERE tenant_id = ? AND created_at >= ?"""


class ReceiptsTable:
    """See ``memstone.ports.work_tables.Receipts``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, scope: Scope, receipt_id: str, body: Mapping[str, Any], at: Instant) -> None:
        who = (scope.tenant_id, receipt_id, scope.user_id, scope.agent_id, scope.run_id)
        await self._sql.many(_INSERT, [(*who, dump(body), at)])

    async def known(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        query = f"SELECT id FROM receipts WHERE tenant_id = ? AND id IN ({marks(len(ids))})"
        return {row[0] for row in await self._sql.rows(query, (tenant_id, *ids))}

    async def erased(self, tenant_id: str, since: Instant) -> list[Erased]:
        return [Erased(*row) for row in await self._sql.rows(_ERASED, (tenant_id, since))]

    async def get(self, tenant_id: str, receipt_id: str) -> dict[str, Any] | None:
        query = "SELECT body FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else load(row[0])

    async def owned(self, tenant_id: str, receipt_id: str) -> tuple[Scope, dict[str, Any]] | None:
        query = "SELECT user_id, agent_id, run_id, body FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else (Scope(tenant_id, *row[:3]), load(row[3]))

    async def owner(self, tenant_id: str, receipt_id: str) -> Scope | None:
        query = "SELECT user_id, agent_id, run_id FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else Scope(tenant_id, *row)

    async def amend(self, tenant_id: str, receipt_id: str, body: Mapping[str, Any]) -> None:
        query = "UPDATE receipts SET body = ? WHERE tenant_id = ? AND id = ?"
        await self._sql.run(query, (dump(body), tenant_id, receipt_id))

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        await self._sql.many("DELETE FROM receipts WHERE tenant_id = ? AND created_at < ?", [(tenant_id, before)])
        await self._sql.many(_SURPLUS, [(tenant_id, tenant_id, max(keep, 1) - 1)])

    async def forget(self, scope: Scope) -> None:
        given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
        narrowed = "".join(f" AND {name} = ?" for name, _ in given)
        values = (scope.tenant_id, *(value for _, value in given))
        await self._sql.run(f"DELETE FROM receipts WHERE tenant_id = ?{narrowed}", values)
