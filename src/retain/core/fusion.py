"""Several rankings into one.

A candidate's total is the sum of what the channels say, each between 0 and 1 and with the weight it has earned on
conversations (docs/guides/recall.md shows what each of them brings):

    keyword / best keyword + cosine + 0.4 speaker - 0.8 asking + 0.4 entity

The best of them are then compared word by word, which adds 1.5 times that similarity. The score is the total over what
could have been reached. Reciprocal ranks are available as another method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retain.model.query import ScoreParts

RRF_K: Final = 60
SPEAKER: Final = 0.4
ASKING: Final = 0.8
WORDS: Final = 1.5
ENTITY: Final = 0.4


@dataclass(slots=True)
class Scored:
    """A candidate with its score in [0, 1] and what it is made of; ``total`` over ``reach`` gives the score."""

    seq: int
    score: float
    parts: ScoreParts
    total: float = 0.0
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """What the text channel knows of a candidate besides its words."""

    speaker: float = 0.0
    asking: float = 0.0


_NOTHING: Final = Told()


def fuse(
    text: Sequence[tuple[int, float]],
    dense: Mapping[int, float],
    *,
    near: frozenset[int],
    min_score: float | None = None,
    text_counts: bool = True,
    told: Mapping[int, Told] | None = None,
    entities: Mapping[int, float] | None = None,
) -> list[Scored]:
    """Candidates, best first.

    ``dense`` holds the cosine of every candidate that has a vector, ``near`` those the dense channel itself found:
    only these must reach ``min_score``; what the text found stays.
    """
    keyword = _relative(text) if text_counts else {}
    chosen = set(keyword) | {seq for seq in near if min_score is None or max(0.0, dense[seq]) >= min_score}
    known, named = told or {}, entities or {}
    chosen |= set(named)
    spoken = any(known.get(seq, _NOTHING).speaker for seq in chosen)
    reach = (1.0 if keyword else 0.0) + (1.0 if dense else 0.0) + (SPEAKER if spoken else 0.0)
    scored = [_scored(seq, keyword.get(seq), dense.get(seq), known.get(seq, _NOTHING), reach or 1.0) for seq in chosen]
    for one in scored:
        if one.seq in named:
            one.parts.entity = named[one.seq]
            one.total += ENTITY * named[one.seq]
            one.score = _clamped(one.total / one.reach)
    # The score is cut off at 0, so that negative cosines tie; there the raw value tells, then what was written last.
    scored.sort(key=lambda item: (-item.score, -dense.get(item.seq, 0.0), -item.seq))
    return scored


def with_words(ranked: Sequence[Scored], similarity: Mapping[int, float]) -> list[Scored]:
    """The ranking after its best were compared word by word; the others stay behind those."""
    if not similarity:
        return list(ranked)
    least = min(similarity.values())
    for one in ranked:
        alike = similarity.get(one.seq)
        one.parts.words = alike
        one.total += WORDS * (least if alike is None else alike)
        one.reach += WORDS
        one.score = _clamped(one.total / one.reach)
    return sorted(ranked, key=lambda one: (-one.total, -one.seq))


def by_ranks(ranked: Sequence[Scored], k: int = RRF_K) -> list[Scored]:
    """The same candidates by reciprocal ranks in the channels that found them, equally weighted."""
    channels = [
        [one.seq for one in sorted(ranked, key=lambda one: -(getattr(one.parts, name) or 0.0)) if _has(one, name)]
        for name in ("keyword", "semantic")
    ]
    scores = reciprocal([ranking for ranking in channels if ranking], k)
    for one in ranked:
        one.parts.rrf = one.score = one.total = scores.get(one.seq, 0.0)
        one.reach = 1.0
    return sorted(ranked, key=lambda one: (-one.score, -one.seq))


def _has(one: Scored, channel: str) -> bool:
    return getattr(one.parts, channel) is not None


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


def _scored(seq: int, keyword: float | None, cosine: float | None, told: Told, reach: float) -> Scored:
    semantic = None if cosine is None else _clamped(cosine)
    total = (keyword or 0.0) + (semantic or 0.0) + SPEAKER * told.speaker - ASKING * told.asking
    parts = ScoreParts(semantic=semantic, keyword=keyword, speaker=told.speaker or None, asking=told.asking or None)
    return Scored(seq, _clamped(total / reach), parts, total, reach)


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
