"""What waits and what was done in the background, within bounds.

Both are looked up by a scope that was checked. One that names a user is within the bounds as it is; one that names an
agent or a session alone may be shared with users who are not.
"""

from __future__ import annotations

from typing import Any, Final

from memstone.engine.access.bounds_links import beyond
from memstone.model.access import Bounds
from memstone.model.event import Job, Signal
from memstone.model.scope import Scope
from memstone.ports.ledger import Jobs, Signals

_MOST: Final = 100_000
_BY_SESSION: Final = frozenset(
    {"clear", "due", "free", "hurry", "is_known", "known", "mark", "passed_over", "put", "remove", "session", "take_up"}
)
"""About one session, or about signals that were found within the bounds."""


class BoundSignals:
    """See ``memstone.ports.work_tables.Signals``."""

    def __init__(self, signals: Signals, bounds: Bounds) -> None:
        self._signals, self._bounds = signals, bounds

    async def pending(self, scope: Scope, limit: int) -> list[Signal]:
        """Return what waits in a scope, oldest first."""
        return self._held(await self._signals.pending(scope, limit))

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        """Return the sessions of a scope in which something waits."""
        found = await self._signals.sessions(scope, limit, offset)
        return [session for session in found if self._bounds.holds(session)]

    async def waiting(self, scope: Scope) -> int:
        """Return how much waits in a scope."""
        if scope.user_id:
            return await self._signals.waiting(scope)
        return len(await self.pending(scope, _MOST))

    async def unfinished(self, scope: Scope) -> list[Signal]:
        """Return all of a scope that wait, were given up, or were passed over."""
        return self._held(await self._signals.unfinished(scope))

    async def forget(self, scope: Scope) -> None:
        """Remove what waits in a scope."""
        if scope.user_id:
            await self._signals.forget(scope)
            return
        for session in {one.scope for one in await self.unfinished(scope)}:
            await self._signals.clear(session)

    def _held(self, signals: list[Signal]) -> list[Signal]:
        return [one for one in signals if self._bounds.holds(one.scope)]

    def __getattr__(self, name: str) -> Any:
        if name not in _BY_SESSION:
            raise beyond(f"signals.{name}")
        return getattr(self._signals, name)


class BoundJobs:
    """See ``memstone.ports.work_tables.Jobs``."""

    def __init__(self, jobs: Jobs, bounds: Bounds) -> None:
        self._jobs, self._bounds = jobs, bounds

    async def put(self, job: Job) -> None:
        """Log a job."""
        await self._jobs.put(job)

    async def find(
        self, scope: Scope, *, task: str | None = None, status: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[Job]:
        """Return the jobs of a scope, newest first."""
        found = await self._jobs.find(scope, task=task, status=status, limit=limit, offset=offset)
        return [job for job in found if self._bounds.holds(job.scope)]

    def __getattr__(self, name: str) -> Any:
        raise beyond(f"jobs.{name}")
