from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.adapters.vectors.partition import VectorPartition
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit, DenseHits, TextHit, TextHits
from memstone.ports.ledger import VectorRow

DIM = 4
AGENTS, RUNS, LAYERS = ("", "bot", "cat"), ("", "r1"), ("fact", "turn")


def row(seq: int, vector: Any, agent: str = "", run: str = "", layer: str = "fact") -> VectorRow:
    return VectorRow(seq, agent, run, layer, np.asarray(vector, dtype="<f4").tobytes())


def gone(seq: int) -> VectorRow:
    return VectorRow(seq, "", "", "", None)


def numbered(count: int, start: int = 1) -> list[VectorRow]:
    return [row(seq, direction(seq)) for seq in range(start, start + count)]


def direction(seed: int) -> Any:
    raw = np.random.default_rng(seed).normal(size=DIM)
    return (raw / np.linalg.norm(raw)).astype("<f4")


def query(limit: int = 10, vector: Any = None, *, agent: str = "", run: str = "") -> VectorQuery:
    chosen = direction(0) if vector is None else np.asarray(vector, dtype="<f4")
    return VectorQuery("test:x:4", chosen, limit, Scope(user_id="alice", agent_id=agent, run_id=run))


def seqs(hits: Sequence[DenseHit]) -> list[int]:
    return [hit.seq for hit in hits]


def brute_force(rows: list[VectorRow], asked: VectorQuery) -> list[tuple[int, float]]:
    """Row by row, as the words of the contract say it."""
    best: dict[int, float] = {}
    for one in rows:
        wanted = (asked.scope.agent_id, one.agent_id), (asked.scope.run_id, one.run_id)
        if any(name and name != have for name, have in wanted) or one.vector is None:
            continue
        if (asked.layers and one.layer not in asked.layers) or (asked.among is not None and one.seq not in asked.among):
            continue
        best[one.seq] = float(np.frombuffer(one.vector, "<f4").astype(float) @ asked.vector.astype(float))
    return sorted(best.items(), key=lambda item: (-item[1], -item[0]))[: asked.limit]


links = st.lists(st.tuples(st.sampled_from(AGENTS), st.sampled_from(RUNS)), min_size=1, max_size=4, unique=True)
memories = st.lists(st.tuples(links, st.sampled_from(LAYERS)), max_size=40)


def rows_of(drawn: list[tuple[list[tuple[str, str]], str]]) -> list[VectorRow]:
    return [
        row(seq, direction(seq), agent, run, layer)
        for seq, (places, layer) in enumerate(drawn, start=1)
        for agent, run in places
    ]


@pytest.mark.req("R-5", "X-19")
@given(
    memories,
    st.integers(0, 40),
    st.integers(1, 12),
    st.sampled_from(AGENTS),
    st.sampled_from(RUNS),
    st.sampled_from([(), ("fact",), ("fact", "turn"), ("identity",)]),
    st.none() | st.frozensets(st.integers(1, 45), max_size=20),
)
def test_the_nearest_are_those_of_brute_force_however_the_rows_came_in(
    drawn: list[tuple[list[tuple[str, str]], str]],
    first: int,
    limit: int,
    agent: str,
    run: str,
    layers: tuple[str, ...],
    among: frozenset[int] | None,
) -> None:
    rows = rows_of(drawn)
    start = [one for one in rows if one.seq <= first]
    partition = VectorPartition.of(start, 1, DIM).apply_rows([one for one in rows if one.seq > first], 2)
    if partition is None:  # there was no room; then it is read as a whole
        partition = VectorPartition.of(rows, 2, DIM)
    asked = replace(query(limit, agent=agent, run=run), layers=layers, among=among)
    hits, expected = partition.nearest(asked), brute_force(rows, asked)
    assert seqs(hits) == [seq for seq, _ in expected]
    assert np.allclose([hit.cosine for hit in hits], [cosine for _, cosine in expected], atol=1e-6)


def test_equal_scores_are_cut_in_favour_of_the_later_row() -> None:
    partition = VectorPartition.of([row(seq, [1, 0, 0, 0]) for seq in range(1, 41)], 1, DIM)
    assert seqs(partition.nearest(query(5, [1, 0, 0, 0]))) == [40, 39, 38, 37, 36]


def test_a_partition_without_rows_finds_nothing_and_can_grow() -> None:
    empty = VectorPartition.of([], 0, DIM)
    assert empty.nearest(query()) == []
    grown = empty.apply_rows(numbered(3), 1)
    assert grown is not None
    assert sorted(seqs(grown.nearest(query()))) == [1, 2, 3]


def test_additions_are_not_seen_by_who_reads_the_older_one() -> None:
    old = VectorPartition.of(numbered(5), 1, DIM)
    before = old.nearest(query())
    new = old.apply_rows(numbered(5, start=6), 2)
    assert new is not None
    assert (old.stamp, new.stamp) == (1, 2)
    assert old.nearest(query()) == before
    assert sorted(seqs(new.nearest(query()))) == list(range(1, 11))
    assert new.block is old.block


@pytest.mark.req("R-18", "O-12")
def test_what_left_is_not_found_and_who_reads_the_older_one_is_not_disturbed() -> None:
    old = VectorPartition.of(numbered(20), 1, DIM)
    new = old.apply_rows([gone(3), gone(7)], 2)
    assert new is not None
    assert set(range(1, 21)) - set(seqs(new.nearest(query(50)))) == {3, 7}
    assert len(old.nearest(query(50))) == 20
    newer = new.apply_rows([*numbered(2, start=21), gone(9)], 3)
    assert newer is not None
    assert set(range(1, 23)) - set(seqs(newer.nearest(query(50)))) == {3, 7, 9}


@pytest.mark.req("R-18", "O-12")
def test_also_says_nothing_of_what_left() -> None:
    partition = VectorPartition.of(numbered(20), 1, DIM).apply_rows([gone(3)], 2)
    assert partition is not None
    hits = partition.nearest(replace(query(1), also=(2, 3, 4, 99)))
    assert {hit.seq for hit in hits if hit.extra} == {2, 4} - {hits[0].seq}


def test_a_change_of_a_known_row_asks_for_reading_it_again() -> None:
    partition = VectorPartition.of(numbered(20), 1, DIM)
    assert partition.apply_rows([row(7, direction(7), "bot")], 2) is None


def test_more_than_there_is_room_for_asks_for_reading_it_again() -> None:
    partition = VectorPartition.of(numbered(4), 1, DIM)
    room = len(partition.seqs) - partition.rows
    assert partition.apply_rows(numbered(room, start=5), 2) is not None
    assert VectorPartition.of(numbered(4), 1, DIM).apply_rows(numbered(room + 1, start=5), 2) is None


def test_many_rows_that_left_ask_for_reading_it_again() -> None:
    partition = VectorPartition.of(numbered(20), 1, DIM)
    assert partition.apply_rows([gone(seq) for seq in range(1, 6)], 2) is not None
    assert partition.apply_rows([gone(seq) for seq in range(1, 7)], 2) is None


def test_a_row_that_came_and_went_in_between_changes_nothing() -> None:
    partition = VectorPartition.of(numbered(3), 1, DIM).apply_rows([gone(4)], 2)
    assert partition is not None
    assert sorted(seqs(partition.nearest(query()))) == [1, 2, 3]


def test_it_says_how_much_memory_it_takes() -> None:
    partition = VectorPartition.of(numbered(1000), 1, DIM)
    assert partition.bytes >= 1000 * (DIM * 4 + 8 + 3 * 4)
    assert partition.bytes == sum(array.nbytes for array in (partition.block, partition.seqs, partition.labels))


def test_a_zero_vector_is_found_with_a_score_of_zero() -> None:
    partition = VectorPartition.of([row(1, [0, 0, 0, 0])], 1, DIM)
    assert partition.nearest(query()) == [DenseHit(1, 0.0)]


def test_hits_in_columns_are_the_hits() -> None:
    hits = [DenseHit(3, 0.5), DenseHit(1, 0.25), DenseHit(2, -0.5, extra=True)]
    columns: Sequence[DenseHit] = DenseHits.of(hits)
    assert (columns, list(columns), columns[1], columns[1:]) == (hits, hits, hits[1], hits[1:])
    assert DenseHits.of(columns) is columns
    assert (len(columns), columns != hits[:2]) == (3, True)
    words = [TextHit(3, 2.0, 1.0, 0.5, own_words=True), TextHit(1, 0.0)]
    assert (list(TextHits.of(words)), TextHits.of(words)[0], list(TextHits.of(()))) == (words, words[0], [])
