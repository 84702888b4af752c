"""``delete``, ``delete_all``, ``reset``: how memories end.

Delete removes the caller's link; with the last link the memory leaves every index at once, and its row stays, closed,
for the history. What a person deleted is remembered, so that nothing brings it back by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memstone.core.checks.filters import Filters, current, split_scope, within
from memstone.engine.batch import Batch, carried_out
from memstone.engine.parts import Parts
from memstone.engine.scoping import admit_filters, merged_scope, no_scope, renamed
from memstone.engine.storing.draft import event_of
from memstone.engine.storing.holders import is_inside, unlink
from memstone.engine.storing.named import as_text, checked_id, under_id
from memstone.engine.storing.retelling import evidence_of, name_again
from memstone.engine.storing.store import leave
from memstone.engine.storing.suppression import suppress
from memstone.errors import InvalidInput, NotFoundError
from memstone.model.access import Bounds
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import Link, Record, Status
from memstone.model.query import And, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_PAGE: Final = 500
_ENDED: Final = tuple(status for status in Status if status not in (Status.DELETED, Status.SUPERSEDED))


async def delete(parts: Parts, memory_id: str) -> dict[str, Any]:
    """Delete one memory for everybody who is linked to it, as far as the caller reaches."""
    wanted, now = checked_id(memory_id), parts.now()
    await parts.ledger.write(lambda tx: _delete_one(parts, tx, wanted, now))
    return {"id": wanted, "event": EventType.DELETE.value}


async def delete_many(parts: Parts, ids: Sequence[str], idempotency_key: str | None) -> dict[str, Any]:
    """Delete many memories in one transaction; each has its own result."""
    batch = Batch.of(parts, "delete", ids, idempotency_key)
    now = parts.now()

    async def work(tx: Tx) -> list[dict[str, Any]]:
        return [await _result(parts, tx, _id_in(one), now) for one in ids]

    return await carried_out(parts, batch, work, now)


async def delete_all(parts: Parts, given: Mapping[str, Any], filters: Filters | None) -> dict[str, Any]:
    """Delete everything a scope sees, in every layer, by query: no page size can leave something behind."""
    inside, extra = split_scope(await admit_filters(parts, filters))
    is_open = not inside and all(value is None for value in given.values())
    if is_open and (parts.bounds is None or parts.bounds.is_everyone):
        raise no_scope(extra)  # who may name everybody deletes nobody's by leaving a name out
    scope = merged_scope(parts, given, inside, extra, reading=True)
    extra = renamed(parts, extra)
    everything = [within(scope), current(_ENDED)] + ([extra] if extra is not None else [])
    now = parts.now()

    async def work(tx: Tx) -> int:
        if extra is None:  # what still waits to be stored has no fields that a filter could choose by
            await tx.signals.forget(scope)
        return await _delete_where(tx, And(tuple(everything)), scope, now)

    return {"deleted": await parts.ledger.write(work)}


async def reset(parts: Parts) -> None:
    """Remove everything of this tenant: memories, history, signals, indexes."""
    await parts.ledger.write(lambda tx: tx.admin.reset(parts.tenant_id))
    await parts.index.forget(parts.tenant_id)
    await parts.texts.forget(parts.tenant_id)
    parts.embedding.forget(parts.tenant_id)


async def _delete_one(parts: Parts, tx: Tx, memory_id: str, now: Instant) -> None:
    record = await under_id(tx.memories.current, parts.tenant_id, memory_id)
    if record is None:
        raise NotFoundError(f"no memory {memory_id}")
    await take_from(tx, record, parts.bounds or Scope(parts.tenant_id), now)
    await name_again(tx, parts.tenant_id, await evidence_of(tx, record), now)


async def _delete_where(tx: Tx, where: Where, scope: Scope, now: Instant) -> int:
    deleted = 0
    turns: set[str] = set()
    while page := await tx.memories.find(where, limit=_PAGE):
        for found in page:
            await take_from(tx, found.record, scope, now)
            turns |= {found.record.origin_id} if found.record.origin_id else set()
        deleted += len(page)
    said = sorted(turns)
    for start in range(0, len(said), _PAGE):
        await name_again(tx, scope.tenant_id, said[start : start + _PAGE], now)
    return deleted


async def take_from(tx: Tx, record: Record, scope: Scope | Bounds, now: Instant, reason: str | None = None) -> str:
    """Delete a memory for a scope: its links go, and with the last link the memory; gives the event."""
    links = await tx.links.of(record.tenant_id, record.seq)
    mine = [link for link in links if is_inside(link.scope, scope)]
    if len(mine) == len(links):
        await end(tx, record, links, now, reason)
        return EventType.DELETE
    await suppress(tx, record, mine, now)
    await unlink(tx, record, mine, now, reason)
    return EventType.UNLINK


async def end(tx: Tx, record: Record, links: Sequence[Link], now: Instant, reason: str | None = None) -> None:
    """Delete a memory for everybody, as a person does: nothing brings it back by itself."""
    await suppress(tx, record, links, now)
    await leave(tx, record, Status.DELETED, now)
    await tx.memories.bury(record.tenant_id, record.id)
    told: dict[str, Any] = {"before": record, "links_before": links, "reason": reason, "ended": True}
    await tx.events.append([event_of(EventType.DELETE, record, links[0].scope, now, **told)])


def _id_in(item: object) -> object:
    """The id in an item of a batch, which may be written as other batches write theirs."""
    if isinstance(item, Mapping) and len(item) == 1:
        return as_text(item.get("memory_id", item.get("id")))
    return as_text(item)


async def _result(parts: Parts, tx: Tx, memory_id: object, now: Instant) -> dict[str, Any]:
    try:
        await _delete_one(parts, tx, checked_id(memory_id), now)
    except (InvalidInput, NotFoundError) as error:  # both are raised before the first write of the item
        return {"id": memory_id, "event": "ERROR", "error": error.as_dict()}
    return {"id": memory_id, "event": EventType.DELETE.value}
