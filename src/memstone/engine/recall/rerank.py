"""The closer look: a reranker may reorder what a search found, and may fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from memstone.core.ranking.fusion import Scored
from memstone.errors import BackendError, MemstoneError
from memstone.ports.models import Reranker

Note: TypeAlias = "dict[str, object] | None"
"""What to say in ``degraded`` about a reranker that could not serve."""


async def reranked(
    reranker: Reranker | None, query: str, ranked: list[Scored], texts: Mapping[int, str], top: int | None = None
) -> tuple[list[Scored], Note]:
    """The candidates in the order of the reranker, then those it did not name, as they stood.

    ``texts`` holds the text of a candidate by its ``seq``; one without a text is not sent. On any failure the order is
    what it was, and the note says why.
    """
    sent = [scored for scored in ranked if scored.seq in texts]
    if reranker is None or not sent:
        return ranked, None
    try:
        documents = [texts[scored.seq] for scored in sent]
        answer = await reranker.rerank(query, documents, len(sent) if top is None else top)
        scores = _checked(answer, len(sent), reranker)
    except Exception as error:  # noqa: BLE001 - a search that found something answers, whatever a reranker does
        return ranked, _note(error)
    return _reordered(ranked, {sent[place].seq: score for place, score in scores.items()}), None


def _reordered(ranked: list[Scored], given: Mapping[int, float]) -> list[Scored]:
    """Named ones by their new score; the others behind them, none with a better score than what stands before it."""
    shown = _from_0_to_1(given)
    named = sorted((scored for scored in ranked if scored.seq in given), key=lambda scored: -given[scored.seq])
    first = [
        replace(scored, score=shown[scored.seq], parts=replace(scored.parts, rerank=shown[scored.seq]))
        for scored in named
    ]
    worst = first[-1].score if first else 1.0
    rest = [scored for scored in ranked if scored.seq not in given]
    return first + [replace(scored, score=min(scored.score, worst)) for scored in rest]


def _checked(answer: Sequence[tuple[int, float]], count: int, reranker: Reranker) -> dict[int, float]:
    """Scores by place; an answer with a place or a score that cannot be is not trusted at all."""
    scores = {place: float(score) for place, score in answer}
    if len(scores) != len(answer) or not all(place in range(count) for place in scores):
        raise _nonsense(reranker, "places of documents, each once")
    if not all(map(math.isfinite, scores.values())):
        raise _nonsense(reranker, "scores that are numbers")
    return scores


def _from_0_to_1(given: Mapping[int, float]) -> Mapping[int, float]:
    """Scores as they are, or squashed when they know no bounds, as those of many models."""
    if all(0.0 <= score <= 1.0 for score in given.values()):
        return given
    return {seq: 0.5 + 0.5 * math.tanh(score / 2) for seq, score in given.items()}


def _nonsense(reranker: Reranker, missing: str) -> BackendError:
    return BackendError(f"the reranker {reranker.model} did not answer with {missing}", kind="reranker")


def _note(error: Exception) -> dict[str, object]:
    known = error if isinstance(error, MemstoneError) else _unforeseen(error)
    return {"channel": "rerank", **known.as_dict()}


def _unforeseen(error: Exception) -> BackendError:
    return BackendError(f"the reranker failed: {type(error).__name__}: {error}", kind="reranker")
