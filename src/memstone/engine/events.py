"""``events``: the change feed. Everything that happened, in order, by cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.engine import shape
from memstone.engine.asking import checked_limit
from memstone.engine.parts import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.errors import InvalidInput
from memstone.model.event import Event

MOST: Final = 1_000
_INNER: Final = frozenset({"links", "split"})
"""What a state tells for undoing alone: who else sees a memory is not for everybody who does."""


async def events(parts: Parts, given: Mapping[str, Any], after: int, limit: int, *, everybody: bool) -> dict[str, Any]:
    """What happened after a cursor, oldest first; and the cursor to go on from."""
    cursor, most = _cursor(after), checked_limit(limit, MOST, "go on with the cursor of each answer, as after")
    scope = scope_or_everybody(parts, given, everybody=everybody)
    look = parts.ledger.peek if parts.bounds is None else parts.ledger.read  # within bounds it may take several pages
    found = await look(lambda tx: tx.events.feed(scope, cursor, most))
    return {"results": [line(event) for event in found], "cursor": found[-1].seq if found else cursor}


def line(event: Event) -> dict[str, Any]:
    """One event as the feed tells it."""
    return {"seq": event.seq, **history_line(event), "job_id": event.job_id, "undoes": event.undoes}


def history_line(event: Event) -> dict[str, Any]:
    """One event as the history of a memory tells it."""
    shown = shape.history_record(event)
    return {**shown, "before": _outer(event.before), "after": _outer(event.after)}


def _outer(state: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if state is None else {name: value for name, value in state.items() if name not in _INNER}


def _cursor(after: int) -> int:
    if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**53:
        raise InvalidInput(f"after must be a cursor that events gave, not {after!r}", hint="0 is the beginning")
    return after
