"""The history within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memstone.engine.access.bounds_links import beyond
from memstone.engine.storing.holders import is_inside
from memstone.model.access import Bounds
from memstone.model.event import Done, Event
from memstone.model.scope import Scope
from memstone.ports.ledger import Events

if TYPE_CHECKING:
    from memstone.engine.access.bounds import BoundMemories


class BoundEvents:
    """See ``memstone.ports.tables.Events``."""

    def __init__(self, events: Events, memories: BoundMemories, bounds: Bounds) -> None:
        self._events, self._memories, self._bounds = events, memories, bounds

    async def append(self, events: Iterable[Event]) -> None:
        """Record what was done within the bounds."""
        await self._events.append(events)

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        """What happened to a memory within the bounds, as far as it was done to this one's part of it."""
        if not await self._memories.reaches(memory_id):
            return []
        return [event for event in await self._events.of(tenant_id, memory_id) if is_inside(event.scope, self._bounds)]

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        """Events within the bounds: a page is short only at the end."""
        return await self.feed(Scope(tenant_id, self._bounds.user_id, self._bounds.agent_id), cursor, limit)

    async def replaced(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        """What was replaced in a scope that was checked."""
        found = await self._events.replaced(scope, limit, offset)
        return [one for one in found if is_inside(one.scope, self._bounds)]

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        """One event, if it was done within the bounds."""
        found = await self._events.one(tenant_id, event_id)
        return found if found is not None and is_inside(found.scope, self._bounds) else None

    async def touching(self, tenant_id: str, memory_id: str) -> list[Event]:
        """All that touched a memory within the bounds: what others did to it stands in the way of undoing, too."""
        return await self._events.touching(tenant_id, memory_id) if await self._memories.reaches(memory_id) else []

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        """What a job did within the bounds."""
        return [one for one in await self._events.of_job(tenant_id, job_id) if is_inside(one.scope, self._bounds)]

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        """Events of a scope that was checked against the bounds: a page is short only at the end."""
        found: list[Event] = []
        while len(found) < limit:
            page = await self._events.feed(scope, cursor, limit)
            found += [one for one in page if is_inside(one.scope, self._bounds)]
            if len(page) < limit:
                break
            cursor = page[-1].seq
        return found[:limit]

    async def newest(self, scope: Scope, done: Done, below: int | None, limit: int) -> list[Event]:
        """Events of a scope that was checked against the bounds."""
        found = await self._events.newest(scope, done, below, limit)
        return [one for one in found if is_inside(one.scope, self._bounds)]

    async def known(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        """Which of these events of a memory are recorded."""
        return await self._events.known(tenant_id, ids, memory_id)

    def __getattr__(self, name: str) -> Any:
        raise beyond(f"events.{name}")
