"""``engine_status``, ``verify``, ``refresh_vectors``: the state of a memory, and self-tests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from memstone.core.checks.filters import where_visible
from memstone.engine.background.jobs import FORMING, waits_for_model
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import new_record, scope_tokens
from memstone.engine.store.embedding import is_outage
from memstone.engine.store.embedding_context import stored_before
from memstone.engine.store.feedback import JUDGED, USED, USEFUL, USELESS
from memstone.engine.store.indexer import reindex_vectors
from memstone.engine.store.repeat_counter import REDUNDANT, write_down
from memstone.engine.store.turns import turn_of
from memstone.engine.store.versions import end_version, insert_version
from memstone.engine.store.write import current_space
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
        GraphPart,
        HealthFigures,
        HealthProbe,
        HealthReport,
        MetricsReport,
        ModelPart,
        RefreshResult,
        SelfTest,
        VectorPart,
        VectorStoreCheck,
    )

# --- ``engine_status``, ``verify``, ``refresh_vectors`` ---------------------------------------------------------------


PROBE_OWNER: Final = "health-check"
PROBE_KEY: Final = "__extraction_test__"
_LISTED: Final = 100
_MAX_CLEANUP_DAYS: Final = 3_650
_AT_ONCE: Final = 100


async def engine_status(runtime: Runtime, *, counts: bool = True) -> EngineInfo:
    """Return each channel and service of the engine: whether it is there, and why not.

    To count what has no vector takes a look at every memory; without ``counts`` that is left out.
    """
    return {
        "keyword": {"available": True, "reason": None, "backend": "full text of analysed words"},
        "embedding": await _embedding_status(runtime),
        "vector_store": await _vector_status(runtime, counts=counts),
        "graph_store": await _graph_status(runtime),
        "rerank": _port_status(runtime.reranker, "no reranker is configured"),
        "llm": _port_status(runtime.llm, "no language model is configured; the curator learns"),
    }


def _port_status(port: Any, otherwise: str) -> ModelPart:
    if port is None:
        return {"available": False, "reason": otherwise, "model": None}
    return {"available": True, "reason": None, "model": getattr(port, "model", None)}


async def _embedding_status(runtime: Runtime) -> EmbeddingPart:
    embedder = runtime.embedding.embedder
    if embedder is None:
        return {"available": False, "reason": "no embedder is configured", "provider": None, "model": None, "dim": None}
    visible: EmbeddingPart = {
        "available": True,
        "reason": None,
        "provider": embedder.provider,
        "model": embedder.model,
        "destination": embedder.destination or None,
        "dim": None,
    }
    if runtime.at_home:  # to others the cache of all tenants would tell what somebody else has embedded
        visible["cache"] = runtime.embedding.cache.stats()
    try:
        return {**visible, "dim": await runtime.embedding.dim()}
    except MemstoneError as error:
        return {**visible, "available": False, "reason": error.message, "error": embedding_reason(error)}


async def _vector_status(runtime: Runtime, *, counts: bool) -> VectorPart:
    backend: Literal["local", "external"] = "local" if runtime.index.is_embedded else "external"
    if not runtime.embedding.on:
        return {"available": False, "reason": "no embedder is configured", "backend": backend, "pending": 0}
    try:
        signature = await runtime.embedding.signature()
        spaces = await runtime.ledger.read(lambda tx: tx.indexes.all(runtime.tenant_id))
        waiting = await pending_vectors(runtime) if counts else 0
    except MemstoneError as error:
        return {"available": False, "reason": error.message, "backend": backend, "pending": 0}
    active = next((one.signature for one in spaces if one.state == "active"), None)
    other = active is not None and active != signature
    outage: MemstoneError | None = getattr(runtime.index, "outage", None)
    down = "" if outage is None else f"{outage.message}; the embedded index answers meanwhile"
    count_lag = getattr(runtime.index, "count_lag", None)
    is_told = counts and runtime.bounds is None
    lag = await count_lag(runtime.tenant_id, signature) if count_lag is not None and is_told else 0
    return {
        "available": not other and not down,
        "reason": "the index belongs to another embedder: run reindex" if other else down or None,
        "backend": backend,
        "pending": waiting,
        "signature": signature,
        "active_signature": active,
        "needs_reindex": bool(waiting) or other,
        "lag": lag,
    }


async def _graph_status(runtime: Runtime) -> GraphPart:
    graph = runtime.graph
    if graph is None:
        return {"available": True, "reason": None, "backend": "local", "pending": 0}
    error: MemstoneError | None = graph.outage
    pending = 0
    if error is None and runtime.bounds is None:
        try:
            pending = await graph.count_pending(runtime.tenant_id)
        except MemstoneError as raised:
            error = raised
    reason = None if error is None else f"{error.message}; the ledger answers meanwhile"
    return {"available": error is None, "reason": reason, "backend": "external", "pending": pending}


async def pending_vectors(runtime: Runtime) -> int:
    """Return how many memories wait for a vector of the configured embedder.

    Somebody who reaches only a part is not told.
    """
    if not runtime.embedding.on or runtime.bounds is not None:
        return 0
    signature = await runtime.embedding.signature()
    return await runtime.ledger.read(lambda tx: tx.vectors.missing_count(runtime.tenant_id, signature))


async def clean_up_vectors(runtime: Runtime, *, dry_run: bool, days: int | None = None) -> int:
    """Remove what a vector store outside holds in vain, and say how much that is; without one there is nothing.

    With ``days``, the points of memories that are older are removed, too; from 1 to 3,650.
    """
    if runtime.bounds is not None:
        raise Forbidden("this key cannot clean up a vector store", hint="use a key for the whole tenant")
    clean_up = getattr(runtime.index, "clean_up", None)
    if clean_up is None or not runtime.embedding.on:
        return 0
    signature = await runtime.embedding.signature()
    now = runtime.now()
    oldest = "" if days is None else _days_before(now, min(max(days, 1), _MAX_CLEANUP_DAYS))
    removed: int = await clean_up(runtime.tenant_id, signature, now, dry_run=dry_run, created_before=oldest)
    return removed


def _days_before(now: Instant, days: int) -> Instant:
    return to_instant(datetime_from_instant(now) - timedelta(days=days))


async def compare_vectors(runtime: Runtime, *, repair: bool) -> VectorStoreCheck | None:
    """Compare a vector store outside with the ledger, and repair it if asked to; None where there is nothing to."""
    if runtime.bounds is not None:
        raise Forbidden("this key cannot check a vector store", hint="use a key for the whole tenant")
    compare = getattr(runtime.index, "compare", None)
    if compare is None or not runtime.embedding.on:
        return None
    found = await compare(runtime.tenant_id, await runtime.embedding.signature(), repair=repair)
    if found is None:
        return None
    return {
        "points": found.points,
        "expected": found.expected,
        "missing": found.missing,
        "different": found.different,
        "unknown": found.unknown,
        "repaired": repair and not found.is_equal,
    }


async def refresh_vectors(runtime: Runtime) -> RefreshResult:
    """Make every vector again, in place: what has one keeps it until the new one is there."""
    if runtime.bounds is not None:
        raise Forbidden("this key cannot reindex", hint="use a key for the whole tenant")
    if not runtime.embedding.on:
        raise ConfigError("reindex needs an embedder", hint="configure an embedder, or keep searching by text")
    runtime.embedding.forget(runtime.tenant_id)
    answer = await reindex_vectors(runtime)  # what has no vector yet comes first, and what it gets is not made twice
    where = where_visible(Scope(runtime.tenant_id), runtime.now(), layers=tuple(map(str, Layer)), show_expired=True)
    seqs = await runtime.ledger.read(lambda tx: tx.memories.seqs(where))
    refreshed = 0
    for start in range(0, len(seqs), _AT_ONCE):
        refreshed += await _refresh_page(runtime, seqs[start : start + _AT_ONCE])
    return {**answer, "refreshed": refreshed}


async def _refresh_page(runtime: Runtime, seqs: Sequence[int]) -> int:
    found = [await runtime.ledger.read(partial(_read_record, seq=seq)) for seq in seqs]
    records = [one for one in found if one is not None and one.valid_to is None]
    space = await current_space(runtime)
    before = [await runtime.ledger.read(partial(_read_preceding_text, row=one)) for one in records]
    vectors = await runtime.embedding.many(
        [one.text for one in records], before if runtime.embedding.tells_words else None
    )
    outage = next((one for one in vectors if isinstance(one, MemstoneError) and is_outage(one)), None)
    if outage is not None:
        raise outage
    pairs = zip(records, vectors, strict=True)
    ready = [(one.seq, vector) for one, vector in pairs if not isinstance(vector, MemstoneError)]

    async def work(tx: Tx) -> int:
        stored = await tx.vectors.fill(runtime.tenant_id, space.signature, ready)
        await tx.vectors.touch(runtime.tenant_id, [seq for seq, _ in ready])
        return stored

    return await runtime.ledger.write(work)


async def _read_preceding_text(tx: Tx, *, row: Record) -> str:
    return await stored_before(tx, row)


async def _read_record(tx: Tx, *, seq: int) -> Record | None:
    return await tx.memories.at(seq)


class _ProbeRollback(Exception):
    """The round trip was successful and is undone."""


async def verify_memory(runtime: Runtime) -> SelfTest:
    """Create, list and delete an entry, and undo all of it, to test memory."""
    log_event("memory.verify.start")
    began = runtime.clock.now()
    error: str | None = None
    try:
        await runtime.ledger.write(partial(_round_trip, runtime=runtime))
    except _ProbeRollback:
        pass
    except MemstoneError as failed:
        error = failed.message
    except Exception as failed:  # noqa: BLE001 - whatever it is, it is the answer
        error = type(failed).__name__
    took = max(0.0, (runtime.clock.now() - began).total_seconds() * 1_000)
    log_event("memory.verify.complete", working=error is None, latency_ms=round(took, 3))
    return {"working": error is None, "latency_ms": round(took, 3), "error": error}


def _probe_scope(runtime: Runtime) -> Scope:
    """Return nobody's scope; who reaches a part of the tenant only tries it there, as it is taken back in any case."""
    bounds = runtime.bounds
    if bounds is None or bounds.is_everyone:
        return Scope(runtime.tenant_id, PROBE_OWNER)
    return Scope(runtime.tenant_id, bounds.user_id or bounds.own_pool, bounds.agent_id)


async def _round_trip(tx: Tx, *, runtime: Runtime) -> NoReturn:
    scope, now = _probe_scope(runtime), runtime.now()
    turn = turn_of(scope, Message("user", f"probe {new_id()}", ""), now, 0, dated=True)
    record = new_record(turn.draft, runtime.tenant_id, now)
    record.layer, record.key = str(Layer.FACT), PROBE_KEY
    await insert_version(tx, runtime.language, record, [Link(scope, now, turn.draft.dedupe)], [])
    listed = await tx.memories.find(where_visible(scope, now), limit=_LISTED)
    if record.id not in [one.record.id for one in listed]:
        raise StorageError("the entry that was just stored is not listed")
    await end_version(tx, record, Status.DELETED, now)
    raise _ProbeRollback


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


async def check_health(runtime: Runtime) -> HealthReport:
    """Return ``healthy``, ``degraded`` or ``unavailable``, and why; nothing that is tried for that is kept."""
    probe = await _run_probe(runtime)
    if not probe["ok"]:
        failed_at = probe["failed_at"]
        return {
            "level": "unavailable" if failed_at in ("open", "write") else "degraded",
            "reasons": [f"probe:{failed_at}"],
            "probe": probe,
        }
    figures = await runtime.ledger.read(partial(_read_figures, runtime=runtime))
    reasons = [
        *_degraded_reasons(runtime.worker_state.counters, figures),
        *(["damaged"] if runtime.worker_state.damage else []),
    ]
    return {"level": "degraded" if reasons else "healthy", "reasons": reasons, "probe": probe, **figures}


async def try_to_write(runtime: Runtime) -> None:
    """Raise if nothing can be written now; what is tried is taken back in the same transaction."""
    await runtime.ledger.ensure_room(by_writing=True)
    with suppress(_HealthTakenBack):
        await runtime.ledger.note(partial(_count_once, runtime=runtime))


async def _count_once(tx: Tx, *, runtime: Runtime) -> NoReturn:
    now = runtime.now()
    await tx.metrics.count(runtime.tenant_id, OWNER, now, {_WORD: 1})
    if not await tx.metrics.sum_counts(
        runtime.tenant_id, OWNER, now
    ):  # asked, because what is written may be sent later
        raise StorageError("the store does not contain what was just written")
    raise _HealthTakenBack


async def _read_figures(tx: Tx, *, runtime: Runtime) -> HealthFigures:
    """Return what the store says of itself: whether something waits too long, and whether a job was ever logged."""
    counts = await tx.admin.counts(runtime.tenant_id)
    late = to_instant(datetime_from_instant(runtime.now()) - _LATE)
    oldest = await tx.signals.list_pending(Scope(runtime.tenant_id), 1)
    logged = await tx.jobs.find(Scope(runtime.tenant_id), limit=_JOBS)
    return {
        "memories": counts["memories"],
        "fulltext": counts["fulltext"],
        "vectors": counts["vectors"],
        "pending": counts["pending"],
        "dead": counts["dead"],
        "without_vector": max(0, counts["memories"] - counts["vectors"]) if runtime.embedding.on else 0,
        "late": any(_is_late(one, late) for one in oldest),
        "waiting_for_model": await _held_up(tx, runtime, logged),
        "jobs": bool(logged),
    }


async def _held_up(tx: Tx, runtime: Runtime, logged: Sequence[Job]) -> int:
    """Return how many sessions wait for a model that could not be asked when the last of them was tried."""
    last = next((job for job in logged if job.task in FORMING), None)
    if last is None or not waits_for_model(str(last.details.get("outcome"))):
        return 0
    return len(await tx.signals.sessions(Scope(runtime.tenant_id), _MOST_SESSIONS))


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
        "insert_failures": counters.is_failing,
    }
    return [reason for reason, is_so in wrong.items() if is_so]


async def _run_probe(runtime: Runtime) -> HealthProbe:
    """Write what a turn writes, find it again and take it back: where that fails is where writing fails."""
    steps = ["open"]
    problem: ErrorInfo | None = None
    try:
        await runtime.ledger.open()
        steps.append("write")
        await runtime.ledger.ensure_room(by_writing=True)
        await runtime.ledger.write(partial(_write_probe, runtime=runtime, steps=steps))
    except _HealthTakenBack:
        return {"ok": True, "failed_at": None, "error": None}
    except MemstoneError as error:
        problem = error.as_dict()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        problem = {"code": type(error).__name__, "message": str(error), "hint": "", "retryable": False}
    return {"ok": False, "failed_at": steps[-1], "error": problem}


async def _write_probe(tx: Tx, *, runtime: Runtime, steps: list[str]) -> NoReturn:
    del steps[2:]  # the unit may be run again
    scope, now = Scope(runtime.tenant_id, OWNER), runtime.now()
    steps.append("turn")
    record = await _store_probe_turn(tx, runtime.language, scope, now)
    steps.append("fulltext")
    query = TextQuery(match_text(_WORD).split(), scope_tokens(scope), scope)
    if record.seq not in [seq for seq, _ in await tx.text.match(query, 5)]:
        raise StorageError("full-text search does not find what was just stored")
    steps.append("signal")
    await tx.signals.put([Signal(new_id(), scope, _WORD, now, now, due_at=None)])
    if await tx.signals.count_pending(scope) != 1:
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


async def compute_metrics(runtime: Runtime, user_id: Any, since: When | None, *, everybody: bool) -> MetricsReport:
    """Return the four figures of a user, or of everybody, and the counts they are made of.

    They are counted by user: whoever reaches one agent only is told nothing about what others did.
    """
    if runtime.bounds is not None and runtime.bounds.agent_id:
        raise Forbidden("this key is bound to an agent, but metrics belong to a user", hint="use a key of the user")
    scope = scope_or_everybody(runtime, {"user_id": user_id}, everybody=everybody)
    begin = _BEGINNING if since is None else parse_when(since, "since")
    now = runtime.now()

    async def work(tx: Tx) -> MetricsReport:
        tenant, user = runtime.tenant_id, scope.user_id
        total = sum((await tx.memories.count(where_visible(scope, now))).values())
        events = await tx.metrics.count_events(tenant, user, begin)
        counted = await tx.metrics.sum_counts(tenant, user, begin)
        return _metrics_report(user, total, events, counted, await tx.metrics.uses(tenant, user))

    await write_down(runtime)
    return await runtime.ledger.read(work)


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


def _compute_rate(part: int, total: int) -> float | None:
    """Return a share from 0 to 1; None where there is nothing to take a share of."""
    return round(part / total, 4) if total else None
