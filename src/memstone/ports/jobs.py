"""The log of background work."""

from __future__ import annotations

from typing import Protocol

from memstone.model.instant import Instant
from memstone.model.job import Job, JobFigures
from memstone.model.scope import Scope


class Jobs(Protocol):
    """Rows of ``jobs``: what was done, when, and what it cost."""

    async def put(self, job: Job) -> None:
        """Log a job."""
        ...

    async def find(
        self, scope: Scope, *, task: str | None = None, status: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[Job]:
        """The jobs of a scope (of the whole tenant when nobody is named), newest first."""
        ...

    async def figures(self, tenant_id: str) -> list[JobFigures]:
        """How often each task ended how, and what that took on average (time) and in all (tokens)."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove the jobs of a scope, with the words they hold."""
        ...

    async def purge(self, tenant_id: str, before: Instant) -> int:
        """Remove jobs that were logged before a moment; gives how many."""
        ...
