"""Data for management pages: dashboard, scopes, jobs and transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.checks.filters import where_visible
from memstone.engine import agents
from memstone.engine.background.jobs import price_of
from memstone.engine.layers import episodes, identity
from memstone.engine.layers import identity as pinned
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import LARGEST, checked_limit, checked_offset
from memstone.engine.upkeep.consolidate import TASK
from memstone.errors import Forbidden, InvalidInput
from memstone.language.text.normal import CHARS_PER_TOKEN
from memstone.model.event import JobFigures
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Layer
from memstone.model.scope import Scope, scope_ids
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import JobStatus, ScopeKind
    from memstone.results import (
        DashboardLayers,
        DashboardResult,
        JobStats,
        LastConsolidation,
        ScopeList,
        TranscriptPage,
        TranscriptTurn,
        WorkStats,
    )

FIELDS: Final = {"user": "user_id", "agent": "agent_id", "run": "run_id"}
_FAILED: Final = ("error", "dead_letter")


async def build_dashboard(
    runtime: Runtime, values: Mapping[str, Any], limit: int, *, everybody: bool
) -> DashboardResult:
    """Return everything a management view begins with, of a scope or of the whole tenant."""
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    most = checked_limit(limit, runtime.policy.limits.page, LARGEST)
    layers: DashboardLayers = await _read_layers(runtime, scope, most) if not scope.is_open else {}
    now = runtime.now()
    visible: DashboardResult = {
        "counts": await runtime.ledger.read(lambda tx: _count_layers(tx, scope, now)),
        "last_consolidation": await runtime.ledger.peek(lambda tx: _last_pass(tx, scope)),
        **layers,
    }
    if runtime.bounds is not None:  # the rest is about the whole tenant
        return visible
    figures = await runtime.ledger.peek(lambda tx: tx.jobs.figures(runtime.tenant_id))
    waiting = await runtime.ledger.peek(lambda tx: tx.admin.counts(runtime.tenant_id))
    visible["processing"] = summarize_jobs(figures, runtime.policy.prices)
    visible["waiting"] = {"pending": waiting["pending"], "dead": waiting["dead"]}
    visible["agents"] = (await agents.list_agents(runtime, most, 0))["agents"]
    return visible


async def _read_layers(runtime: Runtime, scope: Scope, limit: int) -> DashboardLayers:
    who = (scope.user_id or None, scope.agent_id or None, scope.run_id or None)
    about = await identity.get_identity(runtime, scope.user_id) if scope.user_id else None
    facts = await pinned.list_pinned_facts(runtime, pinned.PinnedRequest(*who, limit))
    answer = await episodes.list_episodes(runtime, episodes.EpisodesRequest(*who, limit, 0, None))
    return {"identity": about, "facts": facts["results"], "episodes": answer["results"]}


async def _count_layers(tx: Tx, scope: Scope, now: Instant) -> dict[str, int]:
    found = [(layer, await tx.memories.count(where_visible(scope, now, layers=(layer,)))) for layer in Layer]
    return {str(layer): sum(kinds.values()) for layer, kinds in found}


async def _last_pass(tx: Tx, scope: Scope) -> LastConsolidation | None:
    found = await tx.jobs.find(scope, task=TASK, limit=1)
    return {"at": found[0].created_at, "status": cast("JobStatus", found[0].status)} if found else None


def summarize_jobs(figures: Sequence[JobFigures], prices: Sequence[tuple[str, float, float]]) -> WorkStats:
    """Return how often work was done in the background, with what success, and how long it took."""
    tasks = sorted({one.task for one in figures})
    by_task = {task: _sum_figures([one for one in figures if one.task == task], prices) for task in tasks}
    return {**_sum_figures(figures, prices), "by_task": by_task}


def _sum_figures(figures: Sequence[JobFigures], prices: Sequence[tuple[str, float, float]]) -> JobStats:
    costs = [price_of(prices, one.model, one.input_tokens, one.output_tokens) for one in figures]
    known = [cost for cost in costs if cost is not None]
    calls = sum(one.count for one in figures)
    failed = sum(one.count for one in figures if one.status in _FAILED)
    took = sum(one.count * one.duration_ms for one in figures)
    return {
        "calls": calls,
        "success_rate": round(1 - failed / calls, 4) if calls else None,
        "average_ms": round(took / calls, 3) if calls else None,
        "input_tokens": sum(one.input_tokens for one in figures),
        "output_tokens": sum(one.output_tokens for one in figures),
        "cost": round(sum(known), 9) if known else None,
    }


async def list_scopes(runtime: Runtime, kind: ScopeKind, limit: int, offset: int) -> ScopeList:
    """Return the users, agents or runs there are, with how many memories each has, the largest first."""
    if not isinstance(kind, str) or kind not in FIELDS:
        raise InvalidInput(f"unknown kind {kind!r}", hint="one of " + ", ".join(FIELDS))
    most, first = checked_limit(limit, runtime.policy.limits.page), checked_offset(offset)
    if runtime.bounds is not None:
        raise Forbidden(
            "this key has no access to everybody's memories", hint="use a key that is not bound to a user or an agent"
        )
    rows = await runtime.ledger.peek(lambda tx: tx.admin.scopes(runtime.tenant_id, FIELDS[kind], most, first))
    return {"kind": kind, "results": [{"id": name, "memories": count, "last_at": last} for name, count, last in rows]}


async def read_transcript(runtime: Runtime, values: Mapping[str, Any], limit: int, offset: int) -> TranscriptPage:
    """Return what was said in a scope, in order, as it was said."""
    scope = runtime.required_scope(values)
    most, first = checked_limit(limit, runtime.policy.limits.page), checked_offset(offset)
    where = where_visible(scope, runtime.now(), layers=(Layer.TURN,))

    async def work(tx: Tx) -> TranscriptPage:
        rows = await tx.memories.find(where, limit=most, offset=first, oldest_first=True)
        total = sum((await tx.memories.count(where)).values())
        return {"results": [_format_turn(found, first + at) for at, found in enumerate(rows)], "total": total}

    return await runtime.ledger.read(work)


def _format_turn(found: FoundMemory, index: int) -> TranscriptTurn:
    record = found.record
    return {
        "id": record.id,
        "index": index,
        "role": record.source_role,
        "content": record.text,
        "token_count": max(1, len(record.text) // CHARS_PER_TOKEN),
        "occurred_at": record.occurred_at,
        **scope_ids(found.link.scope),
    }
