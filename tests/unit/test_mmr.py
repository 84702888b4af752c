from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.mmr import select_by_mmr
from memstone.errors import InvalidInput

Item = tuple[int, float, str]

texts = st.lists(st.sampled_from(["tea", "green", "drinks", "drinking", "Oslo", "🎉"]), max_size=5).map(" ".join)
scores = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-5, 5))
candidates = st.lists(st.tuples(scores, texts), max_size=12).map(
    lambda rows: [(place, score, text) for place, (score, text) in enumerate(rows)]
)


def pieces(text: str) -> set[str]:
    """The four-character runs of a text's words, spelled out."""
    found: set[str] = set()
    for word in "".join(char if char.isalnum() else " " for char in text.casefold()).split():
        found |= {word[at : at + 4] for at in range(len(word) - 3)} or {word}
    return found or {text.casefold()}


def by_the_book(items: list[Item], limit: int, weight: float) -> list[int]:
    """The definition: every step looks at every pair."""
    least, best = min((item[1] for item in items), default=0.0), max((item[1] for item in items), default=0.0)
    chosen: list[Item] = []
    left = list(items)

    def worth(item: Item) -> float:
        score = (item[1] - least) / (best - least) if best > least else 1.0
        own = pieces(item[2])
        alike = [len(own & pieces(other[2])) / len(own | pieces(other[2])) for other in chosen]
        return weight * score - (1 - weight) * max(alike, default=0.0)

    while left and len(chosen) < limit:
        chosen.append(max(left, key=lambda item: (worth(item), -item[0])))
        left.remove(chosen[-1])
    return [item[0] for item in chosen]


def test_a_text_that_says_the_same_again_is_pushed_back() -> None:
    hits = [
        ("first", 0.90, "Mia likes green tea"),
        ("again", 0.89, "Mia likes green tea."),
        ("other", 0.85, "Mia moved to Oslo in May"),
        ("far", 0.20, "the printer is broken"),
    ]
    assert select_by_mmr(hits, 4) == ["first", "other", "again", "far"]
    assert select_by_mmr(hits, 2) == ["first", "other"]


def test_a_much_better_score_outweighs_likeness() -> None:
    hits = [("first", 0.90, "likes green tea"), ("again", 0.89, "likes green tea"), ("far", 0.10, "lives in Oslo")]
    assert select_by_mmr(hits, 3) == ["first", "again", "far"]


def test_words_count_by_their_parts_case_and_order_aside() -> None:
    hits = [("first", 1.0, "She teaches swimming"), ("alike", 0.9, "swimming TEACHER"), ("other", 0.87, "plays chess")]
    assert select_by_mmr([*hits, ("least", 0.0, "x")], 3) == ["first", "other", "alike"]


def test_a_text_without_words_is_like_itself() -> None:
    hits = [("first", 1.0, "🎉🎉"), ("again", 1.0, "🎉🎉"), ("other", 0.9, "❤"), ("least", 0.0, "x")]
    assert select_by_mmr(hits, 3) == ["first", "other", "again"]


def test_with_the_whole_weight_on_scores_only_they_decide() -> None:
    assert select_by_mmr([("b", 0.5, "same"), ("a", 0.7, "same"), ("c", 0.5, "same")], 9, weight=1.0) == ["a", "b", "c"]


def test_with_no_weight_on_scores_only_difference_decides() -> None:
    hits = [("first", 0.1, "green tea"), ("again", 0.9, "green tea"), ("other", 0.0, "Oslo")]
    assert select_by_mmr(hits, 3, weight=0.0) == ["first", "other", "again"]


def test_nothing_gives_nothing() -> None:
    nothing: list[Item] = []
    assert select_by_mmr(nothing, 5) == []
    assert select_by_mmr([(1, 0.5, "tea")], 0) == []


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_a_weight_out_of_range_is_refused(weight: float) -> None:
    with pytest.raises(InvalidInput):
        select_by_mmr([(1, 0.5, "tea")], 1, weight=weight)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    with pytest.raises(InvalidInput):
        select_by_mmr([(1, 0.5, "tea"), (2, score, "tea")], 1)


@given(candidates, st.integers(0, 14), st.sampled_from([0.0, 0.25, 0.5, 0.85, 1.0]))
def test_the_short_cut_chooses_what_the_definition_chooses(items: list[Item], limit: int, weight: float) -> None:
    assert select_by_mmr(items, limit, weight) == by_the_book(items, limit, weight)


@given(candidates, st.integers(0, 14))
def test_fewer_are_the_beginning_of_more_and_each_comes_once(items: list[Item], limit: int) -> None:
    everything = select_by_mmr(items, len(items))
    assert sorted(everything) == [item[0] for item in items]
    assert select_by_mmr(items, limit) == everything[:limit]
