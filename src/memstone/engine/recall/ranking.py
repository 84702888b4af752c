"""What happens to a ranking after it was made: fading, spreading, a closer look."""

from __future__ import annotations

from typing import Final, TypeAlias

from memstone.core.ranking.fusion import Scored
from memstone.core.ranking.importance import Strength, effective, left
from memstone.core.ranking.mmr import mmr
from memstone.engine.layers.derived import never_fades
from memstone.engine.parts import Parts
from memstone.engine.recall.rerank import reranked
from memstone.model.instant import Instant
from memstone.model.memory import Found

Hit: TypeAlias = tuple[Found, Scored]


def faded(parts: Parts, hits: list[Hit], now: Instant) -> list[Hit]:
    """Hits with what time and weight leave of their scores; computed here, so that no pass ever rewrites a row."""
    policy = parts.policy.recall
    if policy.decay_days is None and not policy.salience:
        return hits
    for found, scored in hits:
        used = found.link.last_used_at  # being shown keeps a memory fresh, and no row need be rewritten for it
        strength = Strength(found.record.salience, max(found.record.anchor_at, used or ""))
        days = None if never_fades(found.record) else policy.decay_days
        scored.parts.decay = left(strength.anchor, now, days)
        scored.parts.salience = strength.base if policy.salience else None
        scored.score *= effective(strength, now, days) if policy.salience else scored.parts.decay
    return sorted(hits, key=lambda hit: (-hit[1].score, -hit[0].record.seq))


def doubtful_last(hits: list[Hit]) -> list[Hit]:
    """Hits with those behind the others that the conversation they come from does not bear out."""
    doubted = [hit for hit in hits if hit[0].record.doubtful]
    if not doubted:
        return hits
    sure = [hit for hit in hits if not hit[0].record.doubtful]
    least = min((scored.score for _, scored in sure), default=1.0)
    for _, scored in doubted:
        scored.score = min(scored.score * _DOUBT, least)
    return [*sure, *doubted]


_DOUBT: Final = 0.5


def spread(parts: Parts, hits: list[Hit], limit: int) -> list[Hit]:
    """Hits in an order in which near-identical ones do not crowd out the others."""
    weight = parts.policy.recall.mmr
    if weight is None or len(hits) < 2:  # noqa: PLR2004 - one cannot be spread
        return hits[:limit]
    by_seq = {found.record.seq: (found, scored) for found, scored in hits}
    order = mmr([(seq, scored.score, found.record.text) for seq, (found, scored) in by_seq.items()], limit, weight)
    return [by_seq[seq] for seq in order]


async def looked_at_closely(parts: Parts, query: str, hits: list[Hit]) -> tuple[list[Hit], dict[str, object] | None]:
    """Hits in the order of the reranker, if there is one; on any failure as they were, and why."""
    if parts.reranker is None:
        return hits, None
    by_seq = {found.record.seq: found for found, _ in hits}
    texts = {seq: found.record.text for seq, found in by_seq.items()}
    order, note = await reranked(parts.reranker, query, [scored for _, scored in hits], texts)
    return [(by_seq[scored.seq], scored) for scored in order], note
