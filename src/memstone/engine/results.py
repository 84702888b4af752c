"""Build answers from records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit
from memstone.engine.store.write import Outcome
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.event import Event, EventFilter, EventType
from memstone.model.memory import FoundMemory, Layer, Status
from memstone.model.scope import scope_ids

if TYPE_CHECKING:
    from memstone.core.ranking.fusion import (
        ScoredCandidate,  # it computes with numpy, and whoever reads one memory does not
    )
    from memstone.literals import AddEventName, EventName, KindName, LayerName, StatusName
    from memstone.results import (
        AddEvent,
        DeferredEvent,
        EventFeed,
        FeedEvent,
        HistoryEvent,
        MemoryItem,
        ScoreBreakdown,
        SearchHit,
        VersionState,
    )


# --- the shapes callers see -------------------------------------------------------------------------------------------


def format_memory(found: FoundMemory) -> MemoryItem:
    """Return a memory."""
    record, who = found.record, found.link.scope
    visible: MemoryItem = {
        "id": record.id,
        "memory": record.text,
        "hash": record.hash,
        "metadata": record.metadata,
        "user_id": who.user_id or None,
        "agent_id": who.agent_id or None,
        "run_id": who.run_id or None,
        "layer": cast("LayerName", str(record.layer)),
        "kind": cast("KindName", str(record.kind)),
        "key": record.key,
        "status": cast("StatusName", str(record.status)),
        "version": record.version,
        "occurred_at": record.occurred_at,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "expires_at": record.expires_at,
    }
    if record.source_role:
        visible["role"] = record.source_role
        visible["actor"] = record.data.get("speaker", record.source_role)
    if record.layer == Layer.TURN:
        visible["order"] = record.seq
    if record.data:
        _add_details(visible, record.data)
    return visible


def _add_details(memory_item: MemoryItem, data: Mapping[str, Any]) -> None:
    """Add what the data of a memory tell callers; the rest is the engine's own."""
    if "evidence" in data:
        memory_item["evidence"] = data["evidence"]
    if "category" in data:
        memory_item["category"] = data["category"]
    if "attachments" in data:
        memory_item["attachments"] = data["attachments"]
    if "doubt" in data:
        memory_item["doubt"] = data["doubt"]
    if "visibility" in data:
        memory_item["visibility"] = data["visibility"]


def add_owner(memory_item: MemoryItem, owners: Mapping[str, str]) -> None:
    """Add whose a memory is, where the caller did not say it."""
    owner = owners.get(memory_item["id"])
    if owner:
        memory_item["shared_by"] = owner


def format_hit(found: FoundMemory, scored: ScoredCandidate, *, explain: bool) -> SearchHit:
    """Return a memory that a search found."""
    visible: SearchHit = {**format_memory(found), "score": round(scored.score, 6)}
    if explain:
        visible["score_parts"] = format_score(scored)
    return visible


def format_score(scored: ScoredCandidate) -> ScoreBreakdown:
    """Return what a score is made of."""
    parts = {name: value for name, value in asdict(scored.parts).items() if value is not None}
    return cast("ScoreBreakdown", parts)


def format_change(outcome: Outcome) -> AddEvent:
    """Return what became of one thing that was added."""
    record = outcome.record
    visible: AddEvent = {
        "id": record.id if record else "",
        "event": cast("AddEventName", str(outcome.event)),
        "memory": record.text if record else outcome.draft.text,
        "old_memory": outcome.old_text,
        "new_memory": record.text if record and outcome.event not in ("NONE", EventType.DELETE) else None,
        "metadata": record.metadata if record else outcome.draft.metadata or {},
    }
    if outcome.old_id:
        visible["old_id"] = outcome.old_id
    if outcome.new_id:
        visible["new_id"] = outcome.new_id
    if outcome.reason:
        visible["reason"] = outcome.reason
    if outcome.draft.data and "evidence" in outcome.draft.data:
        visible["evidence"] = outcome.draft.data["evidence"]
    if outcome.draft.data and outcome.draft.data.get("doubt") and outcome.event == "ADD":
        visible["doubt"] = outcome.draft.data["doubt"]
    if outcome.draft.status != Status.ACTIVE and outcome.event == "ADD":
        visible["status"] = cast("StatusName", str(outcome.draft.status))
    return visible


def format_deferred(outcome: Outcome, error: MemstoneError) -> DeferredEvent:
    """Return a statement that waits, and why."""
    visible: DeferredEvent = {
        "id": None,
        "event": "DEFERRED",
        "memory": outcome.draft.text,
        "old_memory": None,
        "new_memory": None,
        "metadata": outcome.draft.metadata or {},
        "error": error.as_dict(),
    }
    if outcome.draft.data and "evidence" in outcome.draft.data:
        visible["evidence"] = outcome.draft.data["evidence"]
    return visible


def format_history_event(event: Event) -> HistoryEvent:
    """Return one event as the history of a memory tells it."""
    return {
        "id": event.id,
        "memory_id": event.memory_id,
        "event": cast("EventName", event.event),
        "old_value": event.old_text,
        "new_value": event.new_text,
        "timestamp": event.created_at,
        "is_deleted": event.is_deleted,
        "reason": event.reason,
        "actor": event.actor,
        "before": _public_state(event.before),
        "after": _public_state(event.after),
        "old_id": event.old_id,
        "new_id": event.new_id,
        **scope_ids(event.scope),
    }


# --- ``events`` -------------------------------------------------------------------------------------------------------


MOST: Final = 1_000
_INNER: Final = frozenset({"links", "split"})
"""What a state tells for undoing alone: who else sees a memory is not for everybody who does."""


async def list_events(
    runtime: Runtime, values: Mapping[str, Any], after: int, limit: int, *, everybody: bool, newest_first: bool = False
) -> EventFeed:
    """Return what happened after a cursor, or before it with the newest first; and the cursor to go on from."""
    cursor, most = _validate_cursor(after), checked_limit(limit, MOST, "pass the cursor of each answer as after")
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    look = (
        runtime.ledger.peek if runtime.bounds is None else runtime.ledger.read
    )  # within bounds it may take several pages
    if newest_first:
        found = await look(lambda tx: tx.events.newest(scope, EventFilter(), cursor or None, most))
    else:
        found = await look(lambda tx: tx.events.feed(scope, cursor, most))
    return {"results": [format_event(event) for event in found], "cursor": found[-1].seq if found else cursor}


def format_event(event: Event) -> FeedEvent:
    """Return one event as the feed tells it."""
    return {"seq": event.seq, **format_history_event(event), "job_id": event.job_id, "undoes": event.undoes}


def _public_state(state: dict[str, Any] | None) -> VersionState | None:
    if state is None:
        return None
    return cast("VersionState", {name: value for name, value in state.items() if name not in _INNER})


def _validate_cursor(after: int) -> int:
    if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**53:
        raise InvalidInput(
            f"after must be a cursor returned by events, not {after!r}", hint="use 0 to start at the beginning"
        )
    return after
