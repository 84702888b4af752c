from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.text.bm25 import score_bm25

words = st.sampled_from(["tea", "milk", "ski", "oslo"])


def test_rare_words_weigh_more_and_long_texts_less() -> None:
    rare, common, neither = score_bm25(["tea", "milk"], [["tea", "x"], ["milk", "x"], ["milk", "y"]])
    assert rare > common == pytest.approx(neither)
    short, long = score_bm25(["tea"], [["tea"], ["tea", *["x"] * 20]])
    assert short > long > 0


def test_more_of_a_word_counts_more_but_ever_less() -> None:
    once, twice, often = score_bm25(["tea"], [["tea", "x", "x"], ["tea", "tea", "x"], ["tea", "tea", "tea"]])
    assert once < twice < often
    assert twice - once > often - twice


def test_nothing_to_look_for_or_to_look_in() -> None:
    assert score_bm25([], [["tea"]]) == [0.0]
    assert score_bm25(["tea"], []) == []
    assert score_bm25(["tea"], [[]]) == [0.0]


@given(st.lists(words, max_size=4), st.lists(st.lists(words, max_size=6), max_size=6))
def test_only_what_has_a_word_scores(query: list[str], documents: list[list[str]]) -> None:
    found = score_bm25(query, documents)
    assert len(found) == len(documents)
    for score, document in zip(found, documents, strict=True):
        assert (score > 0) == bool(set(query) & set(document))
