"""Evict, delete and purge memories because of their age."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from memstone.core.consolidation import days_before, is_faint, is_overdue
from memstone.core.ranking.strength import time_constant
from memstone.engine.layers.mirrors import never_fades
from memstone.engine.recall.profile import always_shown, owner_of
from memstone.engine.runtime import Runtime
from memstone.engine.store.status import set_status
from memstone.engine.upkeep.passes import ACTOR, ALL, PAGE, Pass, delete_without_suppressing
from memstone.model.age import MemoryAge, Older
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import OPEN, Layer, Link, Record, Status
from memstone.model.policy import Policy
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.tables import LOGS

Change: TypeAlias = Callable[[Tx, Record, list[Link]], Awaitable[None]]

_ALL: Final = tuple(str(layer) for layer in Layer)
_OPEN: Final = tuple(str(status) for status in OPEN)
_ACTIVE: Final = (str(Status.ACTIVE),)
_REPLIES: Final = 1.0
"""The answer to a batch is kept for so many days."""


async def evict_faded_facts(run: Pass) -> None:
    """Put aside facts that have faded and that nobody used for long; they can be brought back."""
    now = run.now

    async def put_aside(tx: Tx, record: Record, links: list[Link]) -> None:
        answer = {"reason": "faded and not used for long", "actor": ACTOR, "job_id": run.job_id}
        await set_status(tx, run.runtime.language, record, links, Status.EVICTED, now, event=EventType.EVICT, **answer)

    for scope, policy in run.policies.groups(run.scope):
        if policy.upkeep.evict:
            idle = days_before(now, policy.upkeep.idle_days)
            # What was touched in that very moment has been idle for exactly as long: the look goes on to the next one.
            wanted = Older(scope, "updated_at", _instant_after(idle), (str(Layer.FACT),), _ACTIVE, idle=True)
            await _sweep_pages(
                run, "evicted", Sweep(wanted, policy, partial(_is_evictable, now=now), put_aside, spares=True)
            )


def _is_evictable(one: MemoryAge, policy: Policy, *, now: Instant) -> bool:
    days = time_constant(policy.recall.decay_days)
    return policy.upkeep.evict and is_faint(one, now, policy.upkeep, days)


async def expire_memories(run: Pass) -> None:
    """Delete kinds that are kept only while they are used, and what its own expiry hid long enough ago."""
    tenant, now = run.runtime.policy, run.now
    left = tenant.upkeep.ttl_scan
    for scope, policy in run.policies.groups(run.scope):
        for kind, days in policy.upkeep.ttl:
            wanted = Older(
                scope,
                "updated_at",
                _instant_after(days_before(now, days)),
                (str(Layer.FACT), str(Layer.EPISODE)),
                _ACTIVE,
                kinds=(kind,),
                idle=True,
                uses_below=policy.upkeep.immune_uses,
            )
            ended = _build_deletion(run, f"{kind} and not used for {days} days")
            left -= await _sweep_pages(
                run, "expired", Sweep(wanted, policy, partial(_is_past_ttl, now=now), ended), most=left
            )
    over = Older(run.scope, "expires_at", days_before(now, tenant.upkeep.deleted_keep_days), _ALL, _OPEN)
    await _sweep_pages(
        run, "expired", Sweep(over, tenant, lambda _one, _policy: True, _build_deletion(run, "it had expired"))
    )


def _is_past_ttl(one: MemoryAge, policy: Policy, *, now: Instant) -> bool:
    return is_overdue(one, now, policy.upkeep)


async def prune_old_memories(run: Pass) -> None:
    """Delete what is older than its layer is kept, whatever its use."""
    for scope, policy in run.policies.groups(run.scope):
        for layer, days in policy.upkeep.retain_days:
            wanted = Older(scope, "created_at", days_before(run.now, days), (layer,), _OPEN)
            ended = _build_deletion(run, f"kept for {days} days")
            await _sweep_pages(run, "pruned", Sweep(wanted, policy, partial(_kept_enough, now=run.now), ended))


def _kept_enough(one: MemoryAge, policy: Policy, *, now: Instant) -> bool:
    days = dict(policy.upkeep.retain_days).get(one.record.layer)
    return bool(days) and one.record.created_at < days_before(now, days or 0)


def _build_deletion(run: Pass, reason: str) -> Change:
    return lambda tx, record, links: delete_without_suppressing(tx, run, record, links, reason)


def _instant_after(at: Instant) -> Instant:
    """Return a text that no moment lies between it and ``at``: being before it is being no later than ``at``."""
    return f"{at}0"


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is looked for, by whose policy, when it is meant by a policy, and what becomes of it then.

    With ``spares`` nothing is touched that is always shown: that does not count as a use, and is one.
    """

    wanted: Older
    policy: Policy
    applies_to: Callable[[MemoryAge, Policy], bool]
    change: Change
    spares: bool = False

    def is_due(self, run: Pass, one: MemoryAge, links: list[Link]) -> bool:
        """Return whether everybody who holds a memory means it."""
        return run.policies.agree(links, lambda policy: self.applies_to(one, policy), self.policy)

    async def page(self, tx: Tx, run: Pass, after: int, size: int) -> list[tuple[MemoryAge, list[Link]]]:
        """Return the next of them, with who holds them where that matters."""
        found = await tx.upkeep.older(self.wanted, after, size)
        if not run.policies.differ:
            return [(one, []) for one in found]
        return [(one, await tx.links.of(one.record.tenant_id, one.record.seq)) for one in found]


async def _sweep_pages(run: Pass, name: str, swept: Sweep, *, most: int = ALL) -> int:
    """Change those that are wanted and meant, a page at a time; return how many were looked at."""
    after = seen = 0
    while seen < most:
        await run.go_on()
        size = min(PAGE, most - seen)
        page = await run.runtime.ledger.read(lambda tx: swept.page(tx, run, after, size))  # noqa: B023 - awaited
        due = (one.record for one, links in page if swept.is_due(run, one, links))
        chosen = [record for record in due if record.seq not in run.settled]
        if chosen and swept.spares:
            chosen = await run.runtime.ledger.read(lambda tx: _not_always_shown(tx, run, chosen))  # noqa: B023 - awaited
        if run.dry_run:
            for record in chosen:
                run.would(name, record)
        elif chosen:
            await _apply_changes(run, name, swept, chosen)
        seen += len(page)
        if len(page) < size:
            break
        after = page[-1][0].record.seq
    return seen


async def _not_always_shown(tx: Tx, run: Pass, records: list[Record]) -> list[Record]:
    """Return those of some memories that may fade and are in nobody's profile or narrative."""
    found = []
    for record in records:
        if never_fades(record, run.runtime.language.identity):
            continue
        links = await tx.links.of(record.tenant_id, record.seq)
        if not any([record.id in await _always_shown(tx, run, link.scope) for link in links]):
            found.append(record)
    return found


async def _always_shown(tx: Tx, run: Pass, scope: Scope) -> frozenset[str]:
    """Return what of a user's facts a model is shown whatever is asked; looked up once in a pass."""
    owner = owner_of(scope)
    if owner not in run.always_shown:
        run.always_shown[owner] = await always_shown(
            tx,
            run.runtime.blocks,
            run.runtime.language,
            owner,
            run.now,
            run.policies.of(owner),
            run.runtime.token_counter,
        )
    return run.always_shown[owner]


async def _apply_changes(run: Pass, name: str, swept: Sweep, chosen: list[Record]) -> None:
    """Look again inside the transaction: somebody may have used or changed one since."""

    async def work(tx: Tx) -> list[list[Link]]:
        done = []
        for seen in chosen:
            record = await tx.memories.at(seen.seq)
            if record is None or record.valid_to is not None or record.status not in swept.wanted.statuses:
                continue
            links = await tx.links.of(record.tenant_id, record.seq)
            if swept.is_due(run, _build_aged(record, links), links):
                await swept.change(tx, record, links)
                done.append(links)
        return done

    for links in await run.write(work):
        run.did(name, links)


def _build_aged(record: Record, links: list[Link]) -> MemoryAge:
    used = max((link.last_used_at or "" for link in links), default="")
    return MemoryAge(record, used or None, sum(link.use_count for link in links))


async def purge_old_rows(run: Pass, settled_changes: int) -> None:
    """Forget logs, answers and receipts that are old, the words of what was deleted, and stale entries of changes."""
    policy, retrieval = run.runtime.policy.upkeep, run.runtime.policy.retrieval
    days: dict[str, float] = dict.fromkeys(LOGS, float(policy.log_days))
    days |= {"receipts": float(retrieval.receipt_days), "idempotency": _REPLIES}
    for log in LOGS:
        run.counts[f"purged.{log}"] = await _purge_log(run, log, days_before(run.now, days[log]))
    run.counts["purged.deleted"] = await forget_deleted(run.runtime, run.now, dry_run=run.dry_run)
    run.counts["purged.changes"] = await _forget_changes(run, settled_changes)


async def _purge_log(run: Pass, log: str, before: Instant) -> int:
    ledger, tenant = run.runtime.ledger, run.runtime.tenant_id
    if run.dry_run:
        return await ledger.read(lambda tx: tx.upkeep.purge(tenant, log, before, dry_run=True))
    return await ledger.write(lambda tx: tx.upkeep.purge(tenant, log, before, dry_run=False))


async def forget_deleted(runtime: Runtime, now: Instant, *, dry_run: bool = False) -> int:
    """Remove the words of memories that were deleted long enough ago; return how many memories.

    That there was something, and what happened to it when, stays; what it said is gone from every version and from the
    history, and can no longer be brought back.
    """
    before = _instant_after(days_before(now, runtime.policy.upkeep.deleted_keep_days))
    tenant, forgotten = runtime.tenant_id, 0

    async def work(tx: Tx) -> int:
        ids = await tx.upkeep.list_deleted(tenant, before, PAGE)
        await tx.upkeep.blank(tenant, ids)
        return len(ids)

    if dry_run:
        return len(await runtime.ledger.read(lambda tx: tx.upkeep.list_deleted(tenant, before, ALL)))
    while done := await runtime.ledger.write(work):
        forgotten += done
    return forgotten


async def _forget_changes(run: Pass, until: int) -> int:
    """Forget entries of the log of changes that a later one repeats.

    Only those that were there a pass ago: whoever follows the log looks at it more often than that, and finds the place
    where it left off. One that does not find it reads everything again.
    """
    tenant, ledger = run.runtime.tenant_id, run.runtime.ledger
    if not until:
        return 0
    stale = await ledger.read(lambda tx: tx.upkeep.stale_changes(tenant, until, ALL))
    for start in range(0, 0 if run.dry_run else len(stale), 5 * PAGE):
        part = stale[start : start + 5 * PAGE]
        await ledger.write(lambda tx: tx.upkeep.forget_changes(part))  # noqa: B023 - awaited at once
    return len(stale)
