"""Answers of models that began under one number and ended under another."""

from __future__ import annotations

from typing import Final

from memstone.adapters.ledger.seam import Sql
from memstone.model.instant import Instant

_PUT: Final = """
INSERT INTO continuations (tenant_id, user_id, began, ended, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, user_id, began) DO UPDATE SET ended = excluded.ended, created_at = excluded.created_at"""
# By time alone, which the index answers without looking at a row; what was noted in the same moment stays with it.
_SURPLUS: Final = """
DELETE FROM continuations WHERE tenant_id = ? AND created_at < (
    SELECT created_at FROM continuations WHERE tenant_id = ? ORDER BY created_at DESC LIMIT 1 OFFSET ?)"""
_HAND_OVER: Final = """
INSERT INTO continuations (tenant_id, user_id, began, ended, created_at)
SELECT tenant_id, ?, began, ended, created_at FROM continuations WHERE tenant_id = ? AND user_id = ?
ON CONFLICT (tenant_id, user_id, began) DO NOTHING"""


class ContinuationsTable:
    """See ``memstone.ports.work_tables.Continuations``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, user_id: str, began: str, ended: str, at: Instant) -> None:
        await self._sql.run(_PUT, (tenant_id, user_id, began, ended, at))

    async def ended(self, tenant_id: str, user_id: str, began: str) -> str | None:
        query = "SELECT ended FROM continuations WHERE tenant_id = ? AND user_id = ? AND began = ?"
        row = await self._sql.one(query, (tenant_id, user_id, began))
        return None if row is None else str(row[0])

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        await self._sql.run(_HAND_OVER, (new_user, tenant_id, old_user))
        await self._sql.run("DELETE FROM continuations WHERE tenant_id = ? AND user_id = ?", (tenant_id, old_user))

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        await self._sql.run("DELETE FROM continuations WHERE tenant_id = ? AND created_at < ?", (tenant_id, before))
        await self._sql.run(_SURPLUS, (tenant_id, tenant_id, max(keep, 1) - 1))
