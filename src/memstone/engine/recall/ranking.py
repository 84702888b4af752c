"""Steps after the ranking: reranker, fading, and spreading."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from memstone.core.ranking.fusion import ScoredCandidate
from memstone.core.ranking.mmr import select_by_mmr
from memstone.core.ranking.strength import Strength, current_strength, remaining_share
from memstone.engine.layers.mirrors import never_fades
from memstone.engine.learn.question_cost import RERANK, start_question
from memstone.engine.recall.llm_reranker import LlmReranker
from memstone.engine.runtime import Runtime
from memstone.errors import BackendError, MemstoneError
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory
from memstone.ports.models import Reranker

if TYPE_CHECKING:
    from memstone.engine.search_request import Search
    from memstone.results import Degradation

# --- the closer look --------------------------------------------------------------------------------------------------


Note: TypeAlias = "Degradation | None"
"""What to say in ``degraded`` about a reranker that could not serve."""


async def rerank_candidates(
    reranker: Reranker | None,
    query: str,
    ranked: list[ScoredCandidate],
    texts: Mapping[int, str],
    top: int | None = None,
) -> tuple[list[ScoredCandidate], Note]:
    """Return candidates in the order of the reranker, then those without a score.

    ``texts`` holds the text of a candidate by its ``seq``; one without a text is not sent. On any failure the order is
    what it was, and the note says why.
    """
    sent = [scored for scored in ranked if scored.seq in texts]
    if reranker is None or not sent:
        return ranked, None
    try:
        documents = [texts[scored.seq] for scored in sent]
        answer = await reranker.rerank(query, documents, len(sent) if top is None else top)
        scores = _validate_scores(answer, len(sent), reranker)
    except Exception as error:  # noqa: BLE001 - a search that found something answers, whatever a reranker does
        return ranked, _failure_note(error)
    return _apply_rerank_scores(ranked, {sent[place].seq: score for place, score in scores.items()}), None


def _apply_rerank_scores(ranked: list[ScoredCandidate], values: Mapping[int, float]) -> list[ScoredCandidate]:
    """Order candidates by their new scores, and the others after them."""
    output = _from_0_to_1(values)
    named = sorted((scored for scored in ranked if scored.seq in values), key=lambda scored: -values[scored.seq])
    first = [
        replace(scored, score=output[scored.seq], parts=replace(scored.parts, rerank=output[scored.seq]))
        for scored in named
    ]
    worst = first[-1].score if first else 1.0
    rest = [scored for scored in ranked if scored.seq not in values]
    return first + [replace(scored, score=min(scored.score, worst)) for scored in rest]


def _validate_scores(answer: Sequence[tuple[int, float]], count: int, reranker: Reranker) -> dict[int, float]:
    """Return scores by position; an invalid answer is not used at all."""
    scores = {place: float(score) for place, score in answer}
    if len(scores) != len(answer) or not all(place in range(count) for place in scores):
        raise _bad_answer_error(reranker, "one index per document")
    if not all(map(math.isfinite, scores.values())):
        raise _bad_answer_error(reranker, "numeric scores")
    return scores


def _from_0_to_1(values: Mapping[int, float]) -> Mapping[int, float]:
    """Return scores from 0 to 1; unbounded ones are squashed."""
    if all(0.0 <= score <= 1.0 for score in values.values()):
        return values
    return {seq: 0.5 + 0.5 * math.tanh(score / 2) for seq, score in values.items()}


def _bad_answer_error(reranker: Reranker, missing: str) -> BackendError:
    return BackendError(f"the reranker {reranker.model} did not return {missing}", kind="reranker")


def _failure_note(error: Exception) -> Degradation:
    known = error if isinstance(error, MemstoneError) else _to_backend_error(error)
    return {"channel": "rerank", **known.as_dict()}


def _to_backend_error(error: Exception) -> BackendError:
    return BackendError(f"the reranker failed: {type(error).__name__}: {error}", kind="reranker")


# --- what happens to a ranking after it was made ----------------------------------------------------------------------


Hit: TypeAlias = tuple[FoundMemory, ScoredCandidate]


def apply_decay(runtime: Runtime, hits: list[Hit], now: Instant) -> list[Hit]:
    """Return hits with scores multiplied by fading and weight.

    They are computed here, so that no pass ever rewrites a row.
    """
    policy = runtime.policy.recall
    if policy.decay_days is None and not policy.salience:
        return hits
    for found, scored in hits:
        used = found.link.last_used_at  # being shown keeps a memory fresh, and no row need be rewritten for it
        strength = Strength(found.record.salience, max(found.record.anchor_at, used or ""))
        days = None if never_fades(found.record, runtime.language.identity) else policy.decay_days
        scored.parts.decay = remaining_share(strength.anchor, now, days)
        scored.parts.salience = strength.base if policy.salience else None
        scored.score *= current_strength(strength, now, days) if policy.salience else scored.parts.decay
    return sorted(hits, key=lambda hit: (-hit[1].score, -hit[0].record.seq))


def demote_doubtful(hits: list[Hit]) -> list[Hit]:
    """Return hits with doubtful ones last."""
    doubted = [hit for hit in hits if hit[0].record.doubtful]
    if not doubted:
        return hits
    sure = [hit for hit in hits if not hit[0].record.doubtful]
    least = min((scored.score for _, scored in sure), default=1.0)
    for _, scored in doubted:
        scored.score = min(scored.score * _DOUBT, least)
    return [*sure, *doubted]


_DOUBT: Final = 0.5


def diversify_hits(runtime: Runtime, hits: list[Hit], limit: int) -> list[Hit]:
    """Return hits in an order that spreads similar ones."""
    weight = runtime.policy.recall.mmr
    if weight is None or len(hits) < 2:  # noqa: PLR2004 - one cannot be spread
        return hits[:limit]
    by_seq = {found.record.seq: (found, scored) for found, scored in hits}
    order = select_by_mmr(
        [(seq, scored.score, found.record.text) for seq, (found, scored) in by_seq.items()], limit, weight
    )
    return [by_seq[seq] for seq in order]


async def rerank_hits(runtime: Runtime, wanted: Search, hits: list[Hit]) -> tuple[list[Hit], Note]:
    """Return hits in the order of the reranker; if it fails, as they were, with the reason."""
    chosen = runtime.reranker
    if chosen is None:
        return hits, None
    by_seq = {found.record.seq: found for found, _ in hits}
    texts = {seq: found.record.text for seq, found in by_seq.items()}
    scored_hits = [scored for _, scored in hits]
    if isinstance(chosen, LlmReranker):
        question = start_question(runtime, RERANK, wanted.scope)
        order, note = await rerank_candidates(chosen.bind(question.runtime.llm), wanted.query, scored_hits, texts)
        await question.log(note["code"] if note else "")
    else:
        order, note = await rerank_candidates(chosen, wanted.query, scored_hits, texts)
    return [(by_seq[scored.seq], scored) for scored in order], note
