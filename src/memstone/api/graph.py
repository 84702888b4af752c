"""People, places and things in memories, and how they are related."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.api.base import Group
from memstone.drive import drive

if TYPE_CHECKING:
    from memstone.results import EntityList, GraphReport, RelationList


class GraphVerbs(Group):
    """People, places and things in memories, and how they are related."""

    def entities(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> EntityList:
        """List the people, places and things in memories, most mentioned first."""
        return drive(self.engine.entities({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, limit, offset))

    def relations(
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
        return drive(self.engine.relations(values, limit, offset))

    def check(self, *, repair: bool = False) -> GraphReport:
        """Compare the graph database with the ledger; ``repair`` fills in what is missing, or builds it again.

        It also reads names in memories that an earlier version stored with ``infer=False`` and did not read.
        """
        from memstone.engine.upkeep import graph_check

        return drive(self.engine.run(graph_check.check_graph, repair=repair))
