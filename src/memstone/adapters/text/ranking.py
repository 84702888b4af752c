"""BM25 over a partition, in which the words of neighbouring turns count, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from memstone.adapters.text.partition import TextPartition
from memstone.model.query import WordsQuery
from memstone.ports.index import TextHits

K1: Final = 1.2
B: Final = 0.75
NEXT_TO: Final = 0.5
TWO_AWAY: Final = 0.25
_MARGIN: Final = 8.0  # the words of the day and the speaker, which every row has
_LEAST_IDF: Final = 1e-6
_LINKS: Final = 2  # a memory may be linked to a user in several runs
_NOWHERE: Final = np.zeros(0, dtype=np.int64)


def search_partition(partition: TextPartition, query: WordsQuery) -> TextHits:
    """Return the best rows of the scope, one for each memory, then those of ``also`` that are not among them."""
    if not partition.count:
        return TextHits.of(())
    speaker = partition.shared.speakers.find_code(query.named) if query.named else -1
    places, scores = _find_matches(partition, query) if query.words else (_NOWHERE, _NOWHERE)
    if query.also:
        seqs, others = partition.shared.columns.seqs, _find_places(partition, query.also)
        others = others[~np.isin(seqs[others], seqs[places])]
        places, scores = np.concatenate([places, others]), np.concatenate([scores, np.zeros(len(others))])
    assistant = partition.shared.speakers.find_code(query.assistant) if query.assistant else -1
    return _build_hits(partition, places, scores, speaker, assistant, _query_coverage(partition, query.words, places))


def _find_matches(partition: TextPartition, query: WordsQuery) -> tuple[Any, Any]:
    """Return where the best stand, best first, and their scores."""
    allowed = _allowed_mask(partition, query)
    scores = _bm25_scores(partition, query.words, alone=query.alone)
    matching = np.nonzero(scores > 0 if allowed is None else (scores > 0) & allowed)[0]
    best = _drop_duplicates(partition, _rank_places(scores, matching, _LINKS * query.limit), query.limit)
    return best, scores[best]


def _query_coverage(partition: TextPartition, words: Sequence[str], places: Any) -> Any:
    """Return how much of what a question tells each row holds itself; rare words count more than common ones."""
    shares, total = np.zeros(len(places)), 0.0
    for word in set(words) if len(places) else ():
        holding = _term_weights(partition, word, []) > 0
        weight = float(np.log(1 + (partition.count + 0.5) / (np.count_nonzero(holding) + 0.5)))
        total += weight
        shares += weight * holding[places]
    return shares / total if total else shares


def find_adjacent(partition: TextPartition, seqs: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each memory, those said right before and after it with their distance."""
    return {_seq_at(partition, at): _list_adjacent(partition, at) for at in _find_places(partition, seqs).tolist()}


def word_rarity(partition: TextPartition, word: str) -> float:
    """Return how much a word tells: the fewer memories hold it, the more."""
    places, _ = partition.shared.postings.of(word, partition.rows)
    holding = len(places) if partition.alive is None else int(partition.alive[places].sum())
    return float(np.log(1 + (partition.count - holding + 0.5) / (holding + 0.5)))


def _bm25_scores(partition: TextPartition, words: Sequence[str], *, alone: bool) -> Any:
    scores = np.zeros(partition.rows, dtype=np.float32)
    if not words:
        return scores
    neighbours, norm, own_norm = partition.ready = partition.ready or _prepare_norms(partition)
    if alone:
        neighbours, norm = [], own_norm
    rows = partition.count
    for word in words:
        weight = _term_weights(partition, word, neighbours)
        holding = int(np.count_nonzero(weight))
        if holding:
            idf = max(_LEAST_IDF, float(np.log((rows - holding + 0.5) / (holding + 0.5))))
            scores += idf * weight * (K1 + 1) / (weight + norm)
    return scores


def _prepare_norms(partition: TextPartition) -> tuple[list[tuple[Any, float]], Any, Any]:
    """Return what depends on no word. A state is searched many times, and who comes second finds this."""
    neighbours = _adjacent_columns(partition)
    return neighbours, _length_norm(partition, neighbours), _length_norm(partition, [])


def _adjacent_columns(partition: TextPartition) -> list[tuple[Any, float]]:
    """Return columns that name for each row one beside it (-1: none), and how much that one's words count for it."""
    rows, columns = partition.rows, partition.shared.columns
    before, after = columns.before[:rows].copy(), np.where(columns.after[:rows] < rows, columns.after[:rows], -1)
    if before.max() < 0:
        return []
    second = [np.where(column >= 0, column[column], -1) for column in (before, after)]
    return [(before, NEXT_TO), (after, NEXT_TO), (second[0], TWO_AWAY), (second[1], TWO_AWAY)]


def _length_norm(partition: TextPartition, neighbours: list[tuple[Any, float]]) -> Any:
    """Return what a long text must make up for."""
    own = partition.shared.columns.lengths[: partition.rows]
    lengths = own + _MARGIN
    for column, _ in neighbours:
        lengths = lengths + np.where(column >= 0, own[column], 0)
    mean = lengths.mean() if partition.alive is None else lengths[partition.alive].mean()
    return K1 * (1 - B + B * lengths / mean)


def _term_weights(partition: TextPartition, word: str, neighbours: list[tuple[Any, float]]) -> Any:
    """Return how often each row holds a word: itself, by its day and speaker, and by what stands beside it."""
    shared, rows = partition.shared, partition.rows
    places, counts = shared.postings.of(word, rows)
    own = np.zeros(rows, dtype=np.float32)
    own[places] = counts
    if partition.alive is not None:
        own[~partition.alive] = 0
    weight: Any = own
    if len(places):
        for column, share in neighbours:
            weight = weight + share * np.where(column >= 0, own[column], 0)
    for codes, column in ((shared.days, shared.columns.days), (shared.speakers, shared.columns.speakers)):
        if numbers := codes.with_word(word):
            weight = weight + np.isin(column[:rows], numbers)
    return weight if partition.alive is None else weight * partition.alive


def _allowed_mask(partition: TextPartition, query: WordsQuery) -> Any:
    """Return which rows may be found; None means all."""
    rows, columns, ids = partition.rows, partition.shared.columns, partition.shared.ids
    masks = [] if partition.alive is None else [partition.alive]
    for column, wanted in enumerate((query.scope.agent_id, query.scope.run_id)):
        if wanted:
            masks.append(columns.labels[column, :rows] == ids.find_code(wanted))
    if query.layers:
        masks.append(match_any_code(columns.labels[2, :rows], ids.numbers, query.layers))
    if query.among is not None:
        masks.append(np.isin(columns.seqs[:rows], list(query.among)))
    return np.logical_and.reduce(masks) if masks else None


def match_any_code(column: Any, numbers: dict[str, int], wanted: Sequence[str]) -> Any:
    """Return which rows of a column of numbers stand for one of the wanted texts."""
    table = np.zeros(len(numbers) + 1, dtype=bool)
    table[[numbers[text] for text in wanted if text in numbers]] = True
    return table[column]


def _rank_places(scores: Any, places: Any, limit: int) -> Any:
    """Return the places with the best scores, best first; equal scores: the later row first."""
    if len(places) > limit > 0:
        bound = np.partition(scores[places], len(places) - limit)[len(places) - limit]
        places = places[scores[places] >= bound]
    return places[np.lexsort((-places, -scores[places]))]


def _drop_duplicates(partition: TextPartition, places: Any, limit: int) -> Any:
    """Return the first places, one for each memory: it may be linked more than once."""
    _, first = np.unique(partition.shared.columns.seqs[places], return_index=True)
    return places[np.sort(first)[:limit]]


def _find_places(partition: TextPartition, seqs: Sequence[int]) -> Any:
    if not seqs or not partition.rows:
        return _NOWHERE
    known = partition.shared.columns.seqs[: partition.rows]
    wanted = np.array(seqs, dtype=np.int64)
    places = np.minimum(np.searchsorted(known, wanted), partition.rows - 1)
    return places[known[places] == wanted]


def _list_adjacent(partition: TextPartition, at: int) -> list[tuple[int, int]]:
    columns, found = partition.shared.columns, []
    for column in (columns.before, columns.after):
        beside = at
        for distance in (1, 2):
            beside = int(column[beside])
            if not 0 <= beside < partition.rows:
                break
            found.append((_seq_at(partition, beside), distance))
    return found


def _seq_at(partition: TextPartition, at: int) -> int:
    return int(partition.shared.columns.seqs[at])


def _build_hits(
    partition: TextPartition, places: Any, scores: Any, speaker: int, assistant: int, coverage: Any
) -> TextHits:
    columns = partition.shared.columns
    own = columns.own[places]
    spoken = own & (columns.speakers[places] == speaker)
    scored, speaker, asking = (column.astype(np.float64) for column in (scores, spoken, columns.asking[places]))
    message = own & (columns.speakers[places] == assistant)
    return TextHits(columns.seqs[places], scored, speaker, asking, own, message, coverage)
