"""Agents."""

from __future__ import annotations

from typing import Final

from memstone.adapters.ledger.seam import Row, Sql
from memstone.model.instant import Instant
from memstone.ports.access_tables import AgentRow

_COLUMNS: Final = "id, created_at, updated_at, name, model, system_prompt"
_INSERT: Final = f"INSERT INTO agents (tenant_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, id) "


class AgentsTable:
    """See ``memstone.ports.access_tables.Agents``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, agent_id: str) -> AgentRow | None:
        query = f"SELECT {_COLUMNS} FROM agents WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, agent_id))
        return None if row is None else _agent(row)

    async def put(self, tenant_id: str, agent: AgentRow) -> None:
        changed = ("updated_at", "name", "model", "system_prompt")
        update = "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in changed)
        await self._sql.run(_INSERT + update, _params(tenant_id, agent))

    async def meet(self, tenant_id: str, agent_id: str, at: Instant) -> bool:
        return await self._sql.run(_INSERT + "DO NOTHING", _params(tenant_id, AgentRow(agent_id, at, at))) > 0

    async def listed(self, tenant_id: str, limit: int, offset: int) -> list[AgentRow]:
        query = f"SELECT {_COLUMNS} FROM agents WHERE tenant_id = ? ORDER BY id LIMIT ? OFFSET ?"
        return [_agent(row) for row in await self._sql.rows(query, (tenant_id, limit, offset))]

    async def count(self, tenant_id: str) -> int:
        row = await self._sql.one("SELECT count(*) FROM agents WHERE tenant_id = ?", (tenant_id,))
        return int(row[0]) if row else 0

    async def remove(self, tenant_id: str, agent_id: str) -> bool:
        return await self._sql.run("DELETE FROM agents WHERE tenant_id = ? AND id = ?", (tenant_id, agent_id)) > 0


def _agent(row: Row) -> AgentRow:
    return AgentRow(*row)


def _params(tenant_id: str, agent: AgentRow) -> tuple[object, ...]:
    times = (agent.created_at, agent.updated_at)
    return (tenant_id, agent.id, *times, agent.name, agent.model, agent.system_prompt)
