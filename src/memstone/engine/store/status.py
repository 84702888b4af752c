"""Change the status or the visibility of a memory; a status change is a new version.

A version is active, disabled, quarantined or evicted as long as it is the current one, and keeps that status when it
ends unless it was active. So the history tells when something was put aside and by whom, and a look at the past shows
exactly what was seen then. Disabled and quarantined versions stay in the indexes, from which nothing but a call that
names the status takes them. An evicted one leaves them, and gives up its claim to its words: said again, it is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from memstone.core.prompt.profile import VISIBILITY, Visibility, visibility_of
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of
from memstone.engine.store.holders import refuse_shared
from memstone.engine.store.revise import delete_for_everybody
from memstone.engine.store.sharing import checked_reason
from memstone.engine.store.versions import checked_id, require_current, supersede_version, vectors_of
from memstone.errors import Conflict, InvalidInput
from memstone.language.language import Language
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import APPROVED, INDEXED, Link, Record, Status
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import VisibilityName
    from memstone.results import StatusResult, VisibilityResult


async def set_status(  # noqa: PLR0913 - the change, and what its event tells
    tx: Tx,
    language: Language,
    record: Record,
    links: Sequence[Link],
    status: str,
    now: Instant,
    *,
    event: EventType,
    reason: str | None = None,
    actor: str = "caller",
    job_id: str | None = None,
) -> Record:
    """Store the next version of a memory with another status, and return it.

    ``links`` are those of the record. What was evicted has no vectors to take along: ``restore`` makes them.
    """
    new = next_status(record, status, now)
    remaining = links if status in INDEXED else [replace(link, dedupe=None) for link in links]
    await supersede_version(tx, language, record, new, remaining, await vectors_of(tx, record))
    answer: dict[str, Any] = {"reason": reason, "actor": actor, "job_id": job_id}
    await tx.events.append(
        [event_of(event, new, links[0].scope, now, before=record, links=remaining, links_before=links, **answer)]
    )
    return new


def next_status(record: Record, status: str, now: Instant) -> Record:
    """Return the next version with another status."""
    began = max(record.valid_from, now)
    version = record.version + 1
    return replace(record, seq=0, version=version, status=str(status), valid_from=began, updated_at=now)


async def disable_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Keep a memory but stop recalling it."""
    return await _change_status(runtime, memory_id, Status.DISABLED, (Status.ACTIVE,), EventType.DISABLE, reason)


async def enable_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Recall a disabled memory again."""
    return await _change_status(runtime, memory_id, Status.ACTIVE, (Status.DISABLED,), EventType.ENABLE, reason)


async def quarantine_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Hold a memory back until somebody approves it."""
    return await _change_status(
        runtime, memory_id, Status.QUARANTINED, APPROVED, EventType.DISABLE, reason or "quarantined"
    )


async def approve_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Release a memory from quarantine."""
    waiting = (Status.QUARANTINED,)
    return await _change_status(runtime, memory_id, Status.ACTIVE, waiting, EventType.ENABLE, reason or "approved")


async def confirm_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Remove the doubt from a memory; its trust does not change."""
    wanted, now, why = checked_id(memory_id), runtime.now(), checked_reason(runtime, reason or "confirmed")

    async def work(tx: Tx) -> StatusResult:
        record = await require_current(tx, runtime.tenant_id, wanted)
        status = Status(record.status)
        if not record.doubtful:
            return {"id": wanted, "event": "NONE", "status": status.value}
        links = await tx.links.of(record.tenant_id, record.seq)
        refuse_shared(links, runtime.bounds)
        data = {name: value for name, value in record.data.items() if name != "doubt"}
        new = replace(next_status(record, record.status, now), data=data)
        await supersede_version(tx, runtime.language, record, new, links, await vectors_of(tx, record))
        about: dict[str, Any] = {"before": record, "links": links, "links_before": links, "reason": why}
        await tx.events.append([event_of(EventType.UPDATE, new, links[0].scope, now, **about)])
        return {"id": wanted, "event": "ENABLE", "status": status.value, "version": new.version}

    return await runtime.ledger.write(work)


async def reject_memory(runtime: Runtime, memory_id: str, reason: str | None) -> StatusResult:
    """Delete a memory in quarantine; it is not learned again."""
    wanted, now, why = checked_id(memory_id), runtime.now(), checked_reason(runtime, reason or "rejected")

    async def work(tx: Tx) -> None:
        record = await require_current(tx, runtime.tenant_id, wanted)
        _check_transition(record, (Status.QUARANTINED,), Status.DELETED)
        links = await tx.links.of(record.tenant_id, record.seq)
        refuse_shared(links, runtime.bounds)
        await delete_for_everybody(tx, record, links, now, why)

    await runtime.ledger.write(work)
    return {"id": wanted, "event": "DELETE", "status": "deleted"}


async def set_visibility(runtime: Runtime, memory_id: str, visibility: VisibilityName) -> VisibilityResult:
    """Store whether models see a memory, as its next version."""
    if visibility not in tuple(Visibility):
        raise InvalidInput(f"unknown visibility {visibility!r}", hint="one of " + ", ".join(Visibility))
    wanted, now = checked_id(memory_id), runtime.now()

    async def work(tx: Tx) -> VisibilityResult:
        record = await require_current(tx, runtime.tenant_id, wanted)
        if visibility_of(record.data) == visibility:
            return {"id": wanted, "event": "NONE", "visibility": visibility}
        links = await tx.links.of(record.tenant_id, record.seq)
        refuse_shared(links, runtime.bounds)
        stored = {name: value for name, value in record.data.items() if name != VISIBILITY}
        marked = stored if visibility == "default" else {**stored, VISIBILITY: visibility}
        new = replace(next_status(record, record.status, now), data=marked)
        await supersede_version(tx, runtime.language, record, new, links, await vectors_of(tx, record))
        reason = f"visibility: {visibility}"
        event = event_of(
            EventType.UPDATE, new, links[0].scope, now, before=record, links=links, links_before=links, reason=reason
        )
        await tx.events.append([event])
        return {"id": wanted, "event": "UPDATE", "visibility": visibility, "version": new.version}

    return await runtime.ledger.write(work)


async def _change_status(
    runtime: Runtime, memory_id: str, status: Status, among: Sequence[str], event: EventType, reason: str | None
) -> StatusResult:
    wanted, now, why = checked_id(memory_id), runtime.now(), checked_reason(runtime, reason or None)

    async def work(tx: Tx) -> StatusResult:
        record = await require_current(tx, runtime.tenant_id, wanted)
        if record.status == status:
            return {"id": wanted, "event": "NONE", "status": status.value}
        _check_transition(record, among, status)
        links = await tx.links.of(record.tenant_id, record.seq)
        refuse_shared(links, runtime.bounds)  # a status is the memory's, not a holder's
        new = await set_status(tx, runtime.language, record, links, status, now, event=event, reason=why)
        switch: Literal["DISABLE", "ENABLE"] = "DISABLE" if event is EventType.DISABLE else "ENABLE"
        return {"id": wanted, "event": switch, "status": status.value, "version": new.version}

    return await runtime.ledger.write(work)


def _check_transition(record: Record, among: Sequence[str], wanted: str) -> None:
    if record.status not in among:
        hint = _WAYS_OUT[Status(record.status)]
        raise Conflict(f"{record.id} is {record.status} and cannot become {wanted}", hint=hint)


_WAYS_OUT: Final[dict[Status, str]] = {  # of every status in ``OPEN``; nothing leads out of one in ``ENDED``
    Status.QUARANTINED: "approve or reject it",
    Status.EVICTED: "bring it back with restore",
    Status.DISABLED: "enable it first",
    Status.ACTIVE: "only memories in quarantine can be approved or rejected",
}
