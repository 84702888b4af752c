"""``engine_status``, ``verify``, ``refresh_vectors``: what a memory is made of, whether it works, new vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NoReturn

from memstone.core.checks.filters import visible
from memstone.engine.parts import Parts
from memstone.engine.storing.draft import new_record
from memstone.engine.storing.embedding import is_outage
from memstone.engine.storing.hearing import stored_before
from memstone.engine.storing.indexer import reindex
from memstone.engine.storing.store import enter, leave
from memstone.engine.storing.turns import turn_of
from memstone.engine.storing.write import current_space
from memstone.errors import ConfigError, Forbidden, MemstoneError, StorageError, embedding_reason
from memstone.model.ids import new_id
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.trace import log_event

PROBE_OWNER: Final = "health-check"
PROBE_KEY: Final = "__extraction_test__"
_LISTED: Final = 100
_AT_ONCE: Final = 100


async def engine_status(parts: Parts) -> dict[str, Any]:
    """Each channel and service of the engine: whether it is there, and why not."""
    vectors = await _vector_status(parts)
    return {
        "keyword": {"available": True, "reason": None, "backend": "full text of analysed words"},
        "embedding": await _embedding_status(parts),
        "vector_store": vectors,
        "rerank": _present(parts.reranker, "no reranker is configured"),
        "llm": _present(parts.llm, "no language model is configured; rules learn"),
    }


def _present(port: Any, otherwise: str) -> dict[str, Any]:
    if port is None:
        return {"available": False, "reason": otherwise, "model": None}
    return {"available": True, "reason": None, "model": getattr(port, "model", None)}


async def _embedding_status(parts: Parts) -> dict[str, Any]:
    embedder = parts.embedding.embedder
    if embedder is None:
        return {"available": False, "reason": "no embedder is configured", "provider": None, "model": None, "dim": None}
    named = {"provider": embedder.provider, "model": embedder.model, "destination": embedder.destination or None}
    try:
        return {"available": True, "reason": None, **named, "dim": await parts.embedding.dim(), **_cache(parts)}
    except MemstoneError as error:
        why = {"reason": error.message, "error": embedding_reason(error)}
        return {"available": False, **why, **named, "dim": None, **_cache(parts)}


def _cache(parts: Parts) -> dict[str, Any]:
    """How the cache of all tenants does, for who runs it: to others it would tell what somebody else has embedded."""
    return {"cache": parts.embedding.cache.stats()} if parts.at_home else {}


async def _vector_status(parts: Parts) -> dict[str, Any]:
    backend = "local" if parts.index.embedded else "external"
    if not parts.embedding.on:
        return {"available": False, "reason": "no embedder is configured", "backend": backend, "pending": 0}
    try:
        signature = await parts.embedding.signature()
        spaces = await parts.ledger.read(lambda tx: tx.indexes.all(parts.tenant_id))
        waiting = await pending_vectors(parts)
    except MemstoneError as error:
        return {"available": False, "reason": error.message, "backend": backend, "pending": 0}
    active = next((one.signature for one in spaces if one.state == "active"), None)
    other = active is not None and active != signature
    reason = "the index belongs to another embedder: reindex" if other else None
    told = {"signature": signature, "active_signature": active, "needs_reindex": bool(waiting) or other}
    return {"available": not other, "reason": reason, "backend": backend, "pending": waiting, **told}


async def pending_vectors(parts: Parts) -> int:
    """How many memories wait for a vector of the configured embedder; for one who reaches a part it is not told."""
    if not parts.embedding.on or parts.bounds is not None:
        return 0
    signature = await parts.embedding.signature()
    return await parts.ledger.read(lambda tx: tx.vectors.missing_count(parts.tenant_id, signature))


async def refresh_vectors(parts: Parts) -> dict[str, Any]:
    """Make every vector anew, in place: what has one keeps it until the new one is there."""
    if parts.bounds is not None:
        raise Forbidden("this key may not reindex", hint="use one that reaches the whole tenant")
    if not parts.embedding.on:
        raise ConfigError("there is no embedder to reindex with", hint="configure one, or keep searching by text")
    parts.embedding.forget(parts.tenant_id)
    answer = await reindex(parts)  # what has no vector yet comes first, and what it gets is not made twice
    where = visible(Scope(parts.tenant_id), parts.now(), layers=tuple(map(str, Layer)), show_expired=True)
    seqs = await parts.ledger.read(lambda tx: tx.memories.seqs(where))
    refreshed = 0
    for start in range(0, len(seqs), _AT_ONCE):
        refreshed += await _refreshed(parts, seqs[start : start + _AT_ONCE])
    return {**answer, "refreshed": refreshed}


async def _refreshed(parts: Parts, seqs: Sequence[int]) -> int:
    found = [await parts.ledger.read(partial(_record, seq=seq)) for seq in seqs]
    records = [one for one in found if one is not None and one.valid_to is None]
    space = await current_space(parts)
    before = [await parts.ledger.read(partial(_heard, row=one)) for one in records]
    vectors = await parts.embedding.many([one.text for one in records], before if parts.embedding.tells_words else None)
    outage = next((one for one in vectors if isinstance(one, MemstoneError) and is_outage(one)), None)
    if outage is not None:
        raise outage
    pairs = zip(records, vectors, strict=True)
    ready = [(one.seq, vector) for one, vector in pairs if not isinstance(vector, MemstoneError)]

    async def work(tx: Tx) -> int:
        stored = await tx.vectors.fill(parts.tenant_id, space.signature, ready)
        await tx.vectors.touch(parts.tenant_id, [seq for seq, _ in ready])
        return stored

    return await parts.ledger.write(work)


async def _heard(tx: Tx, *, row: Record) -> str:
    return await stored_before(tx, row)


async def _record(tx: Tx, *, seq: int) -> Record | None:
    return await tx.memories.at(seq)


class _TakenBack(Exception):
    """The round trip was successful and is undone."""


async def verify(parts: Parts) -> dict[str, Any]:
    """Create an entry, list it, delete it, and take all of it back: whether memory works, and nothing is left of it."""
    log_event("memory.verify.start")
    began = parts.clock.now()
    error: str | None = None
    try:
        await parts.ledger.write(partial(_round_trip, parts=parts))
    except _TakenBack:
        pass
    except MemstoneError as failed:
        error = failed.message
    except Exception as failed:  # noqa: BLE001 - whatever it is, it is the answer
        error = type(failed).__name__
    took = max(0.0, (parts.clock.now() - began).total_seconds() * 1_000)
    log_event("memory.verify.complete", working=error is None, latency_ms=round(took, 3))
    return {"working": error is None, "latency_ms": round(took, 3), "error": error}


def _prober(parts: Parts) -> Scope:
    """Nobody; who reaches a part of the tenant only tries it there, as it is taken back in any case."""
    bounds = parts.bounds
    if bounds is None or bounds.is_everyone:
        return Scope(parts.tenant_id, PROBE_OWNER)
    return Scope(parts.tenant_id, bounds.user_id or bounds.own_pool, bounds.agent_id)


async def _round_trip(tx: Tx, *, parts: Parts) -> NoReturn:
    scope, now = _prober(parts), parts.now()
    turn = turn_of(scope, Message("user", f"probe {new_id()}", ""), now, 0, dated=True)
    record = new_record(turn.draft, parts.tenant_id, now)
    record.layer, record.key = str(Layer.FACT), PROBE_KEY
    await enter(tx, record, [Link(scope, now, turn.draft.dedupe)], [])
    listed = await tx.memories.find(visible(scope, now), limit=_LISTED)
    if record.id not in [one.record.id for one in listed]:
        raise StorageError("what was just stored is not listed")
    await leave(tx, record, Status.DELETED, now)
    raise _TakenBack
