"""What happened lately, for the console: receipts, events, sessions, and the review queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from memstone.core.checks.filters import where_current, where_in_scope, where_visible
from memstone.core.redact import preview_text, redact_preview
from memstone.engine import results
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit, checked_offset
from memstone.engine.store.turns import map_json_texts
from memstone.model.context import Receipt
from memstone.model.event import EventFilter
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Layer, Status
from memstone.model.query import DATA, And, Condition, Op, Where
from memstone.model.scope import scope_ids
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import ContextReceipt, FeedEvent, MemoryItem

Queue: TypeAlias = Literal["quarantined", "doubtful"]
QUEUES: Final[tuple[Queue, ...]] = ("quarantined", "doubtful")
_MOST: Final = 250


async def list_receipts(
    runtime: Runtime, values: Mapping[str, Any], *, everybody: bool, since: Instant = "", limit: int = 50
) -> list[ContextReceipt]:
    """List what models were shown, newest first, as ids of memories without text."""
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    most = checked_limit(limit, _MOST)
    rows = await runtime.ledger.peek(lambda tx: tx.receipts.list_newest(scope, since, most))
    return [Receipt.from_dict(body).as_dict() for _, body in rows]


async def list_newest_events(
    runtime: Runtime, values: Mapping[str, Any], *, everybody: bool, limit: int = 50
) -> list[FeedEvent]:
    """Return what happened last in a scope, or to everybody, newest first."""
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    most = checked_limit(limit, _MOST)
    found = await runtime.ledger.peek(lambda tx: tx.events.newest(scope, EventFilter(), None, most))
    return [results.format_event(event) for event in found]


@dataclass(frozen=True, slots=True)
class SessionSpan:
    """A session: how many turns it has, and when the first and the last of them was."""

    run_id: str
    turns: int
    first_at: Instant
    last_at: Instant


async def list_sessions(runtime: Runtime, values: Mapping[str, Any], limit: int, offset: int) -> list[SessionSpan]:
    """Return the sessions of a scope in which something was said, the latest first."""
    where = where_visible(runtime.required_scope(values), runtime.now(), layers=(Layer.TURN,))
    most, first = checked_limit(limit, _MOST), checked_offset(offset)
    rows = await runtime.ledger.read(lambda tx: tx.memories.list_sessions(where, limit=most, offset=first))
    return [SessionSpan(*row) for row in rows]


# --- what waits for a person ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A memory that waits for somebody to look at it: a preview for reading, and the text for correcting it."""

    memory: MemoryItem
    preview: str
    text: str


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page of a queue, and how many there are in each."""

    items: list[ReviewItem]
    counts: dict[Queue, int]
    more: bool


async def read_review_queue(
    runtime: Runtime, values: Mapping[str, Any], queue: Queue, *, everybody: bool, limit: int, offset: int = 0
) -> ReviewPage:
    """Return what waits in a queue, newest first: held back until somebody approves it, or stored with a doubt."""
    scope = scope_or_everybody(runtime, values, everybody=everybody, reading=True)
    most, first = checked_limit(limit, _MOST), checked_offset(offset)
    waiting = {name: And((where_in_scope(scope), _waits_in(name))) for name in QUEUES}

    async def work(tx: Tx) -> ReviewPage:
        rows = await tx.memories.find(waiting[queue], limit=most + 1, offset=first)
        counts = {name: sum((await tx.memories.count(where)).values()) for name, where in waiting.items()}
        return ReviewPage([_review_item(found) for found in rows[:most]], counts, len(rows) > most)

    return await runtime.ledger.read(work)


def _waits_in(queue: str) -> Where:
    if queue == "quarantined":
        return where_current([Status.QUARANTINED])
    return And((where_current([Status.ACTIVE]), Condition(f"{DATA}doubt", Op.EXISTS, value=True)))


def _review_item(found: FoundMemory) -> ReviewItem:
    item = {**map_json_texts(results.format_memory(found), redact_preview), **scope_ids(found.link.scope)}
    return ReviewItem(cast("MemoryItem", item), preview_text(found.record.text), found.record.text)
