"""What is put aside, deleted and forgotten because of its age."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from retain.core.consolidation import days_before, is_faint, is_overdue
from retain.core.decay import time_constant
from retain.engine.parts import Parts
from retain.engine.status import OPEN, set_status
from retain.engine.upkeep import ACTOR, ALL, PAGE, Pass, end
from retain.model.ageing import Aged, Older
from retain.model.event import EventType
from retain.model.instant import Instant
from retain.model.memory import Layer, Link, Record, Status
from retain.ports.ledger import Tx
from retain.ports.upkeep import LOGS

Change: TypeAlias = Callable[[Tx, Record, list[Link]], Awaitable[None]]

_ALL: Final = tuple(str(layer) for layer in Layer)
_OPEN: Final = tuple(str(status) for status in OPEN)
_ACTIVE: Final = (str(Status.ACTIVE),)
_REPLIES: Final = 1.0
"""The answer to a batch is kept for so many days."""


async def evict(run: Pass) -> None:
    """Put aside facts that have faded and that nobody used for long; they can be brought back."""
    policy, now = run.parts.policy.upkeep, run.now
    if not policy.evict:
        return
    days = time_constant(run.parts.policy.recall.decay_days)
    idle = days_before(now, policy.idle_days)
    # What was touched in that very moment has been idle for exactly as long, so the look goes on to the next one.
    wanted = Older(run.scope, "updated_at", _next(idle), (str(Layer.FACT),), _ACTIVE, idle=True)

    async def put_aside(tx: Tx, record: Record, links: list[Link]) -> None:
        told = {"reason": "faded and not used for long", "actor": ACTOR, "job_id": run.job_id}
        await set_status(tx, record, links, Status.EVICTED, now, event=EventType.EVICT, **told)

    await _each(run, "evicted", wanted, lambda one: is_faint(one, now, policy, days), put_aside)


async def expire(run: Pass) -> None:
    """Delete kinds that are kept only while they are used, and what its own expiry hid long enough ago."""
    policy, now = run.parts.policy.upkeep, run.now
    left = policy.ttl_scan
    for kind, days in policy.ttl:
        wanted = Older(
            run.scope,
            "updated_at",
            _next(days_before(now, days)),
            (str(Layer.FACT), str(Layer.EPISODE)),
            _ACTIVE,
            kinds=(kind,),
            idle=True,
            uses_below=policy.immune_uses,
        )
        ended = _ending(run, f"{kind} and not used for {days} days")
        left -= await _each(run, "expired", wanted, lambda one: is_overdue(one, now, policy), ended, most=left)
    over = Older(run.scope, "expires_at", days_before(now, policy.deleted_keep_days), _ALL, _OPEN)
    await _each(run, "expired", over, lambda _: True, _ending(run, "it had expired"))


async def prune(run: Pass) -> None:
    """Delete what is older than its layer is kept, whatever its use."""
    for layer, days in run.parts.policy.upkeep.retain_days:
        wanted = Older(run.scope, "created_at", days_before(run.now, days), (layer,), _OPEN)
        await _each(run, "pruned", wanted, lambda _: True, _ending(run, f"kept for {days} days"))


def _ending(run: Pass, reason: str) -> Change:
    return lambda tx, record, links: end(tx, run, record, links, reason)


def _next(at: Instant) -> Instant:
    """A text that no moment lies between it and ``at``: being before it is being no later than ``at``."""
    return f"{at}0"


async def _each(
    run: Pass, name: str, wanted: Older, meant: Callable[[Aged], bool], change: Change, *, most: int = ALL
) -> int:
    """Change those that are wanted and meant, a page at a time; gives how many were looked at."""
    after = seen = 0
    while seen < most:
        await run.go_on()
        size = min(PAGE, most - seen)
        page = await run.parts.ledger.read(lambda tx: tx.upkeep.older(wanted, after, size))  # noqa: B023 - awaited
        chosen = [one.record for one in page if one.record.seq not in run.settled and meant(one)]
        if run.dry_run:
            for record in chosen:
                run.would(name, record)
        elif chosen:
            await _changed(run, name, wanted, meant, change, chosen)
        seen += len(page)
        if len(page) < size:
            break
        after = page[-1].record.seq
    return seen


async def _changed(
    run: Pass, name: str, wanted: Older, meant: Callable[[Aged], bool], change: Change, chosen: list[Record]
) -> None:
    """Look again inside the transaction: somebody may have used or changed one since."""

    async def work(tx: Tx) -> list[list[Link]]:
        done = []
        for seen in chosen:
            record = await tx.memories.at(seen.seq)
            if record is None or record.valid_to is not None or record.status not in wanted.statuses:
                continue
            links = await tx.links.of(record.tenant_id, record.seq)
            if meant(_aged(record, links)):
                await change(tx, record, links)
                done.append(links)
        return done

    for links in await run.write(work):
        run.did(name, links)


def _aged(record: Record, links: list[Link]) -> Aged:
    used = max((link.last_used_at or "" for link in links), default="")
    return Aged(record, used or None, sum(link.use_count for link in links))


async def purge(run: Pass, settled_changes: int) -> None:
    """Forget logs, answers and receipts that are old, the words of what was deleted, and stale entries of changes."""
    policy, retrieval = run.parts.policy.upkeep, run.parts.policy.retrieval
    days: dict[str, float] = dict.fromkeys(LOGS, float(policy.log_days))
    days |= {"receipts": float(retrieval.receipt_days), "idempotency": _REPLIES}
    for log in LOGS:
        run.counts[f"purged.{log}"] = await _purged(run, log, days_before(run.now, days[log]))
    run.counts["purged.deleted"] = await forget_deleted(run.parts, run.now, dry_run=run.dry_run)
    run.counts["purged.changes"] = await _forget_changes(run, settled_changes)


async def _purged(run: Pass, log: str, before: Instant) -> int:
    ledger, tenant = run.parts.ledger, run.parts.tenant_id
    if run.dry_run:
        return await ledger.read(lambda tx: tx.upkeep.purge(tenant, log, before, dry_run=True))
    return await ledger.write(lambda tx: tx.upkeep.purge(tenant, log, before, dry_run=False))


async def forget_deleted(parts: Parts, now: Instant, *, dry_run: bool = False) -> int:
    """Remove the words of memories that were deleted long enough ago; gives how many memories.

    That there was something, and what happened to it when, stays; what it said is gone from every version and from the
    history, and can no longer be brought back.
    """
    before = _next(days_before(now, parts.policy.upkeep.deleted_keep_days))
    tenant, forgotten = parts.tenant_id, 0

    async def work(tx: Tx) -> int:
        ids = await tx.upkeep.buried(tenant, before, PAGE)
        await tx.upkeep.blank(tenant, ids)
        return len(ids)

    if dry_run:
        return len(await parts.ledger.read(lambda tx: tx.upkeep.buried(tenant, before, ALL)))
    while done := await parts.ledger.write(work):
        forgotten += done
    return forgotten


async def _forget_changes(run: Pass, until: int) -> int:
    """Entries of the log of changes that a later one repeats.

    Only those that were there a pass ago: whoever follows the log looks at it more often than that, and finds the place
    where it left off. One that does not find it reads everything again.
    """
    tenant, ledger = run.parts.tenant_id, run.parts.ledger
    if not until:
        return 0
    stale = await ledger.read(lambda tx: tx.upkeep.stale_changes(tenant, until, ALL))
    for start in range(0, 0 if run.dry_run else len(stale), 5 * PAGE):
        part = stale[start : start + 5 * PAGE]
        await ledger.write(lambda tx: tx.upkeep.forget_changes(part))  # noqa: B023 - awaited at once
    return len(stale)
