"""``undo`` and ``rollback``: reverse one change, or everything a job or a source did.

A change can be taken back as long as nothing later touched the memory. What takes it back is an event too, which names
the one it undoes and may itself be undone; a change and its undoing no longer stand in the way of what was before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from memstone.engine.change.reassign import REASON as REASSIGNED
from memstone.engine.change.reassign import taken_back
from memstone.engine.change.restore_state import (
    Act,
    Fresh,
    fresh_vectors,
    links_again,
    put_back,
    restore_links,
    status_at_the_end,
    those_not_in,
)
from memstone.engine.request_scope import Progress, report_progress, scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import is_live, links_of, state_of
from memstone.engine.store.revise import refuse_twins
from memstone.engine.store.versions import checked_id, under_id, without_nul
from memstone.errors import Conflict, Forbidden, InvalidInput, NotFoundError
from memstone.model.event import Event, EventFilter, EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import Record, Status
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import EventName, StatusName
    from memstone.results import Degradation, RestoreResult, RollbackConflict, RollbackResult, UndoItem, UndoResult

# --- ``undo`` ---------------------------------------------------------------------------------------------------------


LASTING: Final = frozenset({EventType.FEEDBACK, EventType.REDACT})
"""What is no change of a memory, or must not come back."""

_TOGETHER: Final = frozenset({EventType.MERGE, EventType.SUMMARIZE, EventType.REPLACE})
"""Changes of several memories that make sense only together."""


async def undo_changes(runtime: Runtime, event_id: str | None, job_id: str | None) -> UndoResult:
    """Take back one event, or everything a job did; all of it or nothing."""
    if (event_id is None) == (job_id is None):
        raise InvalidInput("undo takes either the id of an event or a job_id")
    events = await (
        _of_job(runtime, job_id) if event_id is None else _of_event(runtime, checked_id(event_id, "event_id"))
    )
    fresh = await fresh_for(runtime, events)
    group = new_id() if len(events) > 1 or events[0].event in _TOGETHER else None
    now = runtime.now()
    work = partial(_undo_all, runtime=runtime, events=events, fresh=fresh, group=group, job_id=job_id, now=now)
    done = await runtime.ledger.write(work)
    answer: UndoResult = {"undone": len(events), "results": [describe_event(event) for event in done]}
    if group:
        answer["job_id"] = group
    if fresh.degraded:
        answer["degraded"] = fresh.degraded
    return answer


async def _of_event(runtime: Runtime, event_id: str) -> list[Event]:
    """Return the event, and what has to be taken back with it, newest first."""
    event = await runtime.ledger.peek(lambda tx: tx.events.one(runtime.tenant_id, event_id))
    if event is None:
        raise NotFoundError(f"no event {event_id}", hint="history and events show their ids")
    if event.job_id is None or (event.undoes is None and event.event not in _TOGETHER):
        return [event]
    same = await _of_job(runtime, event.job_id)
    return _select_joint_events(event, same)


def _select_joint_events(event: Event, same: Sequence[Event]) -> list[Event]:
    """Return those events of a job that are one change with this one: undoing the same, or about the same memories."""
    if event.undoes is not None:
        return [one for one in same if one.undoes == event.undoes]
    alike, ids, grown = [one for one in same if one.event == event.event], _event_memory_ids(event), True
    while grown:
        before = len(ids)
        ids |= {name for one in alike if ids & _event_memory_ids(one) for name in _event_memory_ids(one)}
        grown = len(ids) > before
    return [one for one in alike if ids & _event_memory_ids(one)]


def _event_memory_ids(event: Event) -> set[str]:
    return {name for name in (event.memory_id, event.old_id, event.new_id) if name}


async def _of_job(runtime: Runtime, job_id: str | None) -> list[Event]:
    wanted = checked_id(job_id, "job_id")
    events = await runtime.ledger.peek(lambda tx: tx.events.of_job(runtime.tenant_id, wanted))
    changes = [event for event in events[::-1] if event.event not in LASTING]
    if not changes:
        raise NotFoundError(f"no job {job_id} changed anything", hint="events show the job_id of each change")
    return changes


async def fresh_for(runtime: Runtime, events: Iterable[Event]) -> Fresh:
    """Return vectors for the texts that come back when these events are taken back."""

    async def rows(tx: Tx) -> list[Record]:
        wanted = [(event.memory_id, event.before) for event in events if event.before and is_live(event.before)]
        found = [await tx.memories.version(runtime.tenant_id, name, int(then["version"])) for name, then in wanted]
        return [row for row in found if row is not None and row.text]

    return await fresh_vectors(runtime, await runtime.ledger.read(rows))


async def _undo_all(
    tx: Tx,
    *,
    runtime: Runtime,
    events: Sequence[Event],
    fresh: Fresh,
    group: str | None,
    job_id: str | None,
    now: Instant,
) -> list[Event]:
    done: list[Event] = []
    for event in events:
        done += await undo_one(Act(runtime, tx, now, fresh, job_id=group), event)
    if job_id is not None and events[0].reason == REASSIGNED:  # what went along with the memories and has no events
        await taken_back(tx, runtime, job_id)
    return done


async def undo_one(act: Act, event: Event) -> list[Event]:
    """Undo one event in an open transaction; return the events of the undo. Raise ``Conflict`` before any write."""
    if event.event in LASTING:
        raise InvalidInput(f"{event.event} cannot be undone", hint="masked text is gone for good")
    await _refuse_later_changes(act, event, event.memory_id)
    act = replace(act, undoes=event.id, reason=act.reason or f"undo of {event.event}")
    if event.event == EventType.REPLACE and event.old_id:
        await _refuse_later_changes(act, event, event.old_id)
        return await _undo_replace(act, event, event.old_id)
    done = await put_back(act, event.memory_id, event.before)
    split = str((event.after or {}).get("split", ""))
    if split:
        await _undo_split(act, event.memory_id, split)
    return [done]


async def _refuse_later_changes(act: Act, event: Event, memory_id: str) -> None:
    """Raise ``Conflict`` when something that still counts was done to a memory after an event."""
    history = await act.tx.events.list_for_memory(act.runtime.tenant_id, memory_id)
    later = [one for one in history if one.seq > event.seq and one.event != EventType.FEEDBACK]
    for one in _drop_undone_events(later):
        if one.undoes == event.id:
            raise Conflict(f"{event.id} is already undone", hint=f"to redo the change, undo {one.id}")
        raise Conflict(
            f"{memory_id} was changed after this: {one.event} at {one.created_at}", hint=f"undo {one.id} first"
        )


def _drop_undone_events(later: Sequence[Event]) -> list[Event]:
    """Return the events that were not undone, newest first.

    One that only undid another of them does not count either.
    """
    ids = {one.id for one in later}
    gone: set[str] = set()
    for one in reversed(later):
        if one.id not in gone and one.undoes in ids:
            gone |= {one.id, str(one.undoes)}
    return [one for one in reversed(later) if one.id not in gone]


async def _undo_replace(act: Act, event: Event, old_id: str) -> list[Event]:
    """Let those who got a memory of their own share the old one again, with all they saw of it before."""
    tx, tenant, before = act.tx, act.runtime.tenant_id, event.before or {}
    old = await tx.memories.current(tenant, old_id)
    if old is None or old.version != before.get("version"):
        raise Conflict(f"{old_id}, which it was split from, has changed since")
    own, have = await tx.memories.current(tenant, event.memory_id), await tx.links.of(tenant, old.seq)
    back = those_not_in(have, links_of(before, tenant) or ())
    await refuse_twins(tx, old, back, own.seq if own else 0)  # before anything is written
    await _give_back(act, event.memory_id, old)
    ended = await put_back(act, event.memory_id, None)
    joined = await restore_links(act, old, have, [*have, *back])
    await tx.events.append([joined])
    return [ended, joined]


async def _undo_split(act: Act, memory_id: str, split_id: str) -> None:
    """Hide the past that some holders were left with: they see it in the memory itself again."""
    live = await act.tx.memories.current(act.runtime.tenant_id, memory_id)
    if live is not None:
        await _give_back(act, split_id, live)
    await act.tx.memories.bury(act.runtime.tenant_id, split_id)


async def _give_back(act: Act, split_id: str, old: Record) -> None:
    """Let the holders of a split memory see the earlier versions of the one it came from, as they did before."""
    tx, tenant = act.tx, old.tenant_id
    for version in range(1, old.version):
        copy = await tx.memories.version(tenant, split_id, version)
        then = await tx.memories.version(tenant, old.id, version)
        if copy is not None and then is not None:
            seen = await tx.links.of(tenant, then.seq)
            await tx.links.add(tenant, then.seq, those_not_in(seen, await tx.links.of(tenant, copy.seq)))


def describe_event(event: Event) -> UndoItem:
    """Return what became of one memory."""
    status = (event.after or {}).get("status", str(Status.DELETED))
    return {
        "id": event.memory_id,
        "event": cast("EventName", str(event.event)),
        "memory": event.new_text,
        "status": cast("StatusName", str(status)),
        "event_id": event.id,
        "undoes": event.undoes,
    }


# --- ``rollback`` -----------------------------------------------------------------------------------------------------


_LEARNING: Final = frozenset({EventType.ADD, EventType.UPDATE, EventType.REPLACE})
_AT_ONCE: Final = 200
MAX_LISTED_CONFLICTS: Final = 100
"""So many conflicts are named; all are counted."""

UndoRefusal: TypeAlias = Conflict | Forbidden
"""Why an event was not taken back."""


@dataclass(slots=True)
class RollbackRequest:
    """One call of ``rollback``."""

    source: str | None = None
    since: When | None = None
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    dry_run: bool = False
    progress: Progress | None = None
    everybody: bool = False


@dataclass(slots=True)
class _Report:
    dry_run: bool
    job_id: str
    undone: int = 0
    events: Counter[str] = field(default_factory=Counter)
    memories: set[str] = field(default_factory=set)
    conflicts: list[RollbackConflict] = field(default_factory=list)
    degraded: list[Degradation] = field(default_factory=list)

    def as_dict(self) -> RollbackResult:
        answer: RollbackResult = {
            "dry_run": self.dry_run,
            "undone": self.undone,
            "memories": len(self.memories),
            "by_event": dict(self.events),
            "conflicts": self.conflicts[:MAX_LISTED_CONFLICTS],
            "skipped": len(self.conflicts),
        }
        if self.undone and not self.dry_run:
            answer["job_id"] = self.job_id
        if self.degraded:
            answer["degraded"] = self.degraded[:1]
        return answer


class _DryRunEnd(Exception):
    """Ends the transaction of a dry run, so that nothing of it stays."""


async def rollback_changes(runtime: Runtime, request: RollbackRequest) -> RollbackResult:
    """Take back what is meant, as far as nobody has changed it since; return counts and conflicts."""
    scope, done = _validate_request(runtime, request)
    report = _Report(request.dry_run, new_id())
    events = await _read_events_to_undo(runtime, scope, done)
    if request.dry_run:
        await _simulate_rollback(runtime, events, report)
        return report.as_dict()
    for start in range(0, len(events), _AT_ONCE):
        page = events[start : start + _AT_ONCE]
        fresh = await fresh_for(runtime, page)
        work = partial(_undo_page, runtime=runtime, events=page, fresh=fresh, job_id=report.job_id, now=runtime.now())
        _count_outcomes(report, page, await runtime.ledger.write(work))
        report.degraded += fresh.degraded
        await report_progress(request.progress, start + len(page), len(events))
    return report.as_dict()


def _validate_request(runtime: Runtime, request: RollbackRequest) -> tuple[Scope, EventFilter]:
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    if request.source is None and request.since is None:
        raise InvalidInput("rollback needs a source or a time", hint="use delete_all to empty a scope")
    if request.source is not None and (not isinstance(request.source, str) or not request.source.strip()):
        raise InvalidInput(f"source must be the name of an actor, a job or a method, not {request.source!r}")
    since = None if request.since is None else parse_when(request.since, "since")
    source = without_nul(request.source.strip(), "source") if request.source else None
    return scope_or_everybody(runtime, values, everybody=request.everybody), EventFilter(source, since)


async def _read_events_to_undo(runtime: Runtime, scope: Scope, done: EventFilter) -> list[Event]:
    """Return all that is to be taken back, newest first.

    What was undone in the same span is left out with its undoing.
    """
    found: list[Event] = []
    below: int | None = None
    while page := await runtime.ledger.read(partial(_read_event_page, scope=scope, done=done, below=below)):
        below = page[0][0]
        found += [event for _, event in page if event is not None]
    ids = {event.id for event in found}
    gone: set[str] = set()
    for event in found:
        if event.id not in gone and event.undoes in ids:
            gone |= {event.id, str(event.undoes)}
    return [event for event in found if event.id not in gone]


async def _read_event_page(
    tx: Tx, *, scope: Scope, done: EventFilter, below: int | None
) -> list[tuple[int, Event | None]]:
    """Return a page of events, each under the number to go on from; None in place of one that is not meant."""
    page = await tx.events.newest(scope, done, below, _AT_ONCE)
    lowest = page[-1].seq if page else 0
    return [(lowest, event if await _is_meant(tx, event, done) else None) for event in page]


async def _is_meant(tx: Tx, event: Event, done: EventFilter) -> bool:
    if event.event in LASTING:
        return False
    if done.source is None or done.source in (event.actor, event.job_id):
        return True
    return event.undoes is None and event.event in _LEARNING and await _learned_by(tx, event, done.source)


async def _learned_by(tx: Tx, event: Event, source: str) -> bool:
    """Return whether a version came about by such means: its words were found again, and not changed by a hand."""
    tenant, before = event.scope.tenant_id, event.before or {}
    row = await tx.memories.version(tenant, event.memory_id, int((event.after or {}).get("version", 0)))
    if row is None or row.source != source:
        return False
    old = await tx.memories.version(tenant, event.old_id or event.memory_id, int(before.get("version", 0)))
    return old is None or old.origin_id != row.origin_id or _record_evidence(row) not in (None, _record_evidence(old))


def _record_evidence(record: Record) -> Any:
    return record.data.get("evidence")


async def _simulate_rollback(runtime: Runtime, events: Sequence[Event], report: _Report) -> None:
    """Do it all in one transaction, and leave nothing of it behind."""
    outcomes: list[UndoRefusal | None] = []

    async def work(tx: Tx) -> None:
        outcomes[:] = await _undo_page(
            tx, runtime=runtime, events=events, fresh=Fresh(), job_id=report.job_id, now=runtime.now()
        )
        raise _DryRunEnd

    try:
        await runtime.ledger.write(work)
    except _DryRunEnd:
        _count_outcomes(report, events, outcomes)


async def _undo_page(
    tx: Tx, *, runtime: Runtime, events: Sequence[Event], fresh: Fresh, job_id: str, now: Instant
) -> list[UndoRefusal | None]:
    """Take events back, one after the other; for each None, or why it could not be."""
    act = Act(runtime, tx, now, fresh, job_id=job_id)
    return [await _undo_or_reason(act, event) for event in events]


async def _undo_or_reason(act: Act, event: Event) -> UndoRefusal | None:
    try:
        await undo_one(act, event)
    except (Conflict, Forbidden) as reason:  # raised before the first write of an event
        return reason
    return None


def _count_outcomes(report: _Report, events: Sequence[Event], outcomes: Sequence[UndoRefusal | None]) -> None:
    for event, conflict in zip(events, outcomes, strict=True):
        if conflict is None:
            report.undone += 1
            report.events[str(event.event)] += 1
            report.memories.add(event.memory_id)
        else:
            report.conflicts.append(
                {
                    "event_id": event.id,
                    "event": cast("EventName", str(event.event)),
                    "memory_id": event.memory_id,
                    "message": conflict.message,
                    "hint": conflict.hint,
                }
            )


# --- ``restore`` ------------------------------------------------------------------------------------------------------


async def restore_version(runtime: Runtime, memory_id: str, version: int | None) -> RestoreResult:
    """Let a version of a memory hold again, for those who see the memory now, or saw it last."""
    wanted = checked_id(memory_id)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 1):
        raise InvalidInput(f"version must be a whole number from 1, not {version!r}")
    row, _ = await runtime.ledger.read(lambda tx: _read_wanted_version(runtime, tx, wanted, version))
    fresh = await fresh_vectors(runtime, [row])
    now = runtime.now()
    work = partial(_apply_restore, runtime=runtime, memory_id=wanted, version=version, fresh=fresh, now=now)
    answer: RestoreResult = {**describe_event(await runtime.ledger.write(work))}
    if fresh.degraded:
        answer["degraded"] = fresh.degraded
    return answer


async def _read_wanted_version(runtime: Runtime, tx: Tx, memory_id: str, version: int | None) -> tuple[Record, Record]:
    """Return the version that is wanted, and the last one there is."""
    tenant = runtime.tenant_id
    last = await under_id(tx.memories.last, tenant, memory_id)
    if last is None or not last.text:
        raise NotFoundError(f"no memory {memory_id}", hint="erased memories cannot be restored")
    if last.valid_to is None and last.status == Status.QUARANTINED:
        raise Conflict(f"{memory_id} is in quarantine", hint="approve or reject it")
    if version in (None, last.version) and last.valid_to is None and last.status == Status.ACTIVE:
        raise Conflict(f"{memory_id} has not been deleted", hint="give the earlier version to restore")
    row = last if version is None else await tx.memories.version(tenant, last.id, version)
    if row is None or not row.text:
        raise NotFoundError(f"{memory_id} has no version {version}")
    return row, last


async def _apply_restore(
    tx: Tx, *, runtime: Runtime, memory_id: str, version: int | None, fresh: Fresh, now: Instant
) -> Event:
    row, last = await _read_wanted_version(runtime, tx, memory_id, version)
    act = Act(runtime, tx, now, fresh, reason=f"version {row.version} restored")
    links = await links_again(act, row, last)
    was = last.status if last.valid_to is None else await status_at_the_end(tx, last)
    status = Status.QUARANTINED if was == Status.QUARANTINED else Status.ACTIVE  # nobody has approved it yet
    return await put_back(act, last.id, {**state_of(row, links), "status": str(status)})
