"""Whom and what memories speak of.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone.drive import drive
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.results import EntityList, RelationList


class Graphing(Remote):
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
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "offset": offset,
        }
        result: EntityList = drive(self._link.call("entities", given))
        return result

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
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "offset": offset,
        }
        result: RelationList = drive(self._link.call("relations", given))
        return result
