"""Whom and what memories speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.drive import drive
from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.results import EntityList, RelationList


class Graphing(Face):
    """Whom and what memories speak of."""

    def entities(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> EntityList:
        """People, places and things that memories speak of, most often mentioned first."""
        return drive(self._engine.entities({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, limit, offset))

    def relations(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> RelationList:
        """How they are related, what was said last first; ``valid_to`` tells what no longer holds."""
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.relations(given, limit, offset))
