"""``memory_page``: a page of memories, with counts of all that match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from memstone.core.checks.arguments import checked_kind, checked_text
from memstone.core.checks.filters import Filters, split_scope, where_visible
from memstone.engine import results
from memstone.engine.request_scope import admit_filters, rename_filter_users, scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit
from memstone.engine.store.feedback import JUDGED, USED
from memstone.errors import InvalidInput
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import CacheHits, MemoryItem, MemoryPage, PageStats


@dataclass(slots=True)
class PageRequest:
    """One call of ``memory_page``; ``offset`` wins over ``page``."""

    arguments: Mapping[str, Any]
    kind: str | None = None
    q: str | None = None
    limit: int = 50
    page: int | None = None
    offset: int | None = None
    filters: Filters | None = None
    everybody: bool = False


async def memory_page(runtime: Runtime, request: PageRequest) -> MemoryPage:
    """Return one page, newest first, with counts and tokens of all that match.

    ``hit_rate`` is the share of shown memories that answers used; ``cache`` counts how often the vector of a text was
    at hand and how often it had to be made. That is counted for all tenants together, so others than the operator are
    told 0.
    """
    request.filters = await admit_filters(runtime, request.filters)
    inside, extra = split_scope(request.filters)
    scope = scope_or_everybody(runtime, request.arguments, inside, everybody=request.everybody, reading=True)
    where = _build_filter(runtime, request, scope, rename_filter_users(runtime, extra))
    limit = checked_limit(request.limit, runtime.policy.limits.page)
    offset = _resolve_offset(request, limit)

    user = _usage_user_id(runtime, scope)

    async def work(tx: Tx) -> tuple[list[MemoryItem], PageStats]:
        rows = await tx.memories.list_newest(where, limit=limit, offset=offset)
        kinds, tokens = await tx.memories.count(where), await tx.memories.tokens(where)
        uses = {} if user is None else await tx.metrics.sum_counts(runtime.tenant_id, user, "")
        stats: PageStats = {
            "total": sum(kinds.values()),
            "by_kind": kinds,
            "tokens": tokens,
            "hit_rate": hit_rate(uses),
            "cache": _cache_hits(runtime),
        }
        return [results.format_memory(found) for found in rows], stats

    found, stats = await runtime.ledger.read(work)
    return {
        "results": found,
        "stats": stats,
        "total": stats["total"],
        "limit": limit,
        "offset": offset,
        "page": offset // limit + 1,
        "pages": ceil(stats["total"] / limit),
    }


def _cache_hits(runtime: Runtime) -> CacheHits:
    if not runtime.at_home:
        return {"hits": 0, "misses": 0}
    cache = runtime.embedding.cache.stats()
    return {"hits": cache["hits"], "misses": cache["misses"]}


def _build_filter(runtime: Runtime, request: PageRequest, scope: Scope, extra: Where | None) -> And:
    more: list[Where] = [] if extra is None else [extra]
    if request.kind is not None:
        more.append(Condition("kind", Op.EQ, checked_kind(request.kind)))
    if request.q is not None:
        wanted = checked_text(request.q, "q", 1_000)
        more.append(Or((Condition("text", Op.ICONTAINS, wanted), Condition("key", Op.ICONTAINS, wanted))))
    return where_visible(scope, runtime.now(), extra=And(tuple(more)) if more else None)


def _resolve_offset(request: PageRequest, limit: int) -> int:
    amount, least = (request.page, 1) if request.offset is None else (request.offset, 0)
    if amount is None:
        return 0
    if isinstance(amount, bool) or not isinstance(amount, int) or not least <= amount < 2**53:
        raise InvalidInput(f"page must be a whole number from 1 and offset one from 0, not {amount!r}")
    return (amount - 1) * limit if request.offset is None else amount


def _usage_user_id(runtime: Runtime, scope: Scope) -> str | None:
    """Return whose uses are counted: a user's, or ('') everybody's; None for who has no user to name."""
    if runtime.bounds is not None and (runtime.bounds.agent_id or not scope.user_id):
        return None
    return scope.user_id


def hit_rate(counted: Mapping[str, int]) -> float | None:
    """Return the share of what was shown that an answer used, as ``metrics`` tells it."""
    visible_count = counted.get(JUDGED, 0)
    return round(counted.get(USED, 0) / visible_count, 4) if visible_count else None
