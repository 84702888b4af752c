"""Figures about how a memory is used: what is counted, and what the history tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memstone.model.instant import Instant


class Metrics(Protocol):
    """Counts by user; a user of '' in a question means all of the tenant."""

    async def count(self, tenant_id: str, user_id: str, at: Instant, counts: Mapping[str, int]) -> None:
        """Add to what is counted for a user on the day of a moment."""
        ...

    async def counted(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        """What was counted since the day of a moment, by name."""
        ...

    async def happened(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        """How many events of facts there were since a moment, by verb.

        An ``UPDATE`` counts only where it changed a text, and what takes something back does not count.
        """
        ...

    async def uses(self, tenant_id: str, user_id: str) -> int:
        """How often the memories that hold now were shown to a model, through the links of a user."""
        ...

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        """Count for another user what was counted for one."""
        ...
