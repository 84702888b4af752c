"""One pass over a memory that has grown: what it may touch, what it did, and how it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from memstone.core.checks.filters import visible
from memstone.engine.access.bounds import unbound
from memstone.engine.parts import Parts
from memstone.engine.storing.draft import event_of
from memstone.engine.storing.store import leave
from memstone.engine.upkeep.policies import Policies
from memstone.errors import Conflict, Forbidden
from memstone.model.event import Event, EventType
from memstone.model.instant import Instant, instant, moment
from memstone.model.memory import Link, Record, Status
from memstone.model.query import Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.trace import log

ACTOR: Final = "consolidator"
"""Who did it, in the history."""

PAGE: Final = 100
"""So many memories are changed in one transaction: others wait no longer than that takes."""

ALL: Final = 1_000_000_000
"""As many as there are."""

LEASE: Final = "consolidate"
_HELD: Final = timedelta(minutes=10)
_RENEWED: Final = timedelta(minutes=1)
_TRIES: Final = 2

T = TypeVar("T")


@dataclass(slots=True)
class Pass:
    """One pass. A dry run changes nothing and counts what it would have done."""

    parts: Parts
    scope: Scope
    now: Instant
    job_id: str
    dry_run: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    owners: set[Scope] = field(default_factory=set)
    """Users and agents whose memories have changed."""

    settled: set[int] = field(default_factory=set)
    """Versions that a dry run has counted already: what ends in one step is not looked at in the next."""

    policies: Policies = field(default_factory=Policies)
    """What holds for whom; read when the steps begin."""

    always_shown: dict[Scope, frozenset[str]] = field(default_factory=dict)
    """By owner: the facts that a model is shown whatever is asked."""

    held_since: Instant = ""
    """When the lease was taken or renewed last; '' without one."""

    async def claim(self) -> bool:
        """Make sure that this is the only pass over this tenant, in any process; false when there is another."""
        until, tenant = instant(moment(self.now) + _HELD), self.parts.tenant_id
        taken = await self.parts.ledger.write(lambda tx: tx.leases.claim(tenant, LEASE, self.job_id, self.now, until))
        self.held_since = self.now if taken else ""
        return taken

    async def go_on(self) -> None:
        """Hold the lease a while longer; ``Conflict`` when this took so long that another pass has begun."""
        now = self.parts.now()
        if not self.held_since or moment(now) - moment(self.held_since) < _RENEWED:
            return
        until, tenant = instant(moment(now) + _HELD), self.parts.tenant_id
        if not await self.parts.ledger.write(lambda tx: tx.leases.renew(tenant, LEASE, self.job_id, until)):
            raise Conflict("another pass has taken over", hint="it goes on where this one stopped")
        self.held_since = now

    async def release(self) -> None:
        """Let others begin."""
        if self.held_since:
            tenant = self.parts.tenant_id
            await self.parts.ledger.write(lambda tx: tx.leases.release(tenant, LEASE, self.job_id))

    async def write(self, work: Work[list[T]]) -> list[T]:
        """Run a unit; when somebody changed one of its memories meanwhile once more, and then not in this pass."""
        for _ in range(_TRIES):
            try:
                return await self.parts.ledger.write(work)
            except Conflict:
                log.debug("somebody changed what a pass was about to change")
        return []

    def did(self, name: str, links: Sequence[Link]) -> None:
        """Count something that was done, and for whom."""
        self.counts[name] += 1
        self.owners |= {Scope(self.parts.tenant_id, link.scope.user_id, link.scope.agent_id) for link in links}

    def would(self, name: str, record: Record) -> None:
        """Count something that is only said."""
        self.counts[name] += 1
        self.settled.add(record.seq)

    def event(self, kind: EventType, record: Record, seen_by: Sequence[Link], reason: str, /, **told: Any) -> Event:
        """What is told of a change: the whole state before it, so that it can be taken back."""
        scope = seen_by[0].scope if seen_by else self.scope
        return event_of(kind, record, scope, self.now, reason=reason, actor=ACTOR, job_id=self.job_id, **told)


def parts_to_tidy(parts: Parts, scope: Scope) -> Parts:
    """Return the parts that tidy up a scope; raise ``Forbidden`` for who reaches only a part of the tenant.

    Who may name everybody may have one of them tidied up, and not all at once.
    """
    if parts.bounds is not None and not (parts.bounds.is_everyone and scope.user_id):
        raise Forbidden("this key may not tidy up", hint="use one that reaches the whole tenant")
    return unbound(parts)


def of_owner(scope: Scope, now: Instant, layer: str) -> Where:
    """What a user and an agent see, and nobody else through the same words: a field that is not set must be empty."""
    empty = (name for name in ("user_id", "agent_id") if not getattr(scope, name))
    extra = [Condition(name, Op.EXISTS, value=False) for name in empty]
    where = visible(scope, now, layers=(layer,))
    return type(where)((*where.parts, *extra))


def is_current(record: Record | None) -> bool:
    """Whether a version still holds and is seen."""
    return record is not None and record.valid_to is None and record.status == Status.ACTIVE


async def end(tx: Tx, run: Pass, record: Record, links: Sequence[Link], reason: str) -> None:
    """Delete a memory as one that nobody asked to be forgotten: if it is said again, it is learned again."""
    await leave(tx, record, Status.DELETED, run.now)
    await tx.memories.bury(record.tenant_id, record.id)
    event = run.event(EventType.DELETE, record, links, reason, before=record, links_before=links, ended=True)
    await tx.events.append([event])
