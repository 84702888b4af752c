"""The vector service: memories with the callers' own vectors.

They are in a space of their own for each dimension, ``external:<dim>``, beside that of the embedder and never mixed
with it. In everything else they are memories: who holds them is a link, what is done to them is an event, and what they
say is found by its words, too. One that says nothing is kept as disabled: it is found by its vector and by nothing
else, for a model cannot do anything with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from memstone.core.checks.filters import where_current, where_in_bounds, where_visible
from memstone.engine.access.admission import not_stored
from memstone.engine.access.quotas import check_quotas
from memstone.engine.layers.identity import embed_texts
from memstone.engine.policy import apply_scope_policy
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import LARGEST, checked_limit
from memstone.engine.store.deleted_spans import evidence_of, name_again
from memstone.engine.store.draft import Draft, event_of, new_record
from memstone.engine.store.revise import next_version, take_from
from memstone.engine.store.sharing import checked_reason
from memstone.engine.store.vector_items import (
    EXTERNAL,
    MOST,
    VECTOR,
    VECTOR_ID,
    SuppliedVector,
    checked_ids,
    checked_items,
    checked_vector_id,
    data_of,
    ensure_external,
    ids_of,
    is_formed,
    is_own,
    is_shown,
    is_silent,
    metadata_of,
    normalize_vector,
    own_or_conflict,
    space_of,
    status_of,
    values_of,
    vector_id_of,
)
from memstone.engine.store.versions import Space, Vectors, add_links, ensure_space, insert_version, supersede_version
from memstone.errors import Conflict, Forbidden, NotFoundError
from memstone.language.language import Language
from memstone.model.access import Bounds, Users
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import APPROVED, SHARED, FoundMemory, Kind, Link, Origin, Record
from memstone.model.query import DATA, And, Condition, Op, VectorQuery
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import VectorCount, VectorItem, VectorList, VectorMatch, VectorMatches, VectorUnlink

HOLDER: Final = "vector-service"
"""The agent that holds what was brought for nobody in particular: no user sees it until they are linked to it."""

MANUAL: Final = "manual_deletion"
_TRUST: Final = 0.5
_MOST_FOUND: Final = 10 * MOST


@dataclass(frozen=True, slots=True)
class _Batch:
    items: Sequence[SuppliedVector]
    space: Space
    scope: Scope
    now: Instant
    overwrites: bool


# --- storing ----------------------------------------------------------------------------------------------------------


async def put_vectors(runtime: Runtime, vectors: object, user_id: Any, *, overwrites: bool) -> VectorCount:
    """Store vectors, all of them or none; what is there stays as it is unless it is to be overwritten."""
    scope = _held_by(runtime, user_id)
    runtime = await apply_scope_policy(runtime, scope)
    items, space, warnings = checked_items(runtime, vectors)
    if (idle := not_stored(runtime)) is not None:
        return {"count": 0, "ids": [], "status": idle["status"], "reason": idle["reason"]}
    await check_quotas(runtime, scope, Usage(len(items), 0, sum(len(one.text) for one in items)))
    made = await embed_texts(runtime, [one.text for one in items])
    ready = [replace(one, embedded=more) for one, (_, more) in zip(items, made, strict=True)]
    batch = _Batch(ready, space, scope, runtime.now(), overwrites)
    await runtime.ledger.write(lambda tx: _put_all(runtime, tx, batch))
    answer: VectorCount = {"count": len(ready), "ids": [one.id for one in ready]}
    if warnings:
        answer["warnings"] = warnings
    return answer


def _held_by(runtime: Runtime, user_id: Any) -> Scope:
    """Return who holds what is brought: the named user, or else nobody in particular, for who may name everybody."""
    if user_id is None and (runtime.bounds is None or runtime.bounds.is_everyone):
        return Scope(runtime.tenant_id, agent_id=HOLDER)
    return runtime.scope({"user_id": user_id})


async def _put_all(runtime: Runtime, tx: Tx, batch: _Batch) -> None:
    tenant, space = runtime.tenant_id, batch.space
    await ensure_external(tx, tenant, space)
    for other in {other for one in batch.items for other, _ in one.embedded}:
        await ensure_space(tx, tenant, other)
    for one in batch.items:
        await _put_vector(runtime, tx, batch, one)


async def _put_vector(runtime: Runtime, tx: Tx, batch: _Batch, one: SuppliedVector) -> None:
    record = await _find_current(runtime, tx, one.id)
    if record is None:
        await _insert_vector(runtime, tx, batch, one)
        return
    own_or_conflict(record)
    if batch.overwrites:
        record = await _overwrite_vector(runtime, tx, batch, one, record)
    links = await tx.links.of(runtime.tenant_id, record.seq)
    if all(link.scope != batch.scope for link in links):
        await _add_link(tx, runtime.language, record, links, batch)


async def _find_current(runtime: Runtime, tx: Tx, vector_id: str) -> Record | None:
    """Return the vector that a caller means by an id, if there is one that they reach."""
    for stored in ids_of(runtime.bounds, vector_id):
        if (record := await tx.memories.current(runtime.tenant_id, stored)) is not None:
            return record
    return None


async def _new_id(runtime: Runtime, tx: Tx, vector_id: str) -> str:
    """Return the id of a new vector: the first that is free, or was that of one which they have deleted."""
    for own in ids_of(runtime.bounds, vector_id)[:2]:
        if await tx.memories.last(runtime.tenant_id, own) is not None:
            return own
        if not await tx.memories.is_taken(runtime.tenant_id, own):
            return own
    raise Conflict(f"the id {vector_id} is taken", hint="choose another id")


async def _insert_vector(runtime: Runtime, tx: Tx, batch: _Batch, one: SuppliedVector) -> None:
    """Store a new one; an id that was deleted before goes on counting its versions."""
    own = await _new_id(runtime, tx, one.id)
    before = await tx.memories.last(runtime.tenant_id, own)
    draft = Draft(
        scope=batch.scope,
        text=one.text,
        dedupe="",
        kind=Kind.FACTUAL,
        origin=Origin.IMPORT,
        trust=_TRUST,
        occurred_at=batch.now,
        role="user",
        metadata=one.metadata,
        data=data_of(one, batch.space, own),
    )
    record = new_record(draft, runtime.tenant_id, batch.now)
    record.id, record.source_role, record.status = own, None, status_of(one)
    if before is not None:
        own_or_conflict(before)
        record.version = before.version + 1
        record.valid_from = max(batch.now, before.valid_to or before.valid_from)
    link = Link(batch.scope, batch.now)
    try:
        await insert_version(tx, runtime.language, record, [link], _collect_vectors(one, batch.space))
    except Conflict:
        raise Conflict(f"the id {one.id} is taken", hint="choose another id") from None
    await tx.events.append([event_of(EventType.ADD, record, batch.scope, batch.now, actor=HOLDER)])


async def _overwrite_vector(runtime: Runtime, tx: Tx, batch: _Batch, one: SuppliedVector, old: Record) -> Record:
    """Return the next version for everybody who holds it; nothing happens when it is the same as before."""
    links = await tx.links.of(runtime.tenant_id, old.seq)
    if runtime.bounds is not None and not all(runtime.bounds.holds(link.scope) for link in links):
        raise Forbidden(f"{one.id} is shared with other users", hint="store it under another id")
    data = data_of(one, batch.space, old.id)
    vector = await tx.vectors.get(runtime.tenant_id, old.seq, batch.space.signature)
    if vector == one.vector and old.metadata == one.metadata and old.text == one.text and old.data == data:
        return old
    new = next_version(old, {"text": one.text, "metadata": one.metadata}, batch.now)
    new.data = data
    if one.silent or is_silent(old):
        new.status = status_of(one)
    await supersede_version(tx, runtime.language, old, new, links, _collect_vectors(one, batch.space))
    answer: dict[str, Any] = {"before": old, "links": links, "links_before": links, "actor": HOLDER}
    await tx.events.append([event_of(EventType.UPDATE, new, links[0].scope, batch.now, **answer)])
    return new


async def _add_link(tx: Tx, language: Language, record: Record, links: Sequence[Link], batch: _Batch) -> None:
    link = Link(batch.scope, batch.now, None, SHARED)
    await add_links(tx, language, record, [link], batch.now)
    answer: dict[str, Any] = {"before": record, "links": [*links, link], "links_before": links, "actor": HOLDER}
    event = event_of(EventType.LINK, record, batch.scope, batch.now, **answer)
    await tx.events.append([replace(event, new_id=record.id)])


def _collect_vectors(one: SuppliedVector, space: Space) -> Vectors:
    return [(space, one.vector), *one.embedded]


# --- asking -----------------------------------------------------------------------------------------------------------


async def query_vectors(
    runtime: Runtime, vector: object, user_id: Any, top_k: int, *, everybody: bool, values: bool, metadata: bool
) -> VectorMatches:
    """Return the nearest vectors of a user, best first; of everybody only by explicit word.

    Beside those that were brought these are the embedder's own, where a vector has their dimension: what was learned
    from chats has no other.
    """
    scope = scope_or_everybody(runtime, {"user_id": user_id}, everybody=everybody)
    most, (direction, _) = checked_limit(top_k, runtime.policy.limits.page, LARGEST), normalize_vector(vector, "vector")
    found = list[_Hit]()
    for space in await _list_spaces(runtime, len(direction)):
        near = await _find_nearest(runtime, VectorQuery(space.signature, direction, most, scope), most)
        stored = await _read_vectors(runtime, space, [row.record.seq for row, _ in near]) if values else {}
        found += [_Hit(row.record, score, stored.get(row.record.seq)) for row, score in near]
    best = sorted(found, key=lambda one: (-one.score, one.record.seq))[:most]
    return {"matches": [_format_match(one, metadata=metadata) for one in best]}


@dataclass(frozen=True, slots=True)
class _Hit:
    record: Record
    score: float
    vector: bytes | None


async def _list_spaces(runtime: Runtime, dim: int) -> list[Space]:
    """Return the spaces in which vectors of a dimension are compared."""
    own = await runtime.ledger.peek(lambda tx: _active_space(runtime, tx))
    return [space_of(dim), *([own] if own is not None and own.dim == dim else [])]


async def _active_space(runtime: Runtime, tx: Tx) -> Space | None:
    """Return the space of the embedder, once something is in it."""
    known = await tx.indexes.all(runtime.tenant_id)
    return next((Space(info.signature, info.dim) for info in known if info.state == "active"), None)


async def _find_nearest(runtime: Runtime, query: VectorQuery, most: int) -> list[tuple[FoundMemory, float]]:
    """Return hits that may be seen; more are asked for as long as too few of them may."""
    brought = query.signature.startswith(EXTERNAL)
    while True:
        hits = await runtime.index.search(query)
        seen = await _read_visible(runtime, query.scope, [hit.seq for hit in hits])
        rows = {seq: row for seq, row in seen.items() if is_own(row.record) is brought}
        if len(rows) >= most or len(hits) < query.limit:
            best = [(rows[hit.seq], hit.cosine) for hit in hits if hit.seq in rows]
            return sorted(best, key=lambda one: (-one[1], one[0].record.seq))[:most]
        query = replace(query, limit=query.limit * 4)


async def _read_visible(runtime: Runtime, scope: Scope, seqs: Sequence[int]) -> dict[int, FoundMemory]:
    where = where_visible(scope, runtime.now(), statuses=APPROVED)
    rows = await runtime.ledger.read(lambda tx: tx.memories.among(seqs, where))
    return {row.record.seq: row for row in rows if is_shown(row.record)}


async def _read_vectors(runtime: Runtime, space: Space, seqs: Sequence[int]) -> dict[int, bytes]:
    return dict(await runtime.ledger.read(lambda tx: tx.vectors.many(runtime.tenant_id, space.signature, seqs)))


def _format_match(hit: _Hit, *, metadata: bool) -> VectorMatch:
    visible: VectorMatch = {"id": vector_id_of(hit.record), "score": round(hit.score, 6)}
    if hit.vector is not None:
        visible["values"] = values_of(hit.record, hit.vector)
    if metadata:
        visible["metadata"] = metadata_of(hit.record)
    return visible


async def get_vectors(runtime: Runtime, ids: object) -> VectorList:
    """Return vectors by their ids; those that are not there are left out."""
    wanted, now = checked_ids(ids), runtime.now()

    async def work(tx: Tx) -> list[VectorItem]:
        active = await _active_space(runtime, tx)
        elsewhere = await _brought_by_name(runtime, tx, wanted)
        ids = {own: [*ids_of(runtime.bounds, own), *elsewhere.get(own, ())] for own in wanted}
        found = [await _read_first_visible(runtime, tx, own, ids[own], active, now) for own in wanted]
        return [one for one in found if one is not None]

    return {"vectors": await runtime.ledger.read(work)}


async def _read_first_visible(
    runtime: Runtime, tx: Tx, own: str, ids: Sequence[str], active: Space | None, now: Instant
) -> VectorItem | None:
    """Return the first of these that may be seen, under the id that the caller has for it."""
    for stored in ids:
        seen = await tx.memories.find_visible(runtime.tenant_id, stored)
        if seen is None or not is_shown(seen.record):
            continue
        record = seen.record
        if not await tx.memories.among([record.seq], where_visible(Scope(runtime.tenant_id), now, statuses=APPROVED)):
            continue
        space = space_of(record.data[VECTOR]["dim"]) if is_own(record) else active
        vector = None if space is None else await tx.vectors.get(runtime.tenant_id, record.seq, space.signature)
        values = None if vector is None else values_of(record, vector)
        return {"id": own, "values": values, "metadata": metadata_of(record)}
    return None


async def _brought_by_name(runtime: Runtime, tx: Tx, vector_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return where vectors are that a key has brought in somebody's name, which it may leave out later."""
    bounds = runtime.bounds
    if bounds is None or bounds.users is not Users.POOLS or bounds.user_id:
        return {}
    where = And(
        (where_in_bounds(bounds), where_current(APPROVED), Condition(f"{DATA}{VECTOR_ID}", Op.IN, tuple(vector_ids)))
    )
    found: dict[str, list[str]] = {}
    for one in await tx.memories.find(where, limit=_MOST_FOUND):
        found.setdefault(vector_id_of(one.record), []).append(one.record.id)
    return found


# --- removing ---------------------------------------------------------------------------------------------------------


async def delete_vectors(runtime: Runtime, ids: object, reason: str | None) -> VectorCount:
    """Delete vectors, for everybody whom the caller reaches; those that are not there are no error."""
    wanted, now, why = checked_ids(ids), runtime.now(), checked_reason(runtime, reason)
    scope = runtime.bounds or Scope(runtime.tenant_id)

    async def work(tx: Tx) -> list[str]:
        elsewhere = await _brought_by_name(runtime, tx, wanted)
        return [
            own for own in wanted if await _remove_vector(runtime, tx, own, scope, now, why, elsewhere.get(own, ()))
        ]

    gone = await runtime.ledger.write(work)
    return {"count": len(gone), "ids": gone}


async def _remove_vector(
    runtime: Runtime,
    tx: Tx,
    own: str,
    scope: Scope | Bounds,
    now: Instant,
    reason: str | None,
    elsewhere: Sequence[str] = (),
) -> Literal["DELETE", "UNLINK"] | None:
    """Take a vector from whoever holds it in a scope; return the last event, or None where nobody does."""
    event: Literal["DELETE", "UNLINK"] | None = None
    for stored in dict.fromkeys([*ids_of(runtime.bounds, own), *elsewhere]):
        record = await tx.memories.current(runtime.tenant_id, stored)
        if record is None or not (is_own(record) or is_formed(record)):
            continue
        links = await tx.links.of(runtime.tenant_id, record.seq)
        if not any(scope.holds(link.scope) for link in links):
            continue
        event = await take_from(tx, runtime.language, record, scope, now, reason)
        if is_formed(record):  # what it was learned from is not shown either
            await name_again(tx, runtime.language, runtime.tenant_id, await evidence_of(tx, record), now)
    return event


async def unlink_vector(runtime: Runtime, vector_id: str, user_id: Any, reason: str | None) -> VectorUnlink:
    """Take a vector from one user; the others keep it, and with the last one it is deleted."""
    own, now = checked_vector_id(vector_id, "vector_id"), runtime.now()
    scope, why = (
        runtime.scope({"user_id": user_id}).require_owner(),
        checked_reason(runtime, reason or MANUAL) or MANUAL,
    )

    async def work(tx: Tx) -> Literal["DELETE", "UNLINK"] | None:
        elsewhere = await _brought_by_name(runtime, tx, [own])
        return await _remove_vector(runtime, tx, own, scope, now, why, elsewhere.get(own, ()))

    event = await runtime.ledger.write(work)
    if event is None:
        who = scope.user_id if runtime.bounds is None else runtime.bounds.name_of(scope.user_id)
        raise NotFoundError(f"{who or 'nobody'} has no vector {own}")
    return {"id": own, "event": event, "user_id": scope.user_id or None, "reason": why}
