"""Questions about a whole tenant, and acts upon it."""

from __future__ import annotations

from typing import Protocol

from memstone.model.instant import Instant
from memstone.model.scope import Scope


class Admin(Protocol):
    """Whole-tenant questions and acts."""

    async def counts(self, tenant_id: str) -> dict[str, int]:
        """Rows per mirror: memories, how many of them are turns, events, fulltext, vectors; signals: pending, dead."""
        ...

    async def reset(self, tenant_id: str) -> None:
        """Remove every row of a tenant, in every table."""
        ...

    async def cursor(self) -> int:
        """The ``seq`` of the newest version; whatever is written later has a larger one."""
        ...

    async def scopes(self, tenant_id: str, field: str, limit: int, offset: int) -> list[tuple[str, int, Instant]]:
        """The ids in a field of the links, how many memories each has now and when the newest came, most first."""
        ...

    async def users_of(self, scope: Scope) -> list[str]:
        """The users whose links name this agent or run."""
        ...
