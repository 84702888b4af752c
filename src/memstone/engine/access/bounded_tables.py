"""Link tables within bounds: a caller cannot show a memory to users outside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from memstone.errors import Forbidden
from memstone.model.access import Bounds
from memstone.model.event import Event, EventFilter, Job, Signal
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Link
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.browse import Browse, BrowseOrder, DayCount, WordPattern
from memstone.ports.ledger import Events, Jobs, Links, Memories, Signals

if TYPE_CHECKING:
    from memstone.engine.access.bounds import BoundMemories


# --- pages within bounds ----------------------------------------------------------------------------------------------


class BoundBrowse:
    """See ``memstone.ports.browse.Browse``. What is counted by user is for who reaches that user, with every agent."""

    def __init__(self, browse: Browse, memories: BoundMemories, bounds: Bounds) -> None:
        self._browse, self._memories, self._bounds = browse, memories, bounds

    async def page(self, where: Where, order: BrowseOrder, limit: int) -> list[FoundMemory]:
        """Return one page of what matches, within the bounds."""
        return await self._browse.page(self._memories.readable(where), order, limit)

    async def match(
        self, where: Where, words: Sequence[WordPattern], scope: Sequence[str], order: BrowseOrder, limit: int
    ) -> list[FoundMemory]:
        """Return those that have all words, within the bounds."""
        return await self._browse.match(self._memories.readable(where), words, scope, order, limit)

    async def count(self, where: Where, most: int) -> int:
        """Return how many match, within the bounds."""
        return await self._browse.count(self._memories.readable(where), most)

    async def count_events(
        self, tenant_id: str, user_id: str, days: Sequence[str], known: Sequence[DayCount] = ()
    ) -> list[DayCount]:
        """Return how many events of a user there were on each day."""
        return await self._browse.count_events(tenant_id, self._checked_user(user_id), days, known)

    async def count_receipts(self, tenant_id: str, user_id: str, since: Instant) -> list[DayCount]:
        """Return how many blocks about a user models were given on each day."""
        return await self._browse.count_receipts(tenant_id, self._checked_user(user_id), since)

    async def mentioned_until(self, tenant_id: str, user_id: str, moment: Instant) -> set[str]:
        """Return the entities of a user that were mentioned until a moment."""
        return await self._browse.mentioned_until(tenant_id, self._checked_user(user_id), moment)

    async def receipts_with(self, tenant_id: str, user_id: str, memory_id: str, limit: int) -> list[dict[str, Any]]:
        """Return the newest receipts of a user that name a memory."""
        return await self._browse.receipts_with(tenant_id, self._checked_user(user_id), memory_id, limit)

    def _checked_user(self, user_id: str) -> str:
        if not user_id or self._bounds.agent_id or not self._bounds.holds_user(user_id):
            raise out_of_bounds_error("what was counted for others")
        return user_id

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"browse.{name}")


# --- links within bounds ----------------------------------------------------------------------------------------------


class BoundLinks:
    """See ``memstone.ports.tables.Links``.

    A link beyond the bounds can be carried over from one version of a memory to the next, and neither made nor removed.
    """

    def __init__(self, links: Links, memories: Memories, bounds: Bounds) -> None:
        self._links, self._memories, self._bounds = links, memories, bounds

    async def add(self, tenant_id: str, seq: int, links: Iterable[Link]) -> None:
        """Link a version to somebody within the bounds, or to whoever held the memory before."""
        await self.add_many(tenant_id, [(seq, link) for link in links])

    async def add_many(self, tenant_id: str, links: Iterable[tuple[int, Link]]) -> None:
        """Do the same for many versions."""
        items = list(links)
        for seq, link in items:
            if not self._bounds.holds(link.scope) and not await self._held_before(tenant_id, seq, link.scope):
                raise out_of_bounds_error("the users who would see this")
        await self._links.add_many(tenant_id, items)

    async def _held_before(self, tenant_id: str, seq: int, scope: Scope) -> bool:
        record = await self._memories.at(seq)
        if record is None:
            return False
        same = And((Condition("tenant_id", Op.EQ, tenant_id), Condition("id", Op.EQ, record.id)))
        for other in await self._memories.seqs(same):
            if other != seq and any(link.scope == scope for link in await self._links.of(tenant_id, other)):
                return True
        return False

    async def of(self, tenant_id: str, seq: int) -> list[Link]:
        """Return all links of a version that was found within the bounds.

        Those of others say that it is not to be touched.
        """
        return await self._links.of(tenant_id, seq)

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        """Return the current version that holds a dedupe value, which names its owner."""
        return await self._links.holder(tenant_id, dedupe)

    async def find_existing_dedupes(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        """Return which of these dedupe values a current version holds."""
        return await self._links.find_existing_dedupes(tenant_id, dedupes)

    async def release(self, tenant_id: str, seq: int) -> None:
        """Give up the dedupe values of a version that was found within the bounds."""
        await self._links.release(tenant_id, seq)

    async def remove(self, seq: int, scope: Scope) -> None:
        """Remove a link of somebody within the bounds."""
        if not self._bounds.holds(scope):
            raise out_of_bounds_error("the users who would lose this")
        await self._links.remove(seq, scope)

    async def record_uses(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        """Count uses of what was found within the bounds, or belongs to everybody."""
        await self._links.record_uses(links, at)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"links.{name}")


def out_of_bounds_error(what: str) -> Forbidden:
    """Return what is raised when a key is used for something that lies beyond its bounds."""
    return Forbidden(f"this key has no access to {what}", hint="use a key that is not bound to a user or an agent")


# --- the history within bounds ----------------------------------------------------------------------------------------


class BoundEvents:
    """See ``memstone.ports.tables.Events``."""

    def __init__(self, events: Events, memories: BoundMemories, bounds: Bounds) -> None:
        self._events, self._memories, self._bounds = events, memories, bounds

    async def append(self, events: Iterable[Event]) -> None:
        """Record what was done within the bounds."""
        await self._events.append(events)

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        """Return what happened to a memory within the bounds, as far as it was done to this one's part of it."""
        if not await self._memories.reaches(memory_id):
            return []
        return [event for event in await self._events.of(tenant_id, memory_id) if self._bounds.holds(event.scope)]

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        """Return events within the bounds: a page is short only at the end."""
        return await self.feed(Scope(tenant_id, self._bounds.user_id, self._bounds.agent_id), cursor, limit)

    async def list_replacements(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        """Return what was replaced in a scope that was checked."""
        found = await self._events.list_replacements(scope, limit, offset)
        return [one for one in found if self._bounds.holds(one.scope)]

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        """Return one event, if it was done within the bounds."""
        found = await self._events.one(tenant_id, event_id)
        return found if found is not None and self._bounds.holds(found.scope) else None

    async def list_for_memory(self, tenant_id: str, memory_id: str) -> list[Event]:
        """Return all that touched a memory within the bounds.

        What others did to it stands in the way of undoing, too.
        """
        return (
            await self._events.list_for_memory(tenant_id, memory_id) if await self._memories.reaches(memory_id) else []
        )

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        """Return what a job did within the bounds."""
        return [one for one in await self._events.of_job(tenant_id, job_id) if self._bounds.holds(one.scope)]

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        """Return events of a scope that was checked against the bounds: a page is short only at the end."""
        found: list[Event] = []
        while len(found) < limit:
            page = await self._events.feed(scope, cursor, limit)
            found += [one for one in page if self._bounds.holds(one.scope)]
            if len(page) < limit:
                break
            cursor = page[-1].seq
        return found[:limit]

    async def newest(self, scope: Scope, done: EventFilter, below: int | None, limit: int) -> list[Event]:
        """Return events of a scope that was checked against the bounds."""
        found = await self._events.newest(scope, done, below, limit)
        return [one for one in found if self._bounds.holds(one.scope)]

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        """Return which of these events of a memory are recorded."""
        return await self._events.find_known_ids(tenant_id, ids, memory_id)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"events.{name}")


# --- what waits and what was done in the background, within bounds ----------------------------------------------------


_MOST: Final = 100_000
_BY_SESSION: Final = frozenset(
    {
        "clear",
        "due",
        "free",
        "hurry",
        "find_known_ids",
        "is_known",
        "mark",
        "passed_over",
        "put",
        "remove",
        "session",
        "take_up",
    }
)
"""About one session, or about signals that were found within the bounds."""


class BoundSignals:
    """See ``memstone.ports.work_tables.Signals``."""

    def __init__(self, signals: Signals, bounds: Bounds) -> None:
        self._signals, self._bounds = signals, bounds

    async def list_pending(self, scope: Scope, limit: int) -> list[Signal]:
        """Return what waits in a scope, oldest first."""
        return self._filter_in_bounds(await self._signals.list_pending(scope, limit))

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        """Return the sessions of a scope in which something waits."""
        found = await self._signals.sessions(scope, limit, offset)
        return [session for session in found if self._bounds.holds(session)]

    async def count_pending(self, scope: Scope) -> int:
        """Return how much waits in a scope."""
        if scope.user_id:
            return await self._signals.count_pending(scope)
        return len(await self.list_pending(scope, _MOST))

    async def list_unfinished(self, scope: Scope) -> list[Signal]:
        """Return all of a scope that wait, were given up, or were passed over."""
        return self._filter_in_bounds(await self._signals.list_unfinished(scope))

    async def forget(self, scope: Scope) -> None:
        """Remove what waits in a scope."""
        if scope.user_id:
            await self._signals.forget(scope)
            return
        for session in {one.scope for one in await self.list_unfinished(scope)}:
            await self._signals.clear(session)

    def _filter_in_bounds(self, signals: list[Signal]) -> list[Signal]:
        return [one for one in signals if self._bounds.holds(one.scope)]

    def __getattr__(self, name: str) -> Any:
        if name not in _BY_SESSION:
            raise out_of_bounds_error(f"signals.{name}")
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
        raise out_of_bounds_error(f"jobs.{name}")
