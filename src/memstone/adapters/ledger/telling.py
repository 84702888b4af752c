"""A log line for every memory that was stored, changed or deleted: after the commit, and only then.

What a memory says is not told, and the key of one, which is made of its words, only to those who ask for details.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from memstone.model.event import Event, EventType
from memstone.ports.ledger import Tx, Work

T = TypeVar("T")
STORED: Final = "memory.stored"
UPDATED: Final = "memory.updated"
DELETED: Final = "memory.deleted"
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
    lines = list(_lines(events))
    if len(lines) <= _ONE_BY_ONE:
        for name, details in lines:
            _say(name, **details)
        return
    for name, count in Counter(name for name, _ in lines).items():
        _say(name, count=count)


def _lines(events: Iterable[Event]) -> Iterator[tuple[str, dict[str, Any]]]:
    detailed = _log.isEnabledFor(logging.DEBUG)
    for event in events:
        if event.event in _QUIET:
            continue
        if event.is_deleted:
            yield DELETED, {"id": event.memory_id}
            continue
        after, who = event.after or {}, event.scope
        details = {
            "owner": who.user_id or who.agent_id or who.run_id,
            "type": after.get("kind"),
            "id": event.memory_id,
        }
        if event.event == EventType.ADD:
            yield STORED, details
        else:
            yield UPDATED, {**details, **({"key": after.get("key")} if detailed else {})}


def _say(name: str, **details: Any) -> None:
    _log.info(name, extra={"event": name, **details})
