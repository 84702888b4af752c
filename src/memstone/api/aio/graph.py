"""People, places and things in memories, and how they are related."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.api.base import Group

if TYPE_CHECKING:
    from memstone.results import EntityList, GraphReport, RelationList


class AsyncGraphVerbs(Group):
    """People, places and things in memories, and how they are related."""

    async def entities(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> EntityList:
        """List the people, places and things in memories, most mentioned first."""
        return await self.engine.entities({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, limit, offset)

    async def relations(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> RelationList:
        """List how people and things are related, newest first; ``valid_to`` marks what no longer holds."""
        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.relations(values, limit, offset)

    async def check(self, *, repair: bool = False) -> GraphReport:
        """Compare the graph database with the ledger; ``repair`` fills in what is missing, or builds it again.

        It also reads names in memories that an earlier version stored with ``infer=False`` and did not read.
        """
        from memstone.engine.upkeep import graph_check

        return await self.engine.run(graph_check.check_graph, repair=repair)
