"""One run of upkeep: its lease, what it may change, and its record."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.core.checks.filters import where_visible
from memstone.core.settings.lenient import TENANT, scope_key
from memstone.core.settings.names import SETTINGS
from memstone.engine.access.bounds import remove_bounds
from memstone.engine.change.erase_rows import compact_if_owed
from memstone.engine.policy import apply_scope_policy, resolve_policy
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of
from memstone.engine.store.versions import end_version
from memstone.errors import Conflict, Forbidden
from memstone.model.event import Event, EventType
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.policy import Policy
from memstone.model.query import Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.ports.storage import CopyableLedger
from memstone.trace import log, log_event

if TYPE_CHECKING:
    from memstone.results import ConsolidateResult

# --- whose rules a pass goes by ---------------------------------------------------------------------------------------


_ALL: Final = 1_000_000_000
_KINDS: Final = ("user", "agent")
_ASKED: Final = (
    *(name for name, one in SETTINGS.items() if name.startswith("upkeep.") and not one.tenant_only),
    "recall.decay_days",
    "context.gate",
)
"""What a pass goes by and a user or an agent may have set."""


@dataclass(slots=True)
class Policies:
    """The policies of a tenant, as far as a pass goes by them."""

    base: Policy = field(default_factory=Policy)
    """What is configured."""

    stored: dict[str, dict[str, str]] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    """Users and agents who belong together and both have settings of their own."""

    known: dict[tuple[str, ...], Policy] = field(default_factory=dict)

    @property
    def differ(self) -> bool:
        """Whether anybody has settings of their own."""
        return any(key != TENANT for key in self.stored)

    def of(self, scope: Scope) -> Policy:
        """Return what holds for the memories of a user and an agent."""
        named = (scope_key(kind, getattr(scope, f"{kind}_id")) for kind in _KINDS)
        keys = tuple(key for key in (TENANT, *named) if key in self.stored)
        if keys not in self.known:
            self.known[keys] = resolve_policy(self.base, {key: self.stored[key] for key in keys})
        return self.known[keys]

    def groups(self, scope: Scope) -> Iterator[tuple[Scope, Policy]]:
        """Yield a scope with its policy, and then those within it who have another one."""
        yield scope, self.of(scope)
        own = [replace(scope, **names) for names in self._own() if _is_within_scope(scope, names)]
        for one in dict.fromkeys(own):
            if one != scope and self.of(one) != self.of(scope):
                yield one, self.of(one)

    def _own(self) -> Iterator[dict[str, str]]:
        for key in self.stored:
            kind, _, name = key.partition(":")
            if name:
                yield {f"{kind}_id": name}
        for user, agent in self.pairs:
            yield {"user_id": user, "agent_id": agent}

    def agree(self, links: Iterable[Link], wants: Callable[[Policy], bool], otherwise: Policy) -> bool:
        """Return whether all who hold a memory want something.

        Where nobody has settings of their own, a policy decides.
        """
        if not self.differ:
            return wants(otherwise)
        return all(wants(self.of(link.scope)) for link in links)


def _is_within_scope(scope: Scope, names: dict[str, str]) -> bool:
    return all(getattr(scope, field) in ("", name) for field, name in names.items())


async def read_policies(runtime: Runtime) -> Policies:
    """Return the policies that are set in a tenant."""
    base = runtime.policy if runtime.untuned is None else runtime.untuned
    found = Policies(base)

    async def work(tx: Tx) -> None:
        found.stored, found.pairs = {}, []
        if await tx.preferences.version(runtime.tenant_id):
            for name in _ASKED:
                for key, value in await tx.preferences.list_by_name(runtime.tenant_id, name, _ALL):
                    if key == TENANT or key.startswith(tuple(f"{kind}:" for kind in _KINDS)):
                        found.stored.setdefault(key, {})[name] = value
        if all(any(key.startswith(f"{kind}:") for key in found.stored) for kind in _KINDS):
            found.pairs = await _find_owner_pairs(tx, Scope(runtime.tenant_id), found.stored)

    await runtime.ledger.read(work)
    return found


async def _find_owner_pairs(tx: Tx, tenant: Scope, stored: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    pairs = {pair for layer in Layer for pair in await tx.upkeep.owners(tenant, str(layer))}
    return sorted(
        (user, agent)
        for user, agent in pairs
        if scope_key("user", user) in stored and scope_key("agent", agent) in stored
    )


# --- one pass over a memory that has grown ----------------------------------------------------------------------------


ACTOR: Final = "consolidator"
"""Who did it, in the history."""

PAGE: Final = 100
"""So many memories are changed in one transaction: others wait no longer than that takes."""

ALL: Final = 1_000_000_000
"""As many as there are."""

LEASE: Final = "consolidate"
_LEASE_LENGTH: Final = timedelta(minutes=10)
_RENEWED: Final = timedelta(minutes=1)
_TRIES: Final = 2

T = TypeVar("T")


@dataclass(slots=True)
class Pass:
    """One pass. A dry run changes nothing and counts what it would have done."""

    runtime: Runtime
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
        until, tenant = to_instant(datetime_from_instant(self.now) + _LEASE_LENGTH), self.runtime.tenant_id
        taken = await self.runtime.ledger.write(lambda tx: tx.leases.claim(tenant, LEASE, self.job_id, self.now, until))
        self.held_since = self.now if taken else ""
        return taken

    async def go_on(self) -> None:
        """Hold the lease a while longer; ``Conflict`` when this took so long that another pass has begun."""
        now = self.runtime.now()
        if not self.held_since or datetime_from_instant(now) - datetime_from_instant(self.held_since) < _RENEWED:
            return
        until, tenant = to_instant(datetime_from_instant(now) + _LEASE_LENGTH), self.runtime.tenant_id
        if not await self.runtime.ledger.write(lambda tx: tx.leases.renew(tenant, LEASE, self.job_id, until)):
            raise Conflict("another run has taken over", hint="it continues where this one stopped")
        self.held_since = now

    async def release(self) -> None:
        """Let others begin."""
        if self.held_since:
            tenant = self.runtime.tenant_id
            await self.runtime.ledger.write(lambda tx: tx.leases.release(tenant, LEASE, self.job_id))

    async def write(self, work: Work[list[T]]) -> list[T]:
        """Run a unit; when somebody changed one of its memories meanwhile once more, and then not in this pass."""
        for _ in range(_TRIES):
            try:
                return await self.runtime.ledger.write(work)
            except Conflict:
                log.debug("a memory changed while it was being consolidated")
        return []

    def did(self, name: str, links: Sequence[Link]) -> None:
        """Count something that was done, and for whom."""
        self.counts[name] += 1
        self.owners |= {Scope(self.runtime.tenant_id, link.scope.user_id, link.scope.agent_id) for link in links}

    def would(self, name: str, record: Record) -> None:
        """Count something that is only said."""
        self.counts[name] += 1
        self.settled.add(record.seq)

    def event(self, kind: EventType, record: Record, seen_by: Sequence[Link], reason: str, /, **answer: Any) -> Event:
        """Return what is told of a change: the whole state before it, so that it can be taken back."""
        scope = seen_by[0].scope if seen_by else self.scope
        return event_of(kind, record, scope, self.now, reason=reason, actor=ACTOR, job_id=self.job_id, **answer)


def parts_to_tidy(runtime: Runtime, scope: Scope) -> Runtime:
    """Return the parts that tidy up a scope; raise ``Forbidden`` for who reaches only a part of the tenant.

    Who may name everybody may have one of them tidied up, and not all at once.
    """
    if runtime.bounds is not None and not (runtime.bounds.is_everyone and scope.user_id):
        raise Forbidden("this key cannot consolidate", hint="use a key for the whole tenant")
    return remove_bounds(runtime)


def of_owner(scope: Scope, now: Instant, layer: str) -> Where:
    """Choose what a user and an agent see and nobody else: a field that is not set must be empty."""
    empty = (name for name in ("user_id", "agent_id") if not getattr(scope, name))
    extra = [Condition(name, Op.EXISTS, value=False) for name in empty]
    where = where_visible(scope, now, layers=(layer,))
    return type(where)((*where.parts, *extra))


def is_current(record: Record | None) -> bool:
    """Return whether a version still holds and is seen."""
    return record is not None and record.valid_to is None and record.status == Status.ACTIVE


async def delete_without_suppressing(tx: Tx, run: Pass, record: Record, links: Sequence[Link], reason: str) -> None:
    """Delete a memory as one that nobody asked to be forgotten: if it is said again, it is learned again."""
    await end_version(tx, record, Status.DELETED, run.now)
    await tx.memories.bury(record.tenant_id, record.id)
    event = run.event(EventType.DELETE, record, links, reason, before=record, links_before=links, ended=True)
    await tx.events.append([event])


# --- when memory is consolidated by itself, and its store is checked for damage ---------------------------------------


FIRST_SECONDS: Final = 60.0
"""So long after its start a worker looks for the first time whether a pass is due."""

AGAIN_SECONDS: Final = 1_800.0
"""And then so often."""

CHECK_HOURS: Final = 24.0
"""So often a worker checks the store."""

_TASK: Final = "consolidate"


@dataclass(slots=True)
class Timetable:
    """When one worker looks next; it begins when it is made."""

    next_at: datetime
    check_at: datetime

    @classmethod
    def of(cls, runtime: Runtime) -> Timetable:
        """Return that of a worker which starts now."""
        first = runtime.clock.now() + timedelta(seconds=FIRST_SECONDS)
        return cls(first, first)

    def seconds(self, runtime: Runtime) -> float:
        """Return how long there is nothing to look at."""
        return max(0.0, (self.next_at - runtime.clock.now()).total_seconds())

    async def tick(self, runtime: Runtime, *, busy: bool = False) -> ConsolidateResult | None:
        """Run what is due, if it is time to look and there is nothing better to do; return what was done."""
        if self.seconds(runtime) > 0 or busy:
            return None
        now = runtime.clock.now()
        self.next_at = now + timedelta(seconds=AGAIN_SECONDS)
        if now >= self.check_at:
            self.check_at = now + timedelta(hours=CHECK_HOURS)
            await check_store(runtime)
        await compact_if_owed(runtime)
        return await consolidate_if_due(runtime)


async def check_store(runtime: Runtime) -> list[str]:
    """Return what is damaged in a store that lies in files; it is logged, and ``health`` says so from then on."""
    if not isinstance(runtime.ledger, CopyableLedger) or not runtime.ledger.holds_files:
        return []
    facts = await runtime.ledger.check()
    damage = [line for line in facts["integrity"] if line != "ok"]
    runtime.worker_state.damage = damage
    if damage:
        log_event("store.damaged", logging.ERROR, damage=damage)
    return damage


async def is_pass_due(runtime: Runtime) -> bool:
    """Return whether the last whole pass is an interval ago; one that failed is tried again at the next look."""
    runtime = await apply_scope_policy(runtime, Scope(runtime.tenant_id))
    if not runtime.policy.enabled:
        return False
    last = await last_run(runtime)
    return last is None or last <= to_instant(
        runtime.clock.now() - timedelta(hours=runtime.policy.upkeep.interval_hours)
    )


async def last_run(runtime: Runtime) -> Instant | None:
    """Return when the last whole pass that succeeded began."""
    tenant = Scope(runtime.tenant_id)
    jobs = await runtime.ledger.read(lambda tx: tx.jobs.find(tenant, task=_TASK, status="success", limit=100))
    return next((job.created_at for job in jobs if job.scope.is_open), None)


async def consolidate_if_due(runtime: Runtime) -> ConsolidateResult | None:
    """Consolidate everything if it is due; return what was done, None when nothing was."""
    if not await is_pass_due(runtime):
        return None
    from memstone.engine.upkeep.consolidate import consolidate_scope

    answer = await consolidate_scope(runtime, {}, everybody=True)
    log_event("memory.scheduled", status=answer["status"])
    return answer
