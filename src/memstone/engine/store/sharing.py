"""``share``, ``unshare`` and ``replace``: links to one memory for several holders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed_to
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import where_visible
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit, checked_offset
from memstone.engine.store.draft import event_of
from memstone.engine.store.revise import (
    UNSET,
    UpdateRequest,
    apply_revision,
    check_update,
    dedupe_of,
    take_from,
    with_event,
)
from memstone.engine.store.turns import masked_text, redaction_of
from memstone.engine.store.versions import add_links, checked_id, under_id
from memstone.errors import InvalidInput, NotFoundError
from memstone.model.event import Event, EventType
from memstone.model.instant import Instant
from memstone.model.memory import APPROVED, DIRECT, SHARED, Layer, Link, Record
from memstone.model.query import Condition, Op
from memstone.model.scope import Scope, scope_ids
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import EventName, ShareEvent
    from memstone.results import ReplacementItem, ReplacementList, ShareResult, UpdateResult

_REASON_CHARS: Final = 1_000


async def share_memory(runtime: Runtime, memory_id: str, values: Mapping[str, Any], reason: str | None) -> ShareResult:
    """Let somebody else hold a memory, too."""
    wanted, scope, now = checked_id(memory_id), runtime.scope(values).require_owner(), runtime.now()
    why = checked_reason(runtime, reason)
    return await runtime.ledger.write(lambda tx: _add_share_link(runtime, tx, wanted, scope, now, why))


async def _add_share_link(
    runtime: Runtime, tx: Tx, memory_id: str, scope: Scope, now: Instant, reason: str | None
) -> ShareResult:
    record = await _read_shareable_memory(runtime, tx, memory_id)
    links = await tx.links.of(record.tenant_id, record.seq)
    if any(link.scope == scope for link in links):
        return _format_share_result(record.id, "NONE", scope, "already shared")
    link = Link(scope, now, None, DIRECT if _is_own(links, scope) else SHARED)
    value = None if record.layer == Layer.TURN else dedupe_of(runtime, link, record)
    link.dedupe = None if any(one.dedupe == value for one in links) else value  # one link holds the name for a user
    if (twin := await _find_same_memory(tx, record, link)) is not None:
        return _format_share_result(twin.id, "NONE", scope, "already known")
    if link.dedupe:
        await tx.suppressions.lift(record.tenant_id, link.dedupe)
    await add_links(tx, runtime.language, record, [link], now)
    answer: dict[str, Any] = {"before": record, "links": [*links, link], "links_before": links, "reason": reason}
    await tx.events.append([changed_to(event_of(EventType.LINK, record, scope, now, **answer), new_id=record.id)])
    return _format_share_result(record.id, "LINK", scope, reason)


def _is_own(links: Sequence[Link], scope: Scope) -> bool:
    """Return whether a memory is that of the same person already, with another agent or in another conversation."""
    return bool(scope.user_id) and any(one.origin == DIRECT and one.scope.user_id == scope.user_id for one in links)


async def _read_shareable_memory(runtime: Runtime, tx: Tx, memory_id: str) -> Record:
    record = await under_id(tx.memories.current, runtime.tenant_id, memory_id)
    if record is None or record.status not in APPROVED:
        raise NotFoundError(f"no memory {memory_id}")
    if record.layer == Layer.IDENTITY:
        raise InvalidInput("an identity cannot be shared", hint="share a fact or an episode")
    return record


async def _find_same_memory(tx: Tx, record: Record, link: Link) -> Record | None:
    """Return another memory that the new holder has already and that says the same."""
    holder = await tx.links.holder(record.tenant_id, link.dedupe) if link.dedupe else None
    return await tx.memories.at(holder) if holder is not None else None


async def unshare_memory(
    runtime: Runtime, memory_id: str, values: Mapping[str, Any], reason: str | None
) -> ShareResult:
    """Take a memory from somebody; the others keep it, and with the last one it goes."""
    wanted, scope, now = checked_id(memory_id), runtime.scope(values).require_owner(), runtime.now()
    why = checked_reason(runtime, reason)

    async def work(tx: Tx) -> Literal["DELETE", "UNLINK"]:
        record = await under_id(tx.memories.current, runtime.tenant_id, wanted)
        if record is None or not await _has_link_in_scope(tx, record, scope):
            raise NotFoundError(f"no memory {wanted} in this scope")
        return await take_from(tx, runtime.language, record, scope, now, why)

    return _format_share_result(wanted, await runtime.ledger.write(work), scope, why)


async def _has_link_in_scope(tx: Tx, record: Record, scope: Scope) -> bool:
    return any(scope.holds(link.scope) for link in await tx.links.of(record.tenant_id, record.seq))


async def replace_memory_text(
    runtime: Runtime,
    memory_id: str,
    text: str,
    values: Mapping[str, Any],
    metadata: Mapping[str, Any] | None,
    reason: str | None,
) -> UpdateResult:
    """Change what a memory says for one of its holders; it stays as it is for the others."""
    scope = runtime.scope(values).require_owner()
    revision = check_update(runtime, UpdateRequest(memory_id, text, metadata, None, UNSET, UNSET))
    revision.scope, revision.reason = scope, checked_reason(runtime, reason)
    return with_event(await apply_revision(runtime, revision))


async def list_replacements(runtime: Runtime, values: Mapping[str, Any], limit: int, offset: int) -> ReplacementList:
    """Return what took the place of what for somebody, newest first."""
    scope = runtime.scope(values).require_owner()
    most, after = checked_limit(limit, runtime.policy.limits.page), checked_offset(offset)
    now = runtime.now()

    async def work(tx: Tx) -> tuple[list[Event], dict[str, str]]:
        events = await tx.events.list_replacements(scope, most, after)
        ids = tuple({event.new_id for event in events if event.event == EventType.DELETE and event.new_id})
        where = where_visible(scope, now, extra=Condition("id", Op.IN, ids))
        found = await tx.memories.find(where, limit=len(ids)) if ids else []
        return events, {one.record.id: one.record.text for one in found}

    events, says = await runtime.ledger.read(work)
    return {"results": [_format_replacement(event, says) for event in events]}


def _format_replacement(event: Event, says: Mapping[str, str]) -> ReplacementItem:
    """Return one line; ``says`` is what the memories say that took the place of others, which ended."""
    revised = event.event == EventType.UPDATE
    new_id = event.new_id or (event.memory_id if revised else None)
    return {
        "id": event.id,
        "event": cast("EventName", event.event),
        "old_id": event.old_id or event.memory_id,
        "new_id": new_id,
        "old_version": (event.before or {}).get("version"),
        "new_version": (event.after or {}).get("version") if revised else None,
        "old_memory": event.old_text,
        "new_memory": event.new_text or says.get(new_id) if new_id else None,
        "reason": event.reason,
        "created_at": event.created_at,
        **scope_ids(event.scope),
    }


def _format_share_result(memory_id: str, event: ShareEvent, scope: Scope, reason: str | None) -> ShareResult:
    answer: ShareResult = {"id": memory_id, "event": event, **scope_ids(scope)}
    if reason:
        answer["reason"] = reason
    return answer


def checked_reason(runtime: Runtime, reason: str | None, name: str = "reason") -> str | None:
    """Return what somebody says about an act, without secrets."""
    if reason is None:
        return None
    return masked_text(checked_text(reason, name, _REASON_CHARS), name, redaction_of(runtime.policy))[0]
