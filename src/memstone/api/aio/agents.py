"""The agents that share this memory, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group

if TYPE_CHECKING:
    from memstone.results import AgentDeletion, AgentItem, AgentList


class AsyncAgentVerbs(Group):
    """The agents that share this memory, each with its settings."""

    async def list(self, *, limit: int = 100, offset: int = 0) -> AgentList:
        """List the agents of this memory, each with its settings and how many memories it has.

        An agent that ``add`` or ``ingest`` names for the first time is registered by itself.
        """
        from memstone.engine import agents

        return await self.engine.run(agents.list_agents, limit, offset)

    async def get(self, agent_id: str | int) -> AgentItem | None:
        """Return one agent, or None."""
        from memstone.engine import agents

        return await self.engine.run(agents.get_agent, agent_id)

    async def save(
        self,
        agent_id: str | int,
        *,
        name: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> AgentItem:
        """Create an agent or change one; what you leave out stays as it is, and '' removes a model or a prompt.

        ``settings`` take the place of all that were set for it, but for quotas and masking. Two of them are switches by
        names that hosts know: ``disableMemory`` (nothing is stored and nothing shown) and ``searchMemoryEnabled`` (it
        may search by itself).
        """
        from memstone.engine import agents

        change = agents.AgentChange(agent_id, name, model, system_prompt, settings)
        return await self.engine.run(agents.save_agent, change)

    async def delete(self, agent_id: str | int, *, dry_run: bool = False) -> AgentDeletion:
        """Remove an agent with its memories, vectors, signals and settings. ``NotFoundError`` when there is none.

        What it learned of who its users are, and of how they want to be served, stays theirs.
        """
        from memstone.engine import agents

        return await self.engine.dry(dry_run).run(agents.delete_agent, agent_id)
