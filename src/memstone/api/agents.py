"""The agents that share this memory, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.drive import drive

if TYPE_CHECKING:
    from memstone.results import AgentDeletion, AgentItem, AgentList


class AgentVerbs(Group):
    """Agents that share this memory, each with its settings."""

    def list(self, *, limit: int = 100, offset: int = 0) -> AgentList:
        """List the agents of this memory, each with its settings and memory count.

        When ``add`` or ``ingest`` names an agent for the first time, it is registered automatically.
        """
        from memstone.engine import agents

        return drive(self.engine.run(agents.list_agents, limit, offset))

    def get(self, agent_id: str | int) -> AgentItem | None:
        """Return one agent, or None."""
        from memstone.engine import agents

        return drive(self.engine.run(agents.get_agent, agent_id))

    def save(
        self,
        agent_id: str | int,
        *,
        name: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> AgentItem:
        """Create or change an agent; what you leave out stays as it is, and '' removes a model or a prompt.

        ``settings`` replace all settings of the agent, except quotas and masking. Two of them have names that host
        applications know: ``disableMemory`` (nothing is stored and nothing is shown) and ``searchMemoryEnabled`` (the
        agent can search by itself).
        """
        from memstone.engine import agents

        change = agents.AgentChange(agent_id, name, model, system_prompt, settings)
        return drive(self.engine.run(agents.save_agent, change))

    def delete(self, agent_id: str | int, *, dry_run: bool = False) -> AgentDeletion:
        """Remove an agent with its memories, queued work and settings.

        Raises ``NotFoundError`` if there is none. What it learned about who its users are, and how they want to be
        served, stays with the users.
        """
        from memstone.engine import agents

        return drive(self.engine.dry(dry_run).run(agents.delete_agent, agent_id))
