"""Combine several rankings into one.

A candidate's total is the sum of what the channels say, each between 0 and 1 and with the weight it has earned on
conversations (docs/quality.md shows what each of them brings):

    keyword / best keyword + cosine + 0.4 speaker - 0.8 asking + 0.4 entity

The best of them are then compared word by word, which adds 1.5 times that similarity. Those are the weights of people
who talk to each other; a person and an assistant have others (``PERSON``). Where words and meaning both count, the
score is the root of the total over what could have been reached. Reciprocal ranks are available as another method.

At the end scores are moved (``calibrate_score``), so that one half is where a best hit is as likely to answer as to
have nothing to do with the question. That leaves the order as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from math import log
from typing import Any, Final, TypeAlias, overload

import numpy as np

from memstone.model.query import ScoreParts

RRF_K: Final = 60
HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """How much each channel says, and whether the words beside a memory count for it."""

    keyword: float = 1.0
    speaker: float = 0.4
    asking: float = 0.8
    words: float = 1.5
    entity: float = 0.4
    assistant: float = 0.0
    coverage: float = 0.0
    neighbours: bool = True
    half_score_at: float = HALF
    """Where a score becomes one half, after a comparison word by word; measured with the built-in model."""


PEOPLE: Final = FusionWeights(half_score_at=0.74)
"""Several people who speak by name: chosen on their conversations (docs/quality.md)."""

PERSON: Final = FusionWeights(
    keyword=0.0, coverage=0.1, asking=2.0, words=0.8, entity=0.1, assistant=0.7, neighbours=False, half_score_at=0.57
)
"""One person and an assistant: what the person said is near to what they ask for, an answer is not news, and what only
asks answers nothing: with this weight it stays below one half."""

PERSON_BY_MEANING: Final = replace(PERSON, coverage=1.0, half_score_at=HALF)
"""The same where the model tells no words: then the words that both share are all there is beside meaning."""

_PARTS: Final = tuple(one.name for one in fields(ScoreParts))
_NONE: Final = float("nan")
"""Where a channel has nothing to say."""


@dataclass(slots=True)
class ScoredCandidate:
    """A candidate with its score in [0, 1] and what it is made of; ``total`` over ``reach`` gives the score."""

    seq: int
    score: float
    parts: ScoreParts
    total: float = 0.0
    reach: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A number for each of some candidates, in two columns."""

    seqs: Any
    values: Any

    @classmethod
    def of(cls, numbers_by_candidate: NumbersByCandidate) -> Numbers:
        """Return numbers by candidate as columns, unless they are."""
        if isinstance(numbers_by_candidate, cls):
            return numbers_by_candidate
        pairs = dict(numbers_by_candidate)  # type: ignore[arg-type]  # a mapping, or pairs
        return cls(np.array(list(pairs), np.int64), np.array(list(pairs.values()), np.float64))

    def __len__(self) -> int:
        return len(self.seqs)

    def beside(self, candidates: Any, missing: float = _NONE) -> Any:
        """Return the column of other candidates, which are in the order of their numbers."""
        column = np.full(len(candidates), missing)
        if len(candidates) and len(self):
            places = np.minimum(np.searchsorted(candidates, self.seqs), len(candidates) - 1)
            there = candidates[places] == self.seqs
            column[places[there]] = self.values[there]
        return column


NO_NUMBERS: Final = Numbers(np.zeros(0, np.int64), np.zeros(0))
NumbersByCandidate: TypeAlias = Numbers | Mapping[int, float] | Sequence[tuple[int, float]]
"""Numbers by candidate."""


@dataclass(frozen=True, slots=True, eq=False)
class TextSignalColumns:
    """What the text channel knows of some candidates besides their words, in columns."""

    seqs: Any
    speaker: Any
    asking: Any
    assistant: Any = None
    coverage: Any = None


_NO_SIGNALS: Final = TextSignalColumns(NO_NUMBERS.seqs, NO_NUMBERS.values, NO_NUMBERS.values)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Sequence[ScoredCandidate]):
    """Candidates, best first, in columns: most are never looked at, so one is made only where it is asked for."""

    seqs: Any
    scores: Any
    totals: Any
    reach: float
    parts: Mapping[str, Any]
    """What the scores are made of, by the names of ``ScoreParts``."""

    mixed: bool = False
    """Whether words and meaning both count."""

    def __len__(self) -> int:
        return len(self.seqs)

    @overload
    def __getitem__(self, at: int) -> ScoredCandidate: ...

    @overload
    def __getitem__(self, at: slice) -> list[ScoredCandidate]: ...

    def __getitem__(self, at: int | slice) -> ScoredCandidate | list[ScoredCandidate]:
        if isinstance(at, slice):
            return list(self._build_scored(at))
        place = range(len(self))[at]
        return next(self._build_scored(slice(place, place + 1)))

    def __iter__(self) -> Iterator[ScoredCandidate]:
        return self._build_scored(slice(None))

    def _build_scored(self, part: slice) -> Iterator[ScoredCandidate]:
        seqs = self.seqs[part].tolist()
        parts = map(ScoreParts, *(self._part_values(name, part, len(seqs)) for name in _PARTS))
        return map(
            ScoredCandidate, seqs, self.scores[part].tolist(), parts, self.totals[part].tolist(), repeat(self.reach)
        )

    def _part_values(self, name: str, part: slice, count: int) -> list[float | None]:
        column = self.parts.get(name)
        if column is None:
            return [None] * count
        return [one if one == one else None for one in column[part].tolist()]  # noqa: PLR0124 - NaN is not itself

    def best(self, count: int) -> list[int]:
        """Return the numbers of the first."""
        found: list[int] = self.seqs[:count].tolist()
        return found

    def reorder(self, order: Any) -> Ranking:
        """Return the same candidates in another order."""
        parts = {name: column[order] for name, column in self.parts.items()}
        return Ranking(self.seqs[order], self.scores[order], self.totals[order], self.reach, parts, self.mixed)


def fuse_channels(  # noqa: PLR0913 - by keyword, each what a channel knows
    text: NumbersByCandidate,
    dense: NumbersByCandidate,
    *,
    near: Collection[int],
    min_score: float | None = None,
    text_counts: bool = True,
    answer: TextSignalColumns | None = None,
    entities: NumbersByCandidate | None = None,
    weights: FusionWeights = PEOPLE,
    by_words: bool = False,
) -> Ranking:
    """Return the candidates, best first.

    ``dense`` holds the cosine of every candidate that has a vector, ``near`` those the dense channel itself found:
    only these must reach ``min_score``; what the text found stays. ``by_words`` says that words were looked for: where
    none was found, nothing reaches what it would have with them.
    """
    keyword = _scale_to_best(Numbers.of(text)) if text_counts else NO_NUMBERS
    meaning, named, known = Numbers.of(dense), Numbers.of(entities or ()), answer or _NO_SIGNALS
    seqs = np.unique(np.concatenate([keyword.seqs, _filter_by_cosine(near, meaning, min_score), named.seqs]))
    words, cosines = keyword.beside(seqs), meaning.beside(seqs)
    speaker, asking = (_or_zero(Numbers(known.seqs, column), seqs) for column in (known.speaker, known.asking))
    assistant = np.zeros(len(seqs)) if known.assistant is None else _or_zero(Numbers(known.seqs, known.assistant), seqs)
    coverage = np.zeros(len(seqs)) if known.coverage is None else _or_zero(Numbers(known.seqs, known.coverage), seqs)
    reach = (weights.keyword + weights.coverage) * (by_words or bool(len(keyword))) + bool(len(meaning))
    reach += weights.speaker * bool(speaker.any())
    semantic = _clamp_scores(cosines)
    totals = weights.keyword * _fill_missing(words) + weights.coverage * coverage
    totals += _fill_missing(semantic) + weights.speaker * speaker
    totals -= weights.asking * asking + weights.assistant * assistant
    parts = {"semantic": semantic, "keyword": words, "speaker": _or_none(speaker), "asking": _or_none(asking)}
    if len(named):
        parts["entity"] = named.beside(seqs)
        totals += weights.entity * _fill_missing(parts["entity"])
    mixed = text_counts and bool(len(meaning))
    scores = _compute_scores(totals, reach or 1.0, mixed=mixed)
    # The score is cut off at 0, so that negative cosines tie; there the raw value tells, then what was written last.
    # By the share itself: its root makes two of them equal that hardly differ.
    order = np.lexsort((-seqs, -_fill_missing(cosines), -_clamp_scores(totals / (reach or 1.0))))
    return Ranking(seqs, scores, totals, reach or 1.0, parts, mixed).reorder(order)


def _compute_scores(totals: Any, reach: float, *, mixed: bool) -> Any:
    share = _clamp_scores(totals / reach)
    return np.sqrt(share) if mixed else share


def calibrate_score(score: float, half_score_at: float) -> float:
    """Move a score so that ``half_score_at`` becomes one half; 0 and 1 stay, and so does every order."""
    return score if half_score_at == HALF else score ** (log(HALF) / log(half_score_at))


def _filter_by_cosine(near: Collection[int], cosines: Numbers, least: float | None) -> Any:
    """Return those of ``near`` that come near enough."""
    seqs = np.fromiter(near, np.int64, len(near)) if not isinstance(near, np.ndarray) else near
    if least is None or not len(seqs):
        return seqs
    order = np.argsort(seqs)
    reached = np.maximum(0.0, cosines.beside(seqs[order])) >= least
    return seqs[order][reached]


def with_words(ranked: Ranking, similarity: Mapping[int, float], weight: float = PEOPLE.words) -> Ranking:
    """Return the ranking after its best were compared word by word; the others stay behind those."""
    if not similarity:
        return ranked
    order = np.argsort(ranked.seqs)
    alike = np.empty(len(ranked))
    alike[order] = Numbers.of(similarity).beside(ranked.seqs[order])
    totals = ranked.totals + weight * _fill_missing(alike, min(similarity.values()))
    reach = ranked.reach + weight
    parts = {**ranked.parts, "words": alike}
    order = np.lexsort((-ranked.seqs, -totals))
    scores = _compute_scores(totals, reach, mixed=ranked.mixed)
    return replace(ranked, scores=scores, totals=totals, reach=reach, parts=parts).reorder(order)


def lift_candidates(ranked: Ranking, seqs: Collection[int], place: int, most: int) -> Ranking:
    """Return the ranking with some candidates right behind the first ``place``, in their own order.

    At most so many of them are lifted, those that are best already; who stands before that place stays there.
    """
    if not seqs or len(ranked) <= place + 1:
        return ranked
    behind = np.flatnonzero(np.isin(ranked.seqs[place:], list(seqs)))[:most] + place
    if not len(behind):
        return ranked
    totals, scores = ranked.totals.copy(), ranked.scores.copy()
    for column in (totals, scores):
        column[behind] = np.maximum(column[behind], (column[place - 1] + column[place]) / 2)
    order = np.concatenate([np.arange(place), behind, np.setdiff1d(np.arange(place, len(ranked)), behind)])
    return replace(ranked, scores=scores, totals=totals).reorder(order)


def by_ranks(ranked: Ranking, k: int = RRF_K) -> Ranking:
    """Return the same candidates by reciprocal ranks in the channels that found them, equally weighted."""
    channels = [_rank_channel(ranked.seqs, ranked.parts[name]) for name in ("keyword", "semantic")]
    found = reciprocal_rank_fusion([ranking for ranking in channels if ranking], k)
    scores = np.array([found.get(seq, 0.0) for seq in ranked.seqs.tolist()], dtype=np.float64)
    order = np.lexsort((-ranked.seqs, -scores))
    parts = {**ranked.parts, "rrf": scores}
    return replace(ranked, scores=scores, totals=scores, reach=1.0, parts=parts).reorder(order)


def _rank_channel(seqs: Any, column: Any) -> list[int]:
    """Return those a channel had something to say of, best first."""
    stored = ~np.isnan(column)
    found: list[int] = seqs[stored][np.argsort(-column[stored], kind="stable")].tolist()
    return found


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]], k: int = RRF_K) -> dict[int, float]:
    """Return the reciprocal rank fusion, scaled so that first place everywhere is 1."""
    total: dict[int, float] = {}
    for ranking in rankings:
        for rank, seq in enumerate(ranking, start=1):
            total[seq] = total.get(seq, 0.0) + 1.0 / (k + rank)
    best = len(rankings) / (k + 1) if rankings else 1.0
    return {seq: score / best for seq, score in total.items()}


def _scale_to_best(text: Numbers) -> Numbers:
    best = text.values.max() if len(text) else 0.0
    if best <= 0.0:  # BM25 may be zero or negative for words every row has; matching still counts for something
        return Numbers(text.seqs, np.ones(len(text)))
    return Numbers(text.seqs, np.maximum(text.values, 0.0) / best)


def _or_zero(numbers: Numbers, seqs: Any) -> Any:
    """Return a column that mostly says nothing."""
    return numbers.beside(seqs, 0.0) if numbers.values.any() else np.zeros(len(seqs))


def _fill_missing(column: Any, value: float = 0.0) -> Any:
    return np.where(np.isnan(column), value, column)


def _or_none(column: Any) -> Any:
    return np.where(column == 0.0, _NONE, column)


def _clamp_scores(values: Any) -> Any:
    return np.clip(values, 0.0, 1.0)
