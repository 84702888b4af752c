"""``retrieve_preview``: what a search finds, what fits, and the block for a chat.

Somebody tries things out: nothing counts as used, no receipt is written.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from memstone.core.prompt.fence import neutralize_text
from memstone.engine import results
from memstone.engine.context import chat_scope, preview_block
from memstone.engine.policy import policy_for
from memstone.engine.recall.context_query import validate_context
from memstone.engine.recall.hits import Hits, find_hits
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.retrieve import STORE
from memstone.engine.request_scope import ContextRequest
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, build_search
from memstone.errors import InvalidInput
from memstone.language.text.normal import TokenCounter
from memstone.model.query import ScoreParts

if TYPE_CHECKING:
    from memstone.literals import Strategy, TierName
    from memstone.results import PreviewHit, SearchPreview, SearchResolution

MOST_TOKENS: Final = 16_000
_BY_MEANING: Final = ("hybrid", "semantic", "vector")


@dataclass(slots=True)
class PreviewRequest:
    """One call of ``retrieve_preview``."""

    search: SearchRequest
    max_tokens: int | None = None
    """How large the block may be; None is as it is configured."""


async def retrieve_preview(parts: Runtime, request: PreviewRequest) -> SearchPreview:
    """Return what would be found, best first, as far as it fits into the tokens; and how it was looked for."""
    amount = request.max_tokens
    if amount is not None and (
        isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MOST_TOKENS
    ):
        raise InvalidInput(f"max_tokens must be a whole number from 0 to {MOST_TOKENS:,}, not {amount!r}")
    runtime = await policy_for(parts, request.search)
    configured = runtime.policy.retrieval.token_budget
    most = min(configured, MOST_TOKENS) if amount is None or not configured else amount
    wanted = build_search(runtime, request.search)
    hits = await find_hits(runtime, wanted)
    alike = [hit for hit in hits.found if _is_alike(hit)]
    named = {name: getattr(request.search, name) for name in ("user_id", "agent_id", "run_id")}
    scope = chat_scope(runtime, request.search.scope)
    asked = validate_context(runtime, ContextRequest(request.search.query, budget=most, scope=scope, **named))
    _, block, block_text = await preview_block(runtime, asked)
    fitting = _fit_items(alike, most, {one.id for one in block.chosen}, runtime.token_counter)
    tokens = sum(item["tokens"] for item in fitting)
    return {
        "items": fitting,
        "block": block_text,
        "resolution": _describe_resolution(runtime, wanted.strategy, hits),
        "totals": {"found": len(alike), "shown": len(fitting), "tokens": tokens, "max_tokens": most},
    }


def _is_alike(hit: Hit) -> bool:
    """Return whether a hit has to do with the query.

    What was found by neither words nor meaning was not found for them.
    """
    parts = hit[1].parts
    return parts.is_alike or (parts.semantic is None and parts.keyword is None)


async def count_tokens(runtime: Runtime, texts: Sequence[str]) -> list[int]:
    """Return what texts take of a budget."""
    return [runtime.token_counter.tokens(text) for text in texts]


def _format_hit(hit: Hit, inside: Container[str], counter: TokenCounter) -> PreviewHit:
    found, scored = hit
    item = results.format_memory(found)
    return {
        **item,
        "memory": neutralize_text(item["memory"]),  # as a model would read it
        "score": round(scored.score, 6),
        "score_parts": results.format_score(scored),
        "tier": _hit_channel(scored.parts),
        "tokens": counter.tokens(found.record.text),
        "vec_score": scored.parts.semantic,
        "fts_score": scored.parts.keyword,
        "injected": item["id"] in inside,
    }


def _hit_channel(parts: ScoreParts) -> TierName:
    """Return which channel a hit comes from: meaning, words, both, or neither (the newest, whatever the query)."""
    by_meaning, by_words = bool(parts.semantic), bool(parts.keyword)
    if by_meaning and by_words:
        return "hybrid"
    return "vector" if by_meaning else "keyword" if by_words else "recent"


def _fit_items(hits: Sequence[Hit], most: int, inside: Container[str], counter: TokenCounter) -> list[PreviewHit]:
    """Return those that fit, in their order, up to the first that does not; the very first in any case.

    ``inside`` are the ids of the memories that the block holds.
    """
    chosen, left = list["PreviewHit"](), most
    for hit in hits if most else ():
        item = _format_hit(hit, inside, counter)
        left -= item["tokens"]
        if left < 0 and chosen:
            break
        chosen.append(item)
    return chosen


def _describe_resolution(runtime: Runtime, strategy: str, hits: Hits) -> SearchResolution:
    """Tell how it was looked for in the end, and why not as it was asked for."""
    by_meaning = strategy in _BY_MEANING
    reasons = [str(note.get("reason") or note.get("code") or note.get("channel")) for note in hits.degraded]
    if by_meaning and not runtime.embedding.on:
        reasons.append("no embedder is configured")
    return {
        "strategy": cast("Strategy", strategy),
        "embedding": runtime.embedding.name or None,
        "vectors": by_meaning and runtime.embedding.on and all(note.get("channel") == STORE for note in hits.degraded),
        "rerank": runtime.reranker is not None,
        "degraded": hits.degraded,
        "fallback_reason": "; ".join(reasons) or None,
    }
