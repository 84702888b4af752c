"""A log line for every memory that was stored, changed or deleted: after the commit, and only then.

What a memory says is not told; of one that was changed the key is, by which those know it who gave it one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from memstone.model.event import Event, EventType
from memstone.ports.ledger import Tx, Work
from memstone.trace import log_event

T = TypeVar("T")
_ONE_BY_ONE: Final = 50
"""More than so many in one transaction are counted: an import would fill a disk with lines."""

_QUIET: Final = (EventType.FEEDBACK,)
_log: Final = logging.getLogger("memstone.store")


async def told(work: Work[T], run: Callable[[Work[T]], Awaitable[T]]) -> T:
    """Run a unit and, when it is stored, log what it did."""
    if not _log.isEnabledFor(logging.INFO):
        return await run(work)
    heard: list[Event] = []

    async def unit(tx: Tx) -> T:
        heard.clear()  # it may be run again
        events: Any = tx.events
        events.heard = heard
        try:
            return await work(tx)
        finally:
            events.heard = None

    answer = await run(unit)
    tell(heard)
    return answer


def tell(events: Iterable[Event]) -> None:
    """Log events that are stored, or how many of each kind when there are many."""
    done = [event for event in events if event.event not in _QUIET]
    if len(done) > _ONE_BY_ONE:
        _log_counts(done)
        return
    for event in done:
        _log_one(event)


def _log_one(event: Event) -> None:
    after, scope, memory_id = event.after or {}, event.scope, event.memory_id
    owner, kind = scope.user_id or scope.agent_id or scope.run_id, after.get("kind")
    if event.is_deleted:
        log_event("memory.deleted", logger=_log, id=memory_id)
    elif event.event == EventType.ADD:
        log_event("memory.stored", logger=_log, owner=owner, type=kind, id=memory_id)
    else:
        log_event("memory.updated", logger=_log, owner=owner, type=kind, id=memory_id, key=after.get("key"))


def _log_counts(events: Iterable[Event]) -> None:
    counts = Counter("deleted" if one.is_deleted else str(one.event) for one in events)
    deleted, stored = counts.pop("deleted", 0), counts.pop(str(EventType.ADD), 0)
    if stored:
        log_event("memory.stored", logger=_log, count=stored)
    if updated := counts.total():
        log_event("memory.updated", logger=_log, count=updated)
    if deleted:
        log_event("memory.deleted", logger=_log, count=deleted)
