"""Search and context previews for the console, in every layer and with reasons.

The people who use a console are usually not the user, so texts are previews without secrets, addresses and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import Filters, split_scope, where_current, where_in_scope
from memstone.core.redact import preview_text, redact_preview
from memstone.engine import results
from memstone.engine.context import chat_scope, preview_block
from memstone.engine.policy import policy_for
from memstone.engine.recall.context_query import validate_context
from memstone.engine.recall.hits import find_hits
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.receipts import ids_of_left_out, list_dropped
from memstone.engine.request_scope import ContextRequest, admit_filters, rename_filter_users, scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, build_search, checked_layers, checked_limit
from memstone.engine.store.turns import map_json_texts
from memstone.errors import InvalidInput
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import INDEXED, LISTED, FoundMemory, Layer, Status
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import Scope, scope_ids

if TYPE_CHECKING:
    from memstone.results import ContextPreview, MemoryFields, MemoryPreview, PreviewList

MOST: Final = 250
USUAL: Final = 60
_WORDS: Final = re.compile(r"\w+")
_WHY: Final = (
    ("keyword", "its words match"),
    ("semantic", "near in meaning"),
    ("words", "word by word"),
    ("entity", "mentions the person or thing asked about"),
)


@dataclass(slots=True)
class InspectRequest:
    """One call of ``inspect``."""

    q: str | None = None
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    layers: str | Sequence[str] | None = None
    statuses: str | Sequence[str] | None = None
    filters: Filters | None = None
    limit: int = USUAL
    as_of: When | None = None
    everybody: bool = False


@dataclass(frozen=True, slots=True)
class _ConsoleQuery:
    q: str | None
    scope: Scope
    layers: tuple[str, ...]
    statuses: tuple[str, ...]
    extra: Where | None
    limit: int
    as_of: Instant | None = None

    def where(self, statuses: Sequence[str], *more: Where) -> And:
        """Choose rows of these statuses, expired or not; at a moment in the past, those that held then."""
        layers = Condition("layer", Op.IN, self.layers)
        extra = () if self.extra is None else (self.extra,)
        current = _status_condition(statuses) if self.as_of is None else _held_at(self.as_of, statuses)
        return And((where_in_scope(self.scope), layers, current, *extra, *more))


async def console_search(runtime: Runtime, request: InspectRequest) -> PreviewList:
    """Return memories of a scope, or of everybody: previews, and why each is there."""
    request.filters = await admit_filters(runtime, request.filters)
    asked = _validate_request(runtime, request)
    rows: list[tuple[FoundMemory, float | None, str]] = []
    if asked.q is not None and asked.as_of is None and not asked.scope.is_open:
        rows += await _by_search(runtime, asked)
    known = {found.record.id for found, _, _ in rows}
    rows += [row for row in await _by_text(runtime, asked) if row[0].record.id not in known]
    visible = [_format_row(*row) for row in rows[: asked.limit]]
    return {"results": visible, "limit": asked.limit, "more": len(rows) > asked.limit}


def _validate_request(runtime: Runtime, request: InspectRequest) -> _ConsoleQuery:
    inside, extra = split_scope(request.filters)
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    layers = tuple(Layer) if request.layers is None else request.layers
    return _ConsoleQuery(
        q=None if request.q is None else checked_text(request.q, "q", 1_000),
        scope=scope_or_everybody(runtime, values, inside, everybody=request.everybody, reading=True),
        layers=checked_layers(layers),
        statuses=_checked_statuses(request.statuses),
        extra=rename_filter_users(runtime, extra),
        limit=checked_limit(request.limit, MOST, "narrow the search with q or filters"),
        as_of=None if request.as_of is None else parse_when(request.as_of, "as_of"),
    )


def _checked_statuses(statuses: str | Sequence[str] | None) -> tuple[str, ...]:
    if statuses is None:
        return tuple(map(str, INDEXED))
    chosen = (statuses,) if isinstance(statuses, str) else tuple(statuses) if isinstance(statuses, Iterable) else ()
    if not chosen or any(status not in LISTED for status in chosen):
        raise InvalidInput(f"unknown statuses: {statuses!r}", hint="any of " + ", ".join(LISTED))
    return tuple(map(str, chosen))


def _status_condition(statuses: Sequence[str]) -> Where:
    """Choose current rows of open statuses, and ended ones of those that were deleted."""
    open_ones = [status for status in statuses if status != Status.DELETED]
    ended = Condition("status", Op.EQ, str(Status.DELETED))
    if len(open_ones) == len(statuses):
        return where_current(open_ones)
    return Or((where_current(open_ones), ended)) if open_ones else ended


def _held_at(moment: Instant, statuses: Sequence[str]) -> Where:
    """Choose versions that held at a moment, also of what was deleted since.

    Ended ones that were active are superseded.
    """
    ended = (str(Status.SUPERSEDED),) if Status.ACTIVE in statuses else ()
    return And(
        (
            Condition("valid_from", Op.LTE, moment),
            Or((Condition("valid_to", Op.EXISTS, value=False), Condition("valid_to", Op.GT, moment))),
            Condition("status", Op.IN, (*statuses, *ended)),
        )
    )


async def _by_search(runtime: Runtime, asked: _ConsoleQuery) -> list[tuple[FoundMemory, float | None, str]]:
    """Return what a search finds among what is in the indexes."""
    statuses = [status for status in asked.statuses if status in INDEXED]
    if not statuses:
        return []
    who = asked.scope
    request = SearchRequest(asked.q or "", who.user_id or None, who.agent_id or None, who.run_id or None, asked.limit)
    request.layers, request.scope = asked.layers, None if who.run_id else "owner"
    wanted = replace(build_search(runtime, request), where=asked.where(statuses), extra=asked.extra)
    hits = await find_hits(runtime, replace(wanted, breadth="owner", filtered=asked.extra is not None))
    return [
        (found, round(scored.score, 6), explain_hit(asked.q or "", (found, scored))) for found, scored in hits.found
    ]


def explain_hit(query: str, hit: Hit) -> str:
    """Return why a search found something, in words."""
    found, scored = hit
    words = set(document_terms(found.record.text))
    both = dict.fromkeys(word for word in _WORDS.findall(query) if words.intersection(query_terms(word)))
    values = [(text, getattr(scored.parts, name)) for name, text in _WHY]
    reasons = [f"{text} {value:.2f}" for text, value in values if value]
    return "; ".join([*reasons, *([f"both say {', '.join(both)}"] if both else [])]) or "among the newest"


async def _by_text(runtime: Runtime, asked: _ConsoleQuery) -> list[tuple[FoundMemory, float | None, str]]:
    """Return the newest that hold the words literally, or just the newest."""
    more: tuple[Where, ...] = ()
    if asked.q is not None:
        more = (Or((Condition("text", Op.ICONTAINS, asked.q), Condition("key", Op.ICONTAINS, asked.q))),)
    where, reason = asked.where(asked.statuses, *more), "contains it literally" if more else "among the newest"
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(where, limit=2 * asked.limit + 1))
    newest: dict[str, FoundMemory] = {}
    for found in rows:  # of a deleted memory all versions are; the last one stands for it
        there = newest.get(found.record.id)
        if there is None or there.record.version < found.record.version:
            newest[found.record.id] = found
    return [(found, None, reason) for found in newest.values()]


def _format_row(found: FoundMemory, score: float | None, reason: str) -> MemoryPreview:
    item = map_json_texts(results.format_memory(found), redact_preview)
    stored = cast("MemoryFields", {name: value for name, value in item.items() if name not in ("memory", "hash")})
    visible: MemoryPreview = {
        **stored,
        **scope_ids(found.link.scope),
        "id": found.record.id,
        "preview": preview_text(found.record.text),
        "why": reason,
    }
    if score is not None:
        visible["score"] = score
    return visible


async def context_preview(runtime: Runtime, request: ContextRequest) -> ContextPreview:
    """Return what a model would be shown for a message, as a console may show it; nothing is counted as used."""
    runtime = await policy_for(runtime, request)
    asked = validate_context(runtime, replace(request, scope=chat_scope(runtime, request.scope)))
    found, planned, text = await preview_block(runtime, asked)
    ids = await runtime.ledger.peek(lambda tx: ids_of_left_out(tx, runtime.tenant_id, [asked]))
    return {
        "text": redact_preview(text),
        "tokens": planned.tokens,
        "budget": asked.budget,
        "gate": {"route": asked.gate.route.value, "reason": asked.gate.reason},
        "chosen": [one.id for one in planned.chosen],
        "dropped": [{"id": one.id, "reason": one.reason} for one in list_dropped(asked, found, planned, ids)],
    }
