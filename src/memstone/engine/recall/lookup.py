"""``get``, ``get_all``, ``history`` and ``stats``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memstone.core.checks.arguments import checked_kind, checked_text
from memstone.core.checks.filters import Filters, split_scope, where_visible
from memstone.engine import results
from memstone.engine.request_scope import merged_scope, rename_filter_users
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import USUAL, checked_layers, checked_limit
from memstone.engine.store.holders import read_owners
from memstone.engine.store.versions import checked_id, under_id
from memstone.errors import InvalidInput, NotFoundError
from memstone.model.instant import When, parse_when
from memstone.model.memory import OPEN, FoundMemory, Status
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import (
        Explanation,
        HistoryEvent,
        LearningStats,
        MemoryItem,
        MemoryList,
        RowCounts,
        StoreStats,
        VectorSpace,
    )


@dataclass(slots=True)
class ListRequest:
    """One call of ``get_all``."""

    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int | None = None
    offset: int | None = None
    page: int | None = None
    filters: Filters | None = None
    layers: str | Sequence[str] | None = None
    kind: str | None = None
    q: str | None = None
    status: str | None = None
    as_of: When | None = None
    show_expired: bool = False
    counts: bool = False


async def get_memory(runtime: Runtime, memory_id: str) -> MemoryItem | None:
    """Return one live memory by its id, or None."""
    if not isinstance(memory_id, str) or not memory_id.strip():
        return None
    found = await runtime.ledger.peek(
        lambda tx: under_id(tx.memories.find_visible, runtime.tenant_id, memory_id.strip())
    )
    if found is None or found.record.status != Status.ACTIVE:
        return None
    expires = found.record.expires_at
    return results.format_memory(found) if expires is None or expires > runtime.now() else None


async def get_all(runtime: Runtime, request: ListRequest) -> MemoryList:
    """Return what a scope sees, newest first."""
    where = _build_where(runtime, request)
    limit = checked_limit(USUAL if request.limit is None else request.limit, runtime.policy.limits.page)
    offset = _page_offset(request, limit)

    async def work(tx: Tx) -> tuple[list[FoundMemory], dict[str, int], dict[str, str]]:
        rows = await tx.memories.find(where, limit=limit, offset=offset)
        kinds = await tx.memories.count(where) if request.counts else {}
        return rows, kinds, await read_owners(tx, rows, runtime.bounds)

    rows, kinds, owners = await runtime.ledger.read(work)
    visible = [results.format_memory(found) for found in rows]
    for one in visible if owners else ():
        results.add_owner(one, owners)
    if not request.counts:
        return {"results": visible}
    return {
        "results": visible,
        "total": sum(kinds.values()),
        "by_kind": kinds,
        "limit": limit,
        "offset": offset,
        "page": offset // limit + 1,
    }


def _build_where(runtime: Runtime, request: ListRequest) -> And:
    inside, extra = split_scope(request.filters)
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    own = rename_filter_users(runtime, extra)
    more: list[Where] = [own] if own is not None else []
    if request.as_of is not None and request.status is not None:
        raise InvalidInput("as_of and status cannot be combined", hint="as_of shows what was active at that time")
    if request.kind is not None:
        more.append(Condition("kind", Op.EQ, checked_kind(request.kind)))
    if request.q is not None:
        wanted = checked_text(request.q, "q", 1_000)
        more.append(Or((Condition("text", Op.ICONTAINS, wanted), Condition("key", Op.ICONTAINS, wanted))))
    return where_visible(
        merged_scope(runtime, values, inside, extra, reading=True),
        runtime.now(),
        layers=checked_layers(request.layers),
        statuses=(_validate_status(request.status),),
        as_of=None if request.as_of is None else parse_when(request.as_of, "as_of"),
        show_expired=request.show_expired,
        extra=And(tuple(more)) if more else None,
    )


def _validate_status(status: str | None) -> str:
    """Return the status of a listing, which may name one that searches never show.

    Versions that ended are reached by history and as_of.
    """
    if status is None:
        return Status.ACTIVE
    if status not in OPEN:
        raise InvalidInput(f"unknown status {status!r}", hint="one of " + ", ".join(sorted(OPEN)))
    return status


def _page_offset(request: ListRequest, limit: int) -> int:
    """Return where the page starts; ``offset`` wins over ``page``."""
    if request.offset is not None:
        return _at_least("offset", request.offset, 0)
    return 0 if request.page is None else (_at_least("page", request.page, 1) - 1) * limit


def _at_least(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
        raise InvalidInput(
            f"{name} must be a whole number from {least}, not {value!r}", hint=f"{least} is the first one"
        )
    return value


async def get_history(runtime: Runtime, memory_id: str) -> list[HistoryEvent]:
    """Return everything that happened to a memory, oldest first; a deleted one keeps its history."""
    wanted = checked_id(memory_id)
    events = await runtime.ledger.read(lambda tx: under_id(tx.events.of, runtime.tenant_id, wanted))
    return [results.format_history_event(event) for event in events]


async def explain_memory(runtime: Runtime, memory_id: str) -> Explanation:
    """Return why a memory is known: its words, the turn they come from, and every change with its reason."""
    wanted = checked_id(memory_id)
    events = await get_history(runtime, wanted)
    found = await runtime.ledger.peek(lambda tx: under_id(tx.memories.find_visible, runtime.tenant_id, wanted))
    if found is None and not events:
        raise NotFoundError(f"no memory {memory_id}", hint="add, search and get_all show ids")
    visible = None if found is None else results.format_memory(found)
    evidence = None if visible is None else visible.get("evidence")
    turn_id = evidence["turn"] if evidence else None
    turn = await get_memory(runtime, turn_id) if turn_id else None
    return {"memory": visible, "evidence": evidence, "turn": turn, "history": events}


async def get_stats(runtime: Runtime) -> StoreStats:
    """Count of live memories, events, mirrors and what waits; and the state of the vector index."""

    async def work(tx: Tx) -> tuple[RowCounts, list[VectorSpace]]:
        spaces: list[VectorSpace] = [
            {"signature": info.signature, "state": info.state, "dim": info.dim, "quant": runtime.index.quant or None}
            for info in await tx.indexes.all(runtime.tenant_id)
        ]
        return await tx.admin.counts(runtime.tenant_id), spaces

    counts, spaces = await runtime.ledger.read(work)
    forming: LearningStats = {"mode": runtime.policy.formation.mode}
    answer: StoreStats = {**counts, "indexes": spaces, "formation": forming}
    if runtime.at_home:  # what is counted for all tenants together
        forming.update(runtime.worker_state.as_dict())
        answer["embedding_cache"] = runtime.embedding.cache.stats()
    return answer
