"""``retrieve_preview``: what a search would find and what would fit, each hit with what speaks for it.

Somebody tries things out: nothing counts as used, no receipt is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from memstone.core.showing.neutralize import neutralize
from memstone.core.text.tokens import estimate_tokens
from memstone.engine import shape
from memstone.engine.asking import SearchRequest, check
from memstone.engine.parts import Parts
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.read import Hits, hits_of
from memstone.engine.tuning import tuned_for
from memstone.errors import InvalidInput
from memstone.model.query import ScoreParts

MOST_TOKENS: Final = 16_000
_BY_MEANING: Final = ("hybrid", "semantic", "vector")


@dataclass(slots=True)
class PreviewRequest:
    """One call of ``retrieve_preview``."""

    search: SearchRequest
    max_tokens: int = 2_000


async def retrieve_preview(parts: Parts, request: PreviewRequest) -> dict[str, Any]:
    """What would be found, best first, as far as it fits into the tokens; and how it was looked for."""
    most = request.max_tokens
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= MOST_TOKENS:
        raise InvalidInput(f"max_tokens must be a whole number from 0 to {MOST_TOKENS:,}, not {most!r}")
    mine = await tuned_for(parts, request.search)
    most = most if mine.policy.retrieval.token_budget else 0  # who is given no tokens is shown nothing, whoever asks
    wanted = check(mine, request.search)
    hits = await hits_of(mine, wanted)
    shown = [_shown(hit) for hit in hits.found]
    fitting = _fitting(shown, most)
    totals = {"found": len(shown), "shown": len(fitting), "tokens": _tokens(fitting), "max_tokens": most}
    return {"items": fitting, "resolution": _resolution(mine, wanted.strategy, hits), "totals": totals}


def _shown(hit: Hit) -> dict[str, Any]:
    found, scored = hit
    item = shape.hit(found, scored, explain=True)
    item["memory"] = neutralize(item["memory"])  # as a model would read it
    more = {"tier": _tier(scored.parts), "tokens": estimate_tokens(found.record.text)}
    return {**item, **more, "vec_score": scored.parts.semantic, "fts_score": scored.parts.keyword}


def _tier(parts: ScoreParts) -> str:
    """Which channel a hit comes from: meaning, words, both, or neither (the newest, whatever the query)."""
    by_meaning, by_words = bool(parts.semantic), bool(parts.keyword)
    if by_meaning and by_words:
        return "hybrid"
    return "vector" if by_meaning else "keyword" if by_words else "recent"


def _fitting(items: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Those that fit, in their order; a long one does not keep the shorter ones behind it out."""
    chosen, left = [], most
    for item in items:
        if item["tokens"] <= left:
            chosen.append(item)
            left -= item["tokens"]
    return chosen


def _tokens(items: list[dict[str, Any]]) -> int:
    return sum(item["tokens"] for item in items)


def _resolution(parts: Parts, strategy: str, hits: Hits) -> dict[str, Any]:
    """How it was looked for in the end, and why not as it was asked for."""
    by_meaning = strategy in _BY_MEANING
    reasons = [str(note.get("reason") or note.get("code") or note.get("channel")) for note in hits.degraded]
    if by_meaning and not parts.embedding.on:
        reasons.append("no embedder is configured")
    return {
        "strategy": strategy,
        "embedding": parts.embedding.name or None,
        "vectors": by_meaning and parts.embedding.on and not hits.degraded,
        "rerank": parts.reranker is not None,
        "degraded": hits.degraded,
        "fallback_reason": "; ".join(reasons) or None,
    }
