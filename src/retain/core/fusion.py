"""Several rankings into one.

A candidate's total is the sum of what the channels say, each between 0 and 1 and with the weight it has earned on
conversations (docs/guides/recall.md shows what each of them brings):

    keyword / best keyword + cosine + 0.4 speaker - 0.8 asking + 0.4 entity

The best of them are then compared word by word, which adds 1.5 times that similarity. The score is the total over what
could have been reached. Reciprocal ranks are available as another method.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from math import isnan
from typing import Any, Final, Protocol, overload

import numpy as np

from retain.model.query import ScoreParts

RRF_K: Final = 60
SPEAKER: Final = 0.4
ASKING: Final = 0.8
WORDS: Final = 1.5
ENTITY: Final = 0.4
_PARTS: Final = tuple(one.name for one in fields(ScoreParts))
_NONE: Final = float("nan")
"""Where a channel has nothing to say."""


@dataclass(slots=True)
class Scored:
    """A candidate with its score in [0, 1] and what it is made of; ``total`` over ``reach`` gives the score."""

    seq: int
    score: float
    parts: ScoreParts
    total: float = 0.0
    reach: float = 1.0


class Features(Protocol):
    """What the text channel knows of a candidate besides its words."""

    @property
    def speaker(self) -> float: ...  # noqa: D102 - the class says it

    @property
    def asking(self) -> float: ...  # noqa: D102 - the class says it


@dataclass(frozen=True, slots=True)
class Told:
    """What the text channel knows of a candidate besides its words."""

    speaker: float = 0.0
    asking: float = 0.0


_NOTHING: Final = Told()


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Sequence[Scored]):
    """Candidates, best first, in columns: most are never looked at, so one is made only where it is asked for."""

    seqs: Any
    scores: Any
    totals: Any
    reach: float
    parts: Mapping[str, Any]
    """What the scores are made of, by the names of ``ScoreParts``."""

    def __len__(self) -> int:
        return len(self.seqs)

    @overload
    def __getitem__(self, at: int) -> Scored: ...

    @overload
    def __getitem__(self, at: slice) -> list[Scored]: ...

    def __getitem__(self, at: int | slice) -> Scored | list[Scored]:
        if isinstance(at, slice):
            return list(self._made(at))
        place = range(len(self))[at]
        return next(self._made(slice(place, place + 1)))

    def __iter__(self) -> Iterator[Scored]:
        return self._made(slice(None))

    def _made(self, part: slice) -> Iterator[Scored]:
        seqs = self.seqs[part].tolist()
        parts = map(ScoreParts, *(self._told(name, part, len(seqs)) for name in _PARTS))
        return map(Scored, seqs, self.scores[part].tolist(), parts, self.totals[part].tolist(), repeat(self.reach))

    def _told(self, name: str, part: slice, count: int) -> list[float | None]:
        column = self.parts.get(name)
        return [None] * count if column is None else [None if isnan(one) else one for one in column[part].tolist()]

    def best(self, count: int) -> list[int]:
        """The numbers of the first."""
        found: list[int] = self.seqs[:count].tolist()
        return found

    def ordered(self, order: Any) -> Ranking:
        """The same candidates in another order."""
        parts = {name: column[order] for name, column in self.parts.items()}
        return Ranking(self.seqs[order], self.scores[order], self.totals[order], self.reach, parts)


def fuse(
    text: Sequence[tuple[int, float]],
    dense: Mapping[int, float],
    *,
    near: Collection[int],
    min_score: float | None = None,
    text_counts: bool = True,
    told: Mapping[int, Features] | None = None,
    entities: Mapping[int, float] | None = None,
) -> Ranking:
    """Candidates, best first.

    ``dense`` holds the cosine of every candidate that has a vector, ``near`` those the dense channel itself found:
    only these must reach ``min_score``; what the text found stays.
    """
    keyword = _relative(text) if text_counts else {}
    found = near if min_score is None else [seq for seq in near if max(0.0, dense[seq]) >= min_score]
    known, named = told or {}, entities or {}
    chosen = list({*keyword, *found, *named})
    features = [known.get(seq, _NOTHING) for seq in chosen]
    words, cosines = _column(chosen, keyword), _column(chosen, dense)
    speaker, asking = np.array([one.speaker for one in features]), np.array([one.asking for one in features])
    reach = (1.0 if keyword else 0.0) + (1.0 if dense else 0.0) + (SPEAKER if speaker.any() else 0.0)
    semantic = _clamped(cosines)
    totals = _filled(words) + _filled(semantic) + SPEAKER * speaker - ASKING * asking
    parts = {"semantic": semantic, "keyword": words, "speaker": _or_none(speaker), "asking": _or_none(asking)}
    if named:
        parts["entity"] = _column(chosen, named)
        totals += ENTITY * _filled(parts["entity"])
    scores, seqs = _clamped(totals / (reach or 1.0)), np.array(chosen, dtype=np.int64)
    # The score is cut off at 0, so that negative cosines tie; there the raw value tells, then what was written last.
    order = np.lexsort((-seqs, -_filled(cosines), -scores))
    return Ranking(seqs, scores, totals, reach or 1.0, parts).ordered(order)


def with_words(ranked: Ranking, similarity: Mapping[int, float]) -> Ranking:
    """The ranking after its best were compared word by word; the others stay behind those."""
    if not similarity:
        return ranked
    alike = _column(ranked.seqs.tolist(), similarity)
    totals = ranked.totals + WORDS * _filled(alike, min(similarity.values()))
    reach = ranked.reach + WORDS
    parts = {**ranked.parts, "words": alike}
    order = np.lexsort((-ranked.seqs, -totals))
    return replace(ranked, scores=_clamped(totals / reach), totals=totals, reach=reach, parts=parts).ordered(order)


def by_ranks(ranked: Ranking, k: int = RRF_K) -> Ranking:
    """The same candidates by reciprocal ranks in the channels that found them, equally weighted."""
    channels = [_order(ranked.seqs, ranked.parts[name]) for name in ("keyword", "semantic")]
    found = reciprocal([ranking for ranking in channels if ranking], k)
    scores = np.array([found.get(seq, 0.0) for seq in ranked.seqs.tolist()], dtype=np.float64)
    order = np.lexsort((-ranked.seqs, -scores))
    parts = {**ranked.parts, "rrf": scores}
    return replace(ranked, scores=scores, totals=scores, reach=1.0, parts=parts).ordered(order)


def _order(seqs: Any, column: Any) -> list[int]:
    """Those a channel had something to say of, best first."""
    kept = ~np.isnan(column)
    found: list[int] = seqs[kept][np.argsort(-column[kept], kind="stable")].tolist()
    return found


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
    return {seq: score / best if score > 0.0 else 0.0 for seq, score in text}


def _column(seqs: Sequence[int], values: Mapping[int, float]) -> Any:
    return np.array([values.get(seq, _NONE) for seq in seqs], dtype=np.float64)


def _filled(column: Any, value: float = 0.0) -> Any:
    return np.where(np.isnan(column), value, column)


def _or_none(column: Any) -> Any:
    return np.where(column == 0.0, _NONE, column)


def _clamped(values: Any) -> Any:
    return np.clip(values, 0.0, 1.0)
