"""Agents: what a host calls them, which model and instructions they run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memstone.model.instant import Instant


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent. Its settings are those stored under ``agent:<id>``, see ``memstone.ports.preferences``."""

    id: str
    created_at: Instant
    updated_at: Instant
    name: str = ""
    model: str | None = None
    system_prompt: str | None = None


class Agents(Protocol):
    """The agents of a tenant."""

    async def get(self, tenant_id: str, agent_id: str) -> AgentRow | None:
        """One agent."""
        ...

    async def put(self, tenant_id: str, agent: AgentRow) -> None:
        """Keep an agent, in place of an earlier one of the same id, whose ``created_at`` stays."""
        ...

    async def meet(self, tenant_id: str, agent_id: str, at: Instant) -> bool:
        """Give an agent that was named a row, unless it has one; whether it is new."""
        ...

    async def listed(self, tenant_id: str, limit: int, offset: int) -> list[AgentRow]:
        """Agents by their ids."""
        ...

    async def count(self, tenant_id: str) -> int:
        """How many there are."""
        ...

    async def remove(self, tenant_id: str, agent_id: str) -> bool:
        """Remove the row; whether there was one."""
        ...
