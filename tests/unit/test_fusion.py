from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.fusion import (
    TextSignalColumns,
    by_ranks,
    calibrate_score,
    fuse_channels,
    reciprocal_rank_fusion,
    with_words,
)

scores = st.floats(-5, 20, allow_nan=False)
cosines = st.floats(-1, 1, allow_nan=False)
seqs = st.integers(1, 30)


def order(text: list[tuple[int, float]], dense: dict[int, float], **rest: object) -> list[tuple[int, float]]:
    found = fuse_channels(text, dense, near=frozenset(dense), **rest)  # type: ignore[arg-type]
    return [(item.seq, round(min(1.0, max(0.0, item.total / item.reach)), 4)) for item in found]


def columns(signals: dict[int, tuple[float, float]]) -> TextSignalColumns:
    """The speaker and asking of some candidates, as the text channel returns them."""
    values = np.array(list(signals.values()), np.float64).reshape(-1, 2)
    return TextSignalColumns(np.array(list(signals), np.int64), values[:, 0], values[:, 1])


@pytest.mark.req("X-6")
def test_the_score_is_the_mean_of_the_channels_that_took_part() -> None:
    assert order([(1, 4.0), (2, 2.0)], {1: 0.2, 2: 0.9}) == [(2, 0.7), (1, 0.6)]
    assert order([(1, 4.0), (2, 2.0)], {}) == [(1, 1.0), (2, 0.5)]
    assert order([], {1: 0.2, 2: 0.9}) == [(2, 0.9), (1, 0.2)]
    assert order([], {}) == []


@pytest.mark.req("X-6", "C-58.4")
def test_where_words_and_meaning_count_the_score_is_the_root_of_that() -> None:
    mixed = fuse_channels([(1, 4.0), (2, 2.0)], {1: 0.2, 2: 0.9}, near=frozenset({1, 2}))
    assert [(item.seq, round(item.score**2, 4)) for item in mixed] == [(2, 0.7), (1, 0.6)]
    alone = fuse_channels([], {1: 0.2, 2: 0.9}, near=frozenset({1, 2}), text_counts=False)
    assert [(item.seq, round(item.score, 4)) for item in alone] == [(2, 0.9), (1, 0.2)]


@pytest.mark.req("X-6")
def test_what_only_one_channel_found_counts_half() -> None:
    assert order([(1, 4.0)], {2: 0.8}) == [(1, 0.5), (2, 0.4)]


@pytest.mark.req("X-6", "N-37")
def test_a_minimum_removes_only_what_the_dense_channel_found() -> None:
    assert order([(1, 4.0)], {1: 0.1, 2: 0.3, 3: 0.6}, min_score=0.5) == [(1, 0.55), (3, 0.3)]
    assert order([(1, 4.0)], {1: 0.1, 3: 0.6}, min_score=0.5, text_counts=False) == [(3, 0.6)]
    assert order([], {1: -0.5}, min_score=0.0) == [(1, 0.0)]


def test_equal_scores_go_to_what_was_written_last() -> None:
    assert [seq for seq, _ in order([], {1: 0.5, 3: 0.5, 2: 0.5})] == [3, 2, 1]


def test_words_that_every_row_has_still_count() -> None:
    assert order([(1, -0.5), (2, -0.1)], {}) == [(2, 1.0), (1, 1.0)]
    assert order([(1, 2.0), (2, -0.1)], {}) == [(1, 1.0), (2, 0.0)]


def test_a_similarity_that_was_only_asked_for_brings_nothing_in() -> None:
    found = fuse_channels([(1, 1.0)], {1: 0.5, 2: 0.9}, near=frozenset())
    assert [(item.seq, item.parts.semantic) for item in found] == [(1, 0.5)]


@pytest.mark.req("X-6")
@given(st.dictionaries(seqs, scores), st.dictionaries(seqs, cosines))
def test_scores_are_within_bounds_and_explained(text: dict[int, float], dense: dict[int, float]) -> None:
    found = fuse_channels(list(text.items()), dense, near=frozenset(dense))
    assert {item.seq for item in found} == set(text) | set(dense)
    assert all(0 <= item.score <= 1 for item in found)
    for item in found:
        assert (item.parts.keyword is not None) == (item.seq in text)
        assert item.parts.semantic is None or item.parts.semantic == max(0.0, dense[item.seq])


def test_below_zero_the_nearer_one_still_comes_first() -> None:
    assert order([], {1: -0.1, 2: -0.5, 3: 0.0}) == [(3, 0.0), (1, 0.0), (2, 0.0)]


@pytest.mark.req("C-9")
def test_the_order_is_that_of_the_scores_shown() -> None:
    visible = [score for _, score in order([(9, 1.0), (1, 0.5)], {1: -0.4, 3: 0.3})]
    assert visible == sorted(visible, reverse=True)


def test_reciprocal_ranks_put_what_all_agree_on_first() -> None:
    total = reciprocal_rank_fusion([[1, 2, 3], [2, 1, 4]])
    assert total[1] == total[2] > total[3] > 0
    assert reciprocal_rank_fusion([[7], [7]]) == {7: pytest.approx(1.0)}
    assert reciprocal_rank_fusion([]) == {}


@pytest.mark.req("N-35")
def test_who_said_it_counts_and_a_question_is_no_answer() -> None:
    answer = columns({1: (1.0, 0.0), 2: (0.0, 1.0)})
    found = fuse_channels([(1, 1.0), (2, 1.0), (3, 1.0)], {}, near=frozenset(), answer=answer)
    assert [item.seq for item in found] == [1, 3, 2]
    assert [round(item.score, 3) for item in found] == [1.0, round(1 / 1.4, 3), round(0.2 / 1.4, 3)]
    assert (found[0].parts.speaker, found[2].parts.asking) == (1.0, 1.0)


def test_what_was_compared_word_by_word_stands_before_the_rest() -> None:
    ranked = fuse_channels([(1, 4.0), (2, 3.0), (3, 2.0)], {}, near=frozenset())
    found = with_words(ranked, {1: 0.2, 2: 0.9})
    assert [item.seq for item in found] == [2, 1, 3]
    assert [item.parts.words for item in found] == [0.9, 0.2, None]
    assert all(0 <= item.score <= 1 for item in found)
    assert [item.seq for item in with_words(found, {})] == [2, 1, 3]


@given(st.dictionaries(seqs, scores, min_size=1), st.dictionaries(seqs, st.floats(0, 1)))
def test_the_order_is_that_of_the_scores(text: dict[int, float], alike: dict[int, float]) -> None:
    ranked = fuse_channels(list(text.items()), {}, near=frozenset())
    best = {item.seq: alike[item.seq] for item in ranked[:5] if item.seq in alike}
    found = with_words(ranked, best)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


@pytest.mark.req("N-4")
def test_reciprocal_ranks_of_both_channels() -> None:
    ranked = fuse_channels([(1, 9.0), (2, 1.0)], {2: 0.9, 3: 0.5}, near=frozenset({2, 3}))
    found = by_ranks(ranked, k=60)
    assert [item.seq for item in found] == [2, 1, 3]
    assert found[0].score == pytest.approx((1 / 62 + 1 / 61) / (2 / 61))
    assert found[0].parts.rrf == found[0].score


signals = st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0, 1))


def plainly(
    text: dict[int, float], dense: dict[int, float], answer: dict[int, tuple[float, float]], named: dict[int, float]
) -> list[tuple[int, float, float]]:
    """The formula, one candidate at a time."""
    best = max(text.values(), default=0.0)
    keyword = {seq: max(0.0, score) / best if best > 0 else 1.0 for seq, score in text.items()}
    chosen = set(keyword) | set(dense) | set(named)
    speaker, asking = ({seq: answer.get(seq, (0.0, 0.0))[at] for seq in chosen} for at in (0, 1))
    reach = bool(keyword) + bool(dense) + (0.4 if any(speaker.values()) else 0.0)
    found = []
    for seq in chosen:
        own = keyword.get(seq, 0.0) + min(1.0, max(0.0, dense.get(seq, 0.0)))
        total = own + 0.4 * speaker[seq] - 0.8 * asking[seq] + 0.4 * named.get(seq, 0.0)
        found.append((seq, min(1.0, max(0.0, total / (reach or 1.0))), dense.get(seq, 0.0)))
    return sorted(found, key=lambda one: (-one[1], -one[2], -one[0]))


@pytest.mark.req("X-6")
@given(
    st.dictionaries(seqs, scores),
    st.dictionaries(seqs, cosines),
    st.dictionaries(seqs, signals),
    st.dictionaries(seqs, st.floats(0, 0.5)),
)
def test_columns_say_what_the_formula_says(
    text: dict[int, float], dense: dict[int, float], answer: dict[int, tuple[float, float]], named: dict[int, float]
) -> None:
    found = fuse_channels(list(text.items()), dense, near=frozenset(dense), answer=columns(answer), entities=named)
    expected = [one[:2] for one in plainly(text, dense, answer, named)]
    assert [one.seq for one in found] == [seq for seq, _ in expected]
    assert [one.score for one in found] == pytest.approx([share**0.5 if dense else share for _, share in expected])
    assert [one.seq for one in found] == found.best(len(found)) == [found[at].seq for at in range(len(found))]


def test_a_ranking_is_looked_at_in_parts() -> None:
    ranked = fuse_channels([(1, 4.0), (2, 3.0), (3, 2.0)], {}, near=frozenset())
    assert [one.seq for one in ranked[1:]] == [2, 3]
    assert (ranked[-1].seq, len(ranked)) == (3, 3)
    with pytest.raises(IndexError):
        _ = ranked[3]


@pytest.mark.req("C-58.4")
@given(st.lists(st.floats(0, 1), min_size=2, max_size=9), st.floats(0.05, 0.95))
def test_a_moved_score_keeps_its_order_and_its_ends(given_scores: list[float], even: float) -> None:
    moved = [calibrate_score(score, even) for score in sorted(given_scores)]
    assert moved == sorted(moved)
    assert all(0.0 <= score <= 1.0 for score in moved)
    assert (calibrate_score(0.0, even), calibrate_score(1.0, even)) == (0.0, 1.0)
    assert calibrate_score(even, even) == pytest.approx(0.5)
