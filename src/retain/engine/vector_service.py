"""The vector service: memories whose vectors a caller brings along.

They stand in a space of their own for each dimension, ``external:<dim>``, beside that of the embedder and never mixed
with it. In everything else they are memories: who holds them is a link, what is done to them is an event, and what they
say is found by its words, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from retain.core.check import checked_metadata, checked_text
from retain.core.visible import visible
from retain.engine.asking import checked_limit
from retain.engine.bounds import inside
from retain.engine.draft import Draft, event_of, new_record
from retain.engine.holders import is_inside
from retain.engine.identity import embedded
from retain.engine.lifecycle import take_from
from retain.engine.parts import Parts
from retain.engine.pause import not_stored
from retain.engine.quotas import admit
from retain.engine.redaction import masked_metadata, masked_text, redaction_of
from retain.engine.revise import next_version
from retain.engine.sharing import checked_reason
from retain.engine.store import Space, Vectors, ensure_space, enter, join, supersede
from retain.engine.tuning import tuned
from retain.errors import Conflict, Forbidden, InvalidInput, NotFoundError, ScopeError
from retain.model.event import EventType
from retain.model.ids import MAX_ID_CHARS
from retain.model.instant import Instant
from retain.model.memory import SHARED, Found, Kind, Link, Origin, Record
from retain.model.query import VectorQuery
from retain.model.scope import Scope
from retain.ports.ledger import IndexInfo, Tx
from retain.ports.preferences import Usage

EXTERNAL: Final = "external"
HOLDER: Final = "vector-service"
"""The agent that holds what was brought for nobody in particular: no user sees it until they are linked to it."""

MOST: Final = 1_000
MANUAL: Final = "manual_deletion"
_DIMENSIONS: Final = 8_192
_VECTOR: Final = "vector"
_TEXTS: Final = ("content", "text", "memory", "fact", "data")
_TRUST: Final = 0.5


@dataclass(frozen=True, slots=True)
class Brought:
    """One vector, checked: of length 1, with what it was multiplied by for that."""

    id: str
    vector: bytes
    length: float
    text: str
    metadata: dict[str, Any]
    embedded: Vectors = ()


@dataclass(frozen=True, slots=True)
class _Batch:
    items: Sequence[Brought]
    space: Space
    scope: Scope
    now: Instant
    overwrites: bool


# --- storing ----------------------------------------------------------------------------------------------------------


async def put_vectors(parts: Parts, vectors: object, user_id: Any, *, overwrites: bool) -> dict[str, Any]:
    """Store vectors, all of them or none; what is there stays as it is unless it is to be overwritten."""
    given = parts.scope({"user_id": user_id})
    scope = Scope(parts.tenant_id, agent_id=HOLDER) if given.is_open else given
    parts = await tuned(parts, scope)
    items, space, warnings = _checked(parts, vectors)
    if (idle := not_stored(parts)) is not None:
        return {"count": 0, "ids": [], "status": idle["status"], "reason": idle["reason"]}
    await admit(parts, scope, Usage(len(items), 0, sum(len(one.text) for one in items)))
    made = await embedded(parts, [one.text for one in items])
    ready = [replace(one, embedded=more) for one, (_, more) in zip(items, made, strict=True)]
    batch = _Batch(ready, space, scope, parts.now(), overwrites)
    await parts.ledger.write(lambda tx: _put_all(parts, tx, batch))
    return {"count": len(ready), "ids": [one.id for one in ready], **({"warnings": warnings} if warnings else {})}


def _checked(parts: Parts, vectors: object) -> tuple[list[Brought], Space, list[str]]:
    if not isinstance(vectors, Sequence) or isinstance(vectors, (str, bytes)) or not vectors:
        raise InvalidInput("vectors must be a list of {id, values, metadata}")
    if len(vectors) > MOST:
        raise InvalidInput(f"{len(vectors):,} vectors are more than {MOST:,}", hint="send them in parts")
    warnings: list[str] = []
    items = [_item(parts, one, f"vectors[{at}]", warnings) for at, one in enumerate(vectors)]
    sizes = {len(one.vector) for one in items}
    if len(sizes) > 1:
        raise InvalidInput("vectors of one call have one dimension", hint="send those of each dimension by themselves")
    if len({one.id for one in items}) < len(items):
        raise InvalidInput("an id is there twice", hint="each vector has an id of its own")
    return items, _space(sizes.pop() // 4), warnings


def _item(parts: Parts, given: object, name: str, warnings: list[str]) -> Brought:
    if not isinstance(given, Mapping) or set(given) - {"id", "values", "metadata"}:
        raise InvalidInput(f"{name} must be {{id, values, metadata}}")
    own = checked_vector_id(given.get("id"), f"{name}.id")
    vector, length = unit(given.get("values"), f"{name}.values")
    redaction = redaction_of(parts.policy)
    metadata, ignored = checked_metadata(given.get("metadata"), parts.policy.limits)
    text, masked = masked_text(_text_of(parts, metadata, own), name, redaction)
    clean, found = masked_metadata(metadata, redaction)
    warnings += [*ignored, *masked, *found]
    return Brought(own, vector.tobytes(), length, text, clean)


def _text_of(parts: Parts, metadata: Mapping[str, Any], own: str) -> str:
    """What a vector stands for in words, where its metadata say so; else its id."""
    said = (metadata.get(name) for name in _TEXTS)
    text = next((one for one in said if isinstance(one, str) and one.strip()), own)
    return checked_text(text, "the text of a vector", parts.policy.limits.text_chars, "limits.text_chars")


def checked_vector_id(value: object, name: str = "id") -> str:
    """The id of a vector as callers give it."""
    text = checked_text(value, name, MAX_ID_CHARS).strip()
    if not text.isprintable():
        raise InvalidInput(f"{name} holds a control character")
    return text


def unit(values: object, name: str) -> tuple[Any, float]:
    """A vector of length 1, and how long it was."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)) or not 1 <= len(values) <= _DIMENSIONS:
        raise InvalidInput(f"{name} must be a list of 1 to {_DIMENSIONS:,} numbers")
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in values):
        raise InvalidInput(f"{name} must hold numbers only")
    try:
        raw = np.asarray(values, dtype="<f8")
    except OverflowError:
        raise InvalidInput(f"{name} holds a number that is too large") from None
    largest = float(np.max(np.abs(raw)))
    if not np.isfinite(largest) or not 1e-30 <= largest <= 1e30:  # noqa: PLR2004 - what can be multiplied and divided
        raise InvalidInput(f"{name} has no direction", hint="all numbers are 0, or one of them is not finite")
    length = float(np.linalg.norm(raw))
    return (raw / length).astype("<f4"), length


def _space(dim: int) -> Space:
    return Space(f"{EXTERNAL}:{dim}", dim)


async def _put_all(parts: Parts, tx: Tx, batch: _Batch) -> None:
    tenant, space = parts.tenant_id, batch.space
    if space.signature not in {info.signature for info in await tx.indexes.all(tenant)}:
        # Never the active one: a search by words and meaning is asked in the space of the embedder.
        await tx.indexes.put(tenant, IndexInfo(space.signature, space.dim, "stale", EXTERNAL))
    for other in {other for one in batch.items for other, _ in one.embedded}:
        await ensure_space(tx, tenant, other)
    for one in batch.items:
        await _put(parts, tx, batch, one)


async def _put(parts: Parts, tx: Tx, batch: _Batch, one: Brought) -> None:
    record = await tx.memories.current(parts.tenant_id, one.id)
    if record is None:
        await _enter(parts, tx, batch, one)
        return
    _own(record)
    if batch.overwrites:
        record = await _overwrite(parts, tx, batch, one, record)
    links = await tx.links.of(parts.tenant_id, record.seq)
    if all(link.scope != batch.scope for link in links):
        await _link(tx, record, links, batch)


async def _enter(parts: Parts, tx: Tx, batch: _Batch, one: Brought) -> None:
    """Store a new one; an id that was deleted before goes on counting its versions."""
    before = await tx.memories.last(parts.tenant_id, one.id)
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
        data=_data(one, batch.space),
    )
    record = new_record(draft, parts.tenant_id, batch.now)
    record.id, record.source_role = one.id, None
    if before is not None:
        _own(before)
        record.version = before.version + 1
        record.valid_from = max(batch.now, before.valid_to or before.valid_from)
    link = Link(batch.scope, batch.now)
    try:
        await enter(tx, record, [link], _vectors(one, batch.space))
    except Conflict:
        raise Conflict(f"the id {one.id} is taken", hint="choose another id") from None
    await tx.events.append([event_of(EventType.ADD, record, batch.scope, batch.now, actor=HOLDER)])


async def _overwrite(parts: Parts, tx: Tx, batch: _Batch, one: Brought, old: Record) -> Record:
    """The next version for everybody who holds it; nothing happens when it is the same as before."""
    links = await tx.links.of(parts.tenant_id, old.seq)
    if parts.bounds is not None and not all(inside(link.scope, parts.bounds) for link in links):
        raise Forbidden(f"{one.id} is held by others, too", hint="store it under an id of your own")
    data = _data(one, batch.space)
    held = await tx.vectors.get(parts.tenant_id, old.seq, batch.space.signature)
    if held == one.vector and old.metadata == one.metadata and old.text == one.text and old.data == data:
        return old
    new = next_version(old, {"text": one.text, "metadata": one.metadata}, batch.now)
    new.data = data
    await supersede(tx, old, new, links, _vectors(one, batch.space))
    told: dict[str, Any] = {"before": old, "links": links, "links_before": links, "actor": HOLDER}
    await tx.events.append([event_of(EventType.UPDATE, new, links[0].scope, batch.now, **told)])
    return new


async def _link(tx: Tx, record: Record, links: Sequence[Link], batch: _Batch) -> None:
    link = Link(batch.scope, batch.now, None, SHARED)
    await join(tx, record, [link], batch.now)
    told: dict[str, Any] = {"before": record, "links": [*links, link], "links_before": links, "actor": HOLDER}
    event = event_of(EventType.LINK, record, batch.scope, batch.now, **told)
    await tx.events.append([replace(event, new_id=record.id)])


def _data(one: Brought, space: Space) -> dict[str, Any]:
    return {"verbatim": True, _VECTOR: {"dim": space.dim, "length": one.length}}


def _vectors(one: Brought, space: Space) -> Vectors:
    return [(space, one.vector), *one.embedded]


def _is_own(record: Record) -> bool:
    return _VECTOR in record.data


def _own(record: Record) -> None:
    if not _is_own(record):
        raise Conflict(f"{record.id} is a memory without a vector of yours", hint="choose another id")


# --- asking -----------------------------------------------------------------------------------------------------------


async def query_vectors(
    parts: Parts, vector: object, user_id: Any, top_k: int, *, everybody: bool, values: bool, metadata: bool
) -> dict[str, Any]:
    """The nearest vectors of a user, best first; of everybody only by explicit word."""
    scope = parts.scope({"user_id": user_id})
    if scope.is_open and not everybody:
        raise ScopeError("a query is about a user", hint="give user_id; only an administrator asks about everybody")
    most, (direction, _) = checked_limit(top_k, parts.policy.limits.page), unit(vector, "vector")
    space = _space(len(direction))
    found = await _nearest(parts, VectorQuery(space.signature, direction, most, scope), most)
    held = await _held(parts, space, [row.record.seq for row, _ in found]) if values else {}
    return {"matches": [_match(row, score, held, metadata=metadata) for row, score in found]}


async def _nearest(parts: Parts, query: VectorQuery, most: int) -> list[tuple[Found, float]]:
    """Hits that may be seen; more are asked for as long as too few of them may."""
    where = visible(query.scope, parts.now())
    while True:
        hits = await parts.index.search(query)
        seqs = [hit.seq for hit in hits]
        rows = {row.record.seq: row for row in await parts.ledger.read(lambda tx, a=seqs: tx.memories.among(a, where))}  # type: ignore[misc]
        if len(rows) >= most or len(hits) < query.limit:
            best = [(rows[hit.seq], hit.cosine) for hit in hits if hit.seq in rows]
            return sorted(best, key=lambda one: (-one[1], one[0].record.seq))[:most]
        query = replace(query, limit=query.limit * 4)


async def _held(parts: Parts, space: Space, seqs: Sequence[int]) -> dict[int, bytes]:
    return dict(await parts.ledger.read(lambda tx: tx.vectors.many(parts.tenant_id, space.signature, seqs)))


def _match(found: Found, score: float, held: Mapping[int, bytes], *, metadata: bool) -> dict[str, Any]:
    record = found.record
    shown: dict[str, Any] = {"id": record.id, "score": round(score, 6)}
    if record.seq in held:
        shown["values"] = _values(record, held[record.seq])
    return {**shown, "metadata": record.metadata} if metadata else shown


def _values(record: Record, vector: bytes) -> list[float]:
    """The numbers as they were brought, as exact as they are kept."""
    raw = np.frombuffer(vector, dtype="<f4").astype("<f8") * float(record.data[_VECTOR]["length"])
    return [float(one) for one in raw.astype("<f4")] if np.abs(raw).max() < np.finfo("<f4").max else raw.tolist()


async def get_vectors(parts: Parts, ids: object) -> dict[str, Any]:
    """Vectors by their ids; those that are not there are left out."""
    wanted, now = _ids(ids), parts.now()

    async def work(tx: Tx) -> list[dict[str, Any]]:
        found = [await _shown(parts, tx, own, now) for own in wanted]
        return [one for one in found if one is not None]

    return {"vectors": await parts.ledger.read(work)}


async def _shown(parts: Parts, tx: Tx, own: str, now: Instant) -> dict[str, Any] | None:
    seen = await tx.memories.seen(parts.tenant_id, own)
    if seen is None or not _is_own(seen.record):
        return None
    record = seen.record
    if not await tx.memories.among([record.seq], visible(Scope(parts.tenant_id), now)):
        return None
    vector = await tx.vectors.get(parts.tenant_id, record.seq, _space(record.data[_VECTOR]["dim"]).signature)
    return {"id": own, "values": None if vector is None else _values(record, vector), "metadata": record.metadata}


def _ids(ids: object) -> list[str]:
    if not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)) or len(ids) > MOST:
        raise InvalidInput(f"ids must be a list of at most {MOST:,} ids")
    return list(dict.fromkeys(checked_vector_id(one, f"ids[{at}]") for at, one in enumerate(ids)))


# --- removing ---------------------------------------------------------------------------------------------------------


async def delete_vectors(parts: Parts, ids: object, reason: str | None) -> dict[str, Any]:
    """Delete vectors, for everybody whom the caller reaches; those that are not there are no error."""
    wanted, now, why = _ids(ids), parts.now(), checked_reason(parts, reason)
    scope = parts.scope({})

    async def work(tx: Tx) -> list[str]:
        return [own for own in wanted if await _taken(parts, tx, own, scope, now, why)]

    gone = await parts.ledger.write(work)
    return {"count": len(gone), "ids": gone}


async def _taken(parts: Parts, tx: Tx, own: str, scope: Scope, now: Instant, reason: str | None) -> str | None:
    record = await tx.memories.current(parts.tenant_id, own)
    if record is None or not _is_own(record):
        return None
    links = await tx.links.of(parts.tenant_id, record.seq)
    if not any(is_inside(link.scope, scope) for link in links):
        return None
    return await take_from(tx, record, scope, now, reason)


async def unlink_vector(parts: Parts, vector_id: str, user_id: Any, reason: str | None) -> dict[str, Any]:
    """Take a vector from one user; the others keep it, and with the last one it is deleted."""
    own, now = checked_vector_id(vector_id, "vector_id"), parts.now()
    scope, why = parts.scope({"user_id": user_id}).required(), checked_reason(parts, reason or MANUAL)
    event = await parts.ledger.write(lambda tx: _taken(parts, tx, own, scope, now, why))
    if event is None:
        raise NotFoundError(f"{scope.user_id or 'nobody'} holds no vector {own}")
    return {"id": own, "event": str(event), "user_id": scope.user_id or None, "reason": why}
