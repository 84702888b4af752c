"""``undo``: take back one change, or all that a job did, exactly.

A change can be taken back as long as nothing later touched the memory. What takes it back is an event too, which names
the one it undoes and may itself be undone; a change and its undoing no longer stand in the way of what was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from memstone.engine.parts import Parts
from memstone.engine.storing.named import checked_id
from memstone.engine.storing.revise import refuse_twins
from memstone.engine.storing.snapshot import is_live, links_of
from memstone.engine.undoing.putback import Act, put_back, relink, those_not_in
from memstone.engine.undoing.reassign import REASON as REASSIGNED
from memstone.engine.undoing.reassign import taken_back
from memstone.engine.undoing.revive import Fresh, fresh_vectors
from memstone.errors import Conflict, InvalidInput, NotFoundError
from memstone.model.event import Event, EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Record, Status
from memstone.ports.ledger import Tx

LASTING: Final = frozenset({EventType.FEEDBACK, EventType.REDACT})
"""What is no change of a memory, or must not come back."""

_TOGETHER: Final = frozenset({EventType.MERGE, EventType.SUMMARIZE, EventType.REPLACE})
"""Changes of several memories that make sense only together."""


async def undo(parts: Parts, event_id: str | None, job_id: str | None) -> dict[str, Any]:
    """Take back one event, or everything a job did; all of it or nothing."""
    if (event_id is None) == (job_id is None):
        raise InvalidInput("undo takes the id of an event or a job_id, one of the two")
    events = await (_of_job(parts, job_id) if event_id is None else _of_event(parts, checked_id(event_id, "event_id")))
    fresh = await fresh_for(parts, events)
    group = new_id() if len(events) > 1 or events[0].event in _TOGETHER else None
    now = parts.now()
    work = partial(_undo_all, parts=parts, events=events, fresh=fresh, group=group, job_id=job_id, now=now)
    done = await parts.ledger.write(work)
    answer: dict[str, Any] = {"undone": len(events), "results": [told(event) for event in done]}
    if group:
        answer["job_id"] = group
    return {**answer, **({"degraded": fresh.degraded} if fresh.degraded else {})}


async def _of_event(parts: Parts, event_id: str) -> list[Event]:
    """The event, and what has to be taken back with it, newest first."""
    event = await parts.ledger.peek(lambda tx: tx.events.one(parts.tenant_id, event_id))
    if event is None:
        raise NotFoundError(f"no event {event_id}", hint="history and events show their ids")
    if event.job_id is None or (event.undoes is None and event.event not in _TOGETHER):
        return [event]
    same = await _of_job(parts, event.job_id)
    return _belonging(event, same)


def _belonging(event: Event, same: Sequence[Event]) -> list[Event]:
    """Those events of a job that are one change with this one: they undid the same, or are about the same memories."""
    if event.undoes is not None:
        return [one for one in same if one.undoes == event.undoes]
    alike, ids, grown = [one for one in same if one.event == event.event], _ids(event), True
    while grown:
        before = len(ids)
        ids |= {name for one in alike if ids & _ids(one) for name in _ids(one)}
        grown = len(ids) > before
    return [one for one in alike if ids & _ids(one)]


def _ids(event: Event) -> set[str]:
    return {name for name in (event.memory_id, event.old_id, event.new_id) if name}


async def _of_job(parts: Parts, job_id: str | None) -> list[Event]:
    wanted = checked_id(job_id, "job_id")
    events = await parts.ledger.peek(lambda tx: tx.events.of_job(parts.tenant_id, wanted))
    changes = [event for event in events[::-1] if event.event not in LASTING]
    if not changes:
        raise NotFoundError(f"no job {job_id} changed anything", hint="events show the job_id of what a job did")
    return changes


async def fresh_for(parts: Parts, events: Iterable[Event]) -> Fresh:
    """Vectors for the texts that come back when these events are taken back."""

    async def rows(tx: Tx) -> list[Record]:
        wanted = [(event.memory_id, event.before) for event in events if event.before and is_live(event.before)]
        found = [await tx.memories.version(parts.tenant_id, name, int(then["version"])) for name, then in wanted]
        return [row for row in found if row is not None and row.text]

    return await fresh_vectors(parts, await parts.ledger.read(rows))


async def _undo_all(
    tx: Tx,
    *,
    parts: Parts,
    events: Sequence[Event],
    fresh: Fresh,
    group: str | None,
    job_id: str | None,
    now: Instant,
) -> list[Event]:
    done: list[Event] = []
    for event in events:
        done += await undo_one(Act(parts, tx, now, fresh, job_id=group), event)
    if job_id is not None and events[0].reason == REASSIGNED:  # what went along with the memories and has no events
        await taken_back(tx, parts, job_id)
    return done


async def undo_one(act: Act, event: Event) -> list[Event]:
    """Take back one event in an open transaction; gives the events that do. ``Conflict`` is raised before any write."""
    if event.event in LASTING:
        raise InvalidInput(f"{event.event} cannot be taken back", hint="what was masked is gone for good")
    await _untouched(act, event, event.memory_id)
    act = replace(act, undoes=event.id, reason=act.reason or f"undo of {event.event}")
    if event.event == EventType.REPLACE and event.old_id:
        await _untouched(act, event, event.old_id)
        return await _undo_replace(act, event, event.old_id)
    done = await put_back(act, event.memory_id, event.before)
    split = str((event.after or {}).get("split", ""))
    if split:
        await _undo_split(act, event.memory_id, split)
    return [done]


async def _untouched(act: Act, event: Event, memory_id: str) -> None:
    """Raise ``Conflict`` when something that still counts was done to a memory after an event."""
    history = await act.tx.events.touching(act.parts.tenant_id, memory_id)
    later = [one for one in history if one.seq > event.seq and one.event != EventType.FEEDBACK]
    for one in _standing(later):
        if one.undoes == event.id:
            raise Conflict(f"{event.id} is undone already", hint=f"to have the change again, undo {one.id}")
        raise Conflict(
            f"{memory_id} was changed after this: {one.event} at {one.created_at}", hint=f"undo {one.id} first"
        )


def _standing(later: Sequence[Event]) -> list[Event]:
    """The events that were not undone, newest first; one that only undid another of them does not count either."""
    ids = {one.id for one in later}
    gone: set[str] = set()
    for one in reversed(later):
        if one.id not in gone and one.undoes in ids:
            gone |= {one.id, str(one.undoes)}
    return [one for one in reversed(later) if one.id not in gone]


async def _undo_replace(act: Act, event: Event, old_id: str) -> list[Event]:
    """Those who got a memory of their own share the old one again, with all they saw of it before."""
    tx, tenant, before = act.tx, act.parts.tenant_id, event.before or {}
    old = await tx.memories.current(tenant, old_id)
    if old is None or old.version != before.get("version"):
        raise Conflict(f"{old_id}, from which it was split, is no longer what it was")
    own, have = await tx.memories.current(tenant, event.memory_id), await tx.links.of(tenant, old.seq)
    back = those_not_in(have, links_of(before, tenant) or ())
    await refuse_twins(tx, old, back, own.seq if own else 0)  # before anything is written
    await _give_back(act, event.memory_id, old)
    ended = await put_back(act, event.memory_id, None)
    joined = await relink(act, old, have, [*have, *back])
    await tx.events.append([joined])
    return [ended, joined]


async def _undo_split(act: Act, memory_id: str, split_id: str) -> None:
    """Hide the past that some holders were left with: they see it in the memory itself again."""
    live = await act.tx.memories.current(act.parts.tenant_id, memory_id)
    if live is not None:
        await _give_back(act, split_id, live)
    await act.tx.memories.bury(act.parts.tenant_id, split_id)


async def _give_back(act: Act, split_id: str, old: Record) -> None:
    """Let the holders of a split memory see the earlier versions of the one it came from, as they did before."""
    tx, tenant = act.tx, old.tenant_id
    for version in range(1, old.version):
        copy = await tx.memories.version(tenant, split_id, version)
        then = await tx.memories.version(tenant, old.id, version)
        if copy is not None and then is not None:
            seen = await tx.links.of(tenant, then.seq)
            await tx.links.add(tenant, then.seq, those_not_in(seen, await tx.links.of(tenant, copy.seq)))


def told(event: Event) -> dict[str, Any]:
    """What became of one memory."""
    status = (event.after or {}).get("status", str(Status.DELETED))
    shown = {"id": event.memory_id, "event": str(event.event), "memory": event.new_text, "status": str(status)}
    return {**shown, "event_id": event.id, "undoes": event.undoes}
