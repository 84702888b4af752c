"""Several rankings into one.

The score of a hit is the mean of what the channels that took part say: the keyword part is its BM25 relative to
the best one, the semantic part its cosine. Reciprocal ranks are available as another method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retain.model.query import ScoreParts

RRF_K: Final = 60


@dataclass(slots=True)
class Scored:
    """A candidate with its score in [0, 1] and what it is made of."""

    seq: int
    score: float
    parts: ScoreParts


def fuse(
    text: Sequence[tuple[int, float]],
    dense: Mapping[int, float],
    *,
    near: frozenset[int],
    min_score: float | None = None,
    text_counts: bool = True,
) -> list[Scored]:
    """Candidates, best first.

    ``dense`` holds the cosine of every candidate that has a vector, ``near`` those the dense channel itself found:
    only these must reach ``min_score``; what the text found stays.
    """
    keyword = _relative(text) if text_counts else {}
    chosen = set(keyword) | {seq for seq in near if min_score is None or max(0.0, dense[seq]) >= min_score}
    channels = (1 if keyword else 0) + (1 if dense else 0)
    scored = [_scored(seq, keyword.get(seq), dense.get(seq), channels) for seq in chosen]
    # The score is cut off at 0, so that negative cosines tie; there the raw value tells, then what was written last.
    scored.sort(key=lambda item: (-item.score, -dense.get(item.seq, 0.0), -item.seq))
    return scored


def reciprocal(rankings: Sequence[Sequence[int]], k: int = RRF_K) -> dict[int, float]:
    """Reciprocal rank fusion, scaled so that first place everywhere is 1."""
    total: dict[int, float] = {}
    for ranking in rankings:
        for rank, seq in enumerate(ranking, start=1):
            total[seq] = total.get(seq, 0.0) + 1.0 / (k + rank)
    best = len(rankings) / (k + 1) if rankings else 1.0
    return {seq: score / best for seq, score in total.items()}


def _relative(text: Sequence[tuple[int, float]]) -> dict[int, float]:
    best = max((score for _, score in text), default=0.0)
    if best <= 0.0:  # BM25 may be zero or negative for words every row has; matching still counts for something
        return dict.fromkeys((seq for seq, _ in text), 1.0)
    return {seq: max(0.0, score) / best for seq, score in text}


def _scored(seq: int, keyword: float | None, cosine: float | None, channels: int) -> Scored:
    semantic = None if cosine is None else min(1.0, max(0.0, cosine))
    score = ((keyword or 0.0) + (semantic or 0.0)) / max(1, channels)
    return Scored(seq, min(1.0, score), ScoreParts(semantic=semantic, keyword=keyword))
