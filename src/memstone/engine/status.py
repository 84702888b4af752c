"""``engine_status``, ``verify``, ``refresh_vectors``: what a memory is made of, whether it works, new vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from memstone.core.checks.filters import where_visible
from memstone.engine.runtime import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.storing.draft import new_record, scope_tokens
from memstone.engine.storing.embedding import is_outage
from memstone.engine.storing.embedding_context import stored_before
from memstone.engine.storing.feedback import JUDGED, USED, USEFUL, USELESS
from memstone.engine.storing.indexer import reindex_vectors
from memstone.engine.storing.repeat_counter import REDUNDANT, write_down
from memstone.engine.storing.store import end_version, insert_version
from memstone.engine.storing.turns import turn_of
from memstone.engine.storing.write import current_space
from memstone.engine.work.jobs import FORMING, waits_for_model
from memstone.engine.worker_state import Counters
from memstone.errors import ConfigError, Forbidden, MemstoneError, StorageError, embedding_reason
from memstone.language.language import Language
from memstone.language.text.tokens import match_text
from memstone.model.event import EventType, Job, Signal
from memstone.model.ids import new_id
from memstone.model.instant import Instant, When, datetime_from_instant, parse_when, to_instant
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.message import Message
from memstone.model.query import TextQuery
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.trace import log_event

if TYPE_CHECKING:
    from memstone.results import (
        EmbeddingPart,
        EngineInfo,
        ErrorInfo,
        HealthFigures,
        HealthProbe,
        HealthReport,
        MetricsReport,
        ModelPart,
        RefreshResult,
        SelfTest,
        VectorPart,
    )

# --- ``engine_status``, ``verify``, ``refresh_vectors`` ---------------------------------------------------------------


PROBE_OWNER: Final = "health-check"
PROBE_KEY: Final = "__extraction_test__"
_LISTED: Final = 100
_AT_ONCE: Final = 100


async def engine_status(parts: Parts) -> EngineInfo:
    """Each channel and service of the engine: whether it is there, and why not."""
    return {
        "keyword": {"available": True, "reason": None, "backend": "full text of analysed words"},
        "embedding": await _embedding_status(parts),
        "vector_store": await _vector_status(parts),
        "rerank": _port_status(parts.reranker, "no reranker is configured"),
        "llm": _port_status(parts.llm, "no language model is configured; the curator learns"),
    }


def _port_status(port: Any, otherwise: str) -> ModelPart:
    if port is None:
        return {"available": False, "reason": otherwise, "model": None}
    return {"available": True, "reason": None, "model": getattr(port, "model", None)}


async def _embedding_status(parts: Parts) -> EmbeddingPart:
    embedder = parts.embedding.embedder
    if embedder is None:
        return {"available": False, "reason": "no embedder is configured", "provider": None, "model": None, "dim": None}
    shown: EmbeddingPart = {
        "available": True,
        "reason": None,
        "provider": embedder.provider,
        "model": embedder.model,
        "destination": embedder.destination or None,
        "dim": None,
    }
    if parts.at_home:  # to others the cache of all tenants would tell what somebody else has embedded
        shown["cache"] = parts.embedding.cache.stats()
    try:
        return {**shown, "dim": await parts.embedding.dim()}
    except MemstoneError as error:
        return {**shown, "available": False, "reason": error.message, "error": embedding_reason(error)}


async def _vector_status(parts: Parts) -> VectorPart:
    backend: Literal["local", "external"] = "local" if parts.index.embedded else "external"
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
    return {
        "available": not other,
        "reason": "the index belongs to another embedder: run reindex" if other else None,
        "backend": backend,
        "pending": waiting,
        "signature": signature,
        "active_signature": active,
        "needs_reindex": bool(waiting) or other,
    }


async def pending_vectors(parts: Parts) -> int:
    """How many memories wait for a vector of the configured embedder; for one who reaches a part it is not told."""
    if not parts.embedding.on or parts.bounds is not None:
        return 0
    signature = await parts.embedding.signature()
    return await parts.ledger.read(lambda tx: tx.vectors.missing_count(parts.tenant_id, signature))


async def refresh_vectors(parts: Parts) -> RefreshResult:
    """Make every vector anew, in place: what has one keeps it until the new one is there."""
    if parts.bounds is not None:
        raise Forbidden("this key cannot reindex", hint="use a key for the whole tenant")
    if not parts.embedding.on:
        raise ConfigError("reindex needs an embedder", hint="configure an embedder, or keep searching by text")
    parts.embedding.forget(parts.tenant_id)
    answer = await reindex_vectors(parts)  # what has no vector yet comes first, and what it gets is not made twice
    where = where_visible(Scope(parts.tenant_id), parts.now(), layers=tuple(map(str, Layer)), show_expired=True)
    seqs = await parts.ledger.read(lambda tx: tx.memories.seqs(where))
    refreshed = 0
    for start in range(0, len(seqs), _AT_ONCE):
        refreshed += await _refresh_page(parts, seqs[start : start + _AT_ONCE])
    return {**answer, "refreshed": refreshed}


async def _refresh_page(parts: Parts, seqs: Sequence[int]) -> int:
    found = [await parts.ledger.read(partial(_read_record, seq=seq)) for seq in seqs]
    records = [one for one in found if one is not None and one.valid_to is None]
    space = await current_space(parts)
    before = [await parts.ledger.read(partial(_read_preceding_text, row=one)) for one in records]
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


async def _read_preceding_text(tx: Tx, *, row: Record) -> str:
    return await stored_before(tx, row)


async def _read_record(tx: Tx, *, seq: int) -> Record | None:
    return await tx.memories.at(seq)


class _TakenBack(Exception):
    """The round trip was successful and is undone."""


async def verify_memory(parts: Parts) -> SelfTest:
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


def _probe_scope(parts: Parts) -> Scope:
    """Nobody; who reaches a part of the tenant only tries it there, as it is taken back in any case."""
    bounds = parts.bounds
    if bounds is None or bounds.is_everyone:
        return Scope(parts.tenant_id, PROBE_OWNER)
    return Scope(parts.tenant_id, bounds.user_id or bounds.own_pool, bounds.agent_id)


async def _round_trip(tx: Tx, *, parts: Parts) -> NoReturn:
    scope, now = _probe_scope(parts), parts.now()
    turn = turn_of(scope, Message("user", f"probe {new_id()}", ""), now, 0, dated=True)
    record = new_record(turn.draft, parts.tenant_id, now)
    record.layer, record.key = str(Layer.FACT), PROBE_KEY
    await insert_version(tx, parts.language, record, [Link(scope, now, turn.draft.dedupe)], [])
    listed = await tx.memories.find(where_visible(scope, now), limit=_LISTED)
    if record.id not in [one.record.id for one in listed]:
        raise StorageError("the entry that was just stored is not listed")
    await end_version(tx, record, Status.DELETED, now)
    raise _TakenBack


# --- whether memory works ---------------------------------------------------------------------------------------------


OWNER: Final = "memstone:probe"
"""Nobody: what is tried in this name is taken back in the same transaction."""

_WORD: Final = "memstoneprobe"
_LATE: Final = timedelta(minutes=10)
_JOBS: Final = 20
_MOST_SESSIONS: Final = 1_000
"""So many sessions are counted; there are as many or more."""


class _HealthTakenBack(Exception):
    """The try was successful and is undone."""


async def check_health(parts: Parts) -> HealthReport:
    """``healthy``, ``degraded`` or ``unavailable``, and why; nothing that is tried for that is kept."""
    probe = await _run_probe(parts)
    if not probe["ok"]:
        failed_at = probe["failed_at"]
        return {
            "level": "unavailable" if failed_at in ("open", "write") else "degraded",
            "reasons": [f"probe:{failed_at}"],
            "probe": probe,
        }
    figures = await parts.ledger.read(partial(_read_figures, parts=parts))
    reasons = [*_degraded_reasons(parts.workshop.counters, figures), *(["damaged"] if parts.workshop.damage else [])]
    return {"level": "degraded" if reasons else "healthy", "reasons": reasons, "probe": probe, **figures}


async def try_to_write(parts: Parts) -> None:
    """Raise if nothing can be written now; what is tried is taken back in the same transaction."""
    await parts.ledger.ensure_room(by_writing=True)
    with suppress(_HealthTakenBack):
        await parts.ledger.note(partial(_count_once, parts=parts))


async def _count_once(tx: Tx, *, parts: Parts) -> NoReturn:
    now = parts.now()
    await tx.metrics.count(parts.tenant_id, OWNER, now, {_WORD: 1})
    if not await tx.metrics.counted(parts.tenant_id, OWNER, now):  # asked, because what is written may be sent later
        raise StorageError("the store does not contain what was just written")
    raise _HealthTakenBack


async def _read_figures(tx: Tx, *, parts: Parts) -> HealthFigures:
    """What the store says of itself: whether something waits too long, and whether a job was ever logged."""
    counts = await tx.admin.counts(parts.tenant_id)
    late = to_instant(datetime_from_instant(parts.now()) - _LATE)
    oldest = await tx.signals.pending(Scope(parts.tenant_id), 1)
    logged = await tx.jobs.find(Scope(parts.tenant_id), limit=_JOBS)
    return {
        "memories": counts["memories"],
        "fulltext": counts["fulltext"],
        "vectors": counts["vectors"],
        "pending": counts["pending"],
        "dead": counts["dead"],
        "without_vector": max(0, counts["memories"] - counts["vectors"]) if parts.embedding.on else 0,
        "late": any(_is_late(one, late) for one in oldest),
        "waiting_for_model": await _held_up(tx, parts, logged),
        "jobs": bool(logged),
    }


async def _held_up(tx: Tx, parts: Parts, logged: Sequence[Job]) -> int:
    """How many sessions wait for a model that could not be asked when the last of them was tried."""
    last = next((job for job in logged if job.task in FORMING), None)
    if last is None or not waits_for_model(str(last.details.get("outcome"))):
        return 0
    return len(await tx.signals.sessions(Scope(parts.tenant_id), _MOST_SESSIONS))


def _is_late(signal: Signal, late: Instant) -> bool:
    return signal.due_at is not None and max(signal.due_at, signal.created_at) < late


def _degraded_reasons(counters: Counters, figures: HealthFigures) -> list[str]:
    wrong = {
        "fulltext": figures["fulltext"] != figures["memories"],
        "vectors_missing": bool(figures["without_vector"]) and not figures["pending"],
        "pending_without_jobs": figures["late"] and not figures["jobs"],
        "pending_late": figures["late"] and figures["jobs"],
        "waiting_for_model": bool(figures["waiting_for_model"]),
        "dead_letters": bool(figures["dead"]),
        "insert_failures": counters.failing,
    }
    return [reason for reason, is_so in wrong.items() if is_so]


async def _run_probe(parts: Parts) -> HealthProbe:
    """Write what a turn writes, find it again and take it back: where that fails is where writing fails."""
    steps = ["open"]
    problem: ErrorInfo | None = None
    try:
        await parts.ledger.open()
        steps.append("write")
        await parts.ledger.ensure_room(by_writing=True)
        await parts.ledger.write(partial(_write_probe, parts=parts, steps=steps))
    except _HealthTakenBack:
        return {"ok": True, "failed_at": None, "error": None}
    except MemstoneError as error:
        problem = error.as_dict()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        problem = {"code": type(error).__name__, "message": str(error), "hint": "", "retryable": False}
    return {"ok": False, "failed_at": steps[-1], "error": problem}


async def _write_probe(tx: Tx, *, parts: Parts, steps: list[str]) -> NoReturn:
    del steps[2:]  # the unit may be run again
    scope, now = Scope(parts.tenant_id, OWNER), parts.now()
    steps.append("turn")
    record = await _store_probe_turn(tx, parts.language, scope, now)
    steps.append("fulltext")
    query = TextQuery(match_text(_WORD).split(), scope_tokens(scope), scope)
    if record.seq not in [seq for seq, _ in await tx.text.match(query, 5)]:
        raise StorageError("full-text search does not find what was just stored")
    steps.append("signal")
    await tx.signals.put([Signal(new_id(), scope, _WORD, now, now, due_at=None)])
    if await tx.signals.waiting(scope) != 1:
        raise StorageError("the queued entry is missing")
    steps.append("leave")
    await end_version(tx, record, Status.DELETED, now)
    raise _HealthTakenBack


async def _store_probe_turn(tx: Tx, language: Language, scope: Scope, now: Instant) -> Record:
    turn = turn_of(scope, Message("user", f"{_WORD} {new_id()}", ""), now, 0, dated=True)
    record = new_record(turn.draft, scope.tenant_id, now)
    await insert_version(tx, language, record, [Link(scope, now, turn.draft.dedupe)], [])
    return record


# --- ``metrics`` ------------------------------------------------------------------------------------------------------


_BEGINNING: Final[Instant] = ""
_REPLACING: Final = (EventType.UPDATE, EventType.REPLACE)
_ENDING: Final = (EventType.DELETE, EventType.UNLINK)


async def compute_metrics(parts: Parts, user_id: Any, since: When | None, *, everybody: bool) -> MetricsReport:
    """The four figures of a user, or of everybody, and the counts they are made of.

    They are counted by user: whoever reaches one agent only is told nothing about what others did.
    """
    if parts.bounds is not None and parts.bounds.agent_id:
        raise Forbidden("this key is bound to an agent, but metrics belong to a user", hint="use a key of the user")
    scope = scope_or_everybody(parts, {"user_id": user_id}, everybody=everybody)
    begin = _BEGINNING if since is None else parse_when(since, "since")
    now = parts.now()

    async def work(tx: Tx) -> MetricsReport:
        tenant, user = parts.tenant_id, scope.user_id
        total = sum((await tx.memories.count(where_visible(scope, now))).values())
        events = await tx.metrics.happened(tenant, user, begin)
        counted = await tx.metrics.counted(tenant, user, begin)
        return _metrics_report(user, total, events, counted, await tx.metrics.uses(tenant, user))

    await write_down(parts)
    return await parts.ledger.read(work)


def _metrics_report(user: str, total: int, events: dict[str, int], counted: dict[str, int], uses: int) -> MetricsReport:
    added = events.get(EventType.ADD, 0)
    replaced = sum(events.get(verb, 0) for verb in _REPLACING)
    ended = sum(events.get(verb, 0) for verb in _ENDING)
    redundant = counted.get(REDUNDANT, 0)
    return {
        "user_id": user or None,
        "memory_total_count": total,
        "memory_replacement_rate": _compute_rate(replaced, added + replaced),
        "memory_dedup_rate": _compute_rate(redundant, added + replaced + ended + redundant),
        "retrieval_hit_rate": _compute_rate(counted.get(USED, 0), counted.get(JUDGED, 0)),
        "counts": {
            "added": added,
            "replaced": replaced,
            "ended": ended,
            "redundant": redundant,
            "injected": uses,
            "judged": counted.get(JUDGED, 0),
            "used": counted.get(USED, 0),
            "useful": counted.get(USEFUL, 0),
            "useless": counted.get(USELESS, 0),
        },
    }


def _compute_rate(part: int, whole: int) -> float | None:
    """A share from 0 to 1; None where there is nothing to take a share of."""
    return round(part / whole, 4) if whole else None
