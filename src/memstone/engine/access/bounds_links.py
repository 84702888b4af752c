"""Links within bounds: who may see what is never widened by somebody who does not reach them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memstone.engine.storing.holders import is_inside
from memstone.errors import Forbidden
from memstone.model.access import Bounds
from memstone.model.instant import Instant
from memstone.model.memory import Link
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Links, Memories


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
        """The same for many versions."""
        given = list(links)
        for seq, link in given:
            if not is_inside(link.scope, self._bounds) and not await self._held_before(tenant_id, seq, link.scope):
                raise beyond("those who would see this")
        await self._links.add_many(tenant_id, given)

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
        """All links of a version that was found within the bounds: those of others say that it is not to be touched."""
        return await self._links.of(tenant_id, seq)

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        """The current version that holds a dedupe value, which names its owner."""
        return await self._links.holder(tenant_id, dedupe)

    async def held(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        """Which of these dedupe values a current version holds."""
        return await self._links.held(tenant_id, dedupes)

    async def release(self, tenant_id: str, seq: int) -> None:
        """Give up the dedupe values of a version that was found within the bounds."""
        await self._links.release(tenant_id, seq)

    async def remove(self, seq: int, scope: Scope) -> None:
        """Remove a link of somebody within the bounds."""
        if not is_inside(scope, self._bounds):
            raise beyond("those who would lose this")
        await self._links.remove(seq, scope)

    async def used(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        """Count uses of what was found within the bounds, or belongs to everybody."""
        await self._links.used(links, at)

    def __getattr__(self, name: str) -> Any:
        raise beyond(f"links.{name}")


def beyond(what: str) -> Forbidden:
    """What is raised when a key is used for something that lies beyond its bounds."""
    return Forbidden(f"this key does not reach {what}", hint="use a key that is not bound to a user or an agent")
