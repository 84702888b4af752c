"""``rollback``: take back everything that a source did, or that was done since a time.

Newest first, so that what was built on something goes before it. What somebody else has changed since stays as it is
and is reported. All that one rollback does shares a job, so a rollback can itself be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from memstone.engine.parts import Parts
from memstone.engine.requests import Progress, report_progress
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.storing.named import without_nul
from memstone.engine.undoing.putback import Act
from memstone.engine.undoing.revive import Fresh
from memstone.engine.undoing.undo import LASTING, fresh_for, undo_one
from memstone.errors import Conflict, Forbidden, InvalidInput
from memstone.model.event import Done, Event, EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import Record
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_LEARNING: Final = frozenset({EventType.ADD, EventType.UPDATE, EventType.REPLACE})
_AT_ONCE: Final = 200
SHOWN: Final = 100
"""So many conflicts are named; all are counted."""

Kept: TypeAlias = Conflict | Forbidden
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
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    degraded: list[dict[str, object]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"dry_run": self.dry_run, "undone": self.undone, "memories": len(self.memories)}
        told |= {"by_event": dict(self.events), "conflicts": self.conflicts[:SHOWN], "skipped": len(self.conflicts)}
        told |= {"job_id": self.job_id} if self.undone and not self.dry_run else {}
        return {**told, **({"degraded": self.degraded[:1]} if self.degraded else {})}


class _Aborted(Exception):
    """Ends the transaction of a dry run, so that nothing of it stays."""


async def rollback(parts: Parts, request: RollbackRequest) -> dict[str, Any]:
    """Take back what is meant, as far as nobody has changed it since; gives counts and conflicts."""
    scope, done = _check(parts, request)
    report = _Report(request.dry_run, new_id())
    meant = await _meant(parts, scope, done)
    if request.dry_run:
        await _tried(parts, meant, report)
        return report.as_dict()
    for start in range(0, len(meant), _AT_ONCE):
        page = meant[start : start + _AT_ONCE]
        fresh = await fresh_for(parts, page)
        work = partial(_page, parts=parts, events=page, fresh=fresh, job_id=report.job_id, now=parts.now())
        _count(report, page, await parts.ledger.write(work))
        report.degraded += fresh.degraded
        await report_progress(request.progress, start + len(page), len(meant))
    return report.as_dict()


def _check(parts: Parts, request: RollbackRequest) -> tuple[Scope, Done]:
    given = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    if request.source is None and request.since is None:
        raise InvalidInput("rollback needs a source or a time", hint="delete_all empties a scope")
    if request.source is not None and (not isinstance(request.source, str) or not request.source.strip()):
        raise InvalidInput(f"source must be the name of an actor, a job or a means, not {request.source!r}")
    since = None if request.since is None else parse_when(request.since, "since")
    source = without_nul(request.source.strip(), "source") if request.source else None
    return scope_or_everybody(parts, given, everybody=request.everybody), Done(source, since)


async def _meant(parts: Parts, scope: Scope, done: Done) -> list[Event]:
    """All that is to be taken back, newest first; what was undone in the same span is left out with its undoing."""
    found: list[Event] = []
    below: int | None = None
    while page := await parts.ledger.read(partial(_found, scope=scope, done=done, below=below)):
        below = page[0][0]
        found += [event for _, event in page if event is not None]
    ids = {event.id for event in found}
    gone: set[str] = set()
    for event in found:
        if event.id not in gone and event.undoes in ids:
            gone |= {event.id, str(event.undoes)}
    return [event for event in found if event.id not in gone]


async def _found(tx: Tx, *, scope: Scope, done: Done, below: int | None) -> list[tuple[int, Event | None]]:
    """A page of events, each under the number to go on from; None in the place of one that is not meant."""
    page = await tx.events.newest(scope, done, below, _AT_ONCE)
    lowest = page[-1].seq if page else 0
    return [(lowest, event if await _is_meant(tx, event, done) else None) for event in page]


async def _is_meant(tx: Tx, event: Event, done: Done) -> bool:
    if event.event in LASTING:
        return False
    if done.source is None or done.source in (event.actor, event.job_id):
        return True
    return event.undoes is None and event.event in _LEARNING and await _learned_by(tx, event, done.source)


async def _learned_by(tx: Tx, event: Event, source: str) -> bool:
    """Whether a version came about by such means: its words were found anew, and not changed by a hand."""
    tenant, before = event.scope.tenant_id, event.before or {}
    row = await tx.memories.version(tenant, event.memory_id, int((event.after or {}).get("version", 0)))
    if row is None or row.source != source:
        return False
    old = await tx.memories.version(tenant, event.old_id or event.memory_id, int(before.get("version", 0)))
    return old is None or old.origin_id != row.origin_id or _evidence(row) not in (None, _evidence(old))


def _evidence(record: Record) -> Any:
    return record.data.get("evidence")


async def _tried(parts: Parts, meant: Sequence[Event], report: _Report) -> None:
    """Do it all in one transaction, and leave nothing of it behind."""
    outcomes: list[Kept | None] = []

    async def work(tx: Tx) -> None:
        outcomes[:] = await _page(tx, parts=parts, events=meant, fresh=Fresh(), job_id=report.job_id, now=parts.now())
        raise _Aborted

    try:
        await parts.ledger.write(work)
    except _Aborted:
        _count(report, meant, outcomes)


async def _page(
    tx: Tx, *, parts: Parts, events: Sequence[Event], fresh: Fresh, job_id: str, now: Instant
) -> list[Kept | None]:
    """Take events back, one after the other; for each None, or why it could not be."""
    act = Act(parts, tx, now, fresh, job_id=job_id)
    return [await _one(act, event) for event in events]


async def _one(act: Act, event: Event) -> Kept | None:
    try:
        await undo_one(act, event)
    except (Conflict, Forbidden) as reason:  # raised before the first write of an event
        return reason
    return None


def _count(report: _Report, events: Sequence[Event], outcomes: Sequence[Kept | None]) -> None:
    for event, conflict in zip(events, outcomes, strict=True):
        if conflict is None:
            report.undone += 1
            report.events[str(event.event)] += 1
            report.memories.add(event.memory_id)
        else:
            told = {"event_id": event.id, "event": str(event.event), "memory_id": event.memory_id}
            report.conflicts.append({**told, "message": conflict.message, "hint": conflict.hint})
