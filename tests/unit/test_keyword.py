from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.text.bm25 import by_keywords
from memstone.model.memory import FoundMemory, Link, Record
from memstone.model.scope import Scope


def row(seq: int, text: str, key: str | None = None, day: int = 1, **metadata: Any) -> FoundMemory:
    when = f"2026-05-{day:02}T00:00:00.000000Z"
    record = Record(str(seq), text, "", when, when, when, when, when, seq=seq, key=key, metadata=metadata)
    return FoundMemory(record, Link(Scope("default", "mia"), when))


def keyword_points(query: str, text: str, key: str | None = None, metadata: dict[str, Any] | None = None) -> int:
    """The points of a single row."""
    return sum(points for _, points in by_keywords(query, [row(1, text, key, **(metadata or {}))]))


def ranked(query: str, *rows: FoundMemory) -> list[tuple[int, int]]:
    return [(found.record.seq, points) for found, points in by_keywords(query, rows)]


@pytest.mark.req("O-49")
@pytest.mark.parametrize(
    ("query", "points"),
    [
        ("green tea", 20 + 3 + 3),
        ("tea green", 3 + 3),
        ("tea", 20 + 3),
        ("GREEN Tea", 20 + 3 + 3),
        ("  green tea \n", 20 + 3 + 3),
        ("coffee", 0),
        ("green coffee", 3),
        ("green, green - green!", 3),
        ("ee", 20 + 3),
    ],
)
def test_points_in_the_text(query: str, points: int) -> None:
    assert keyword_points(query, "Likes Green Tea") == points


@pytest.mark.req("O-49")
def test_every_occurrence_counts_in_text_and_metadata() -> None:
    assert keyword_points("tea", "tea, tea and more tea") == 20 + 3 * 3
    assert keyword_points("tea", "drinks", metadata={"kind": "Tea", "tea": 1}) == 20 + 2 * 3
    assert keyword_points("tea", "tea", metadata={"kind": "tea"}) == 20 + 2 * 3
    assert keyword_points("köln", "", metadata={"city": "Köln"}) == 20 + 3


@pytest.mark.req("O-49")
def test_a_word_in_the_key_counts_six_and_nothing_more() -> None:
    assert keyword_points("tea", "tea tea tea", key="preference:TEA") == 20 + 6
    assert keyword_points("green tea", "green green", key="preference:tea") == 6 + 2 * 3
    assert keyword_points("preference:green_tea", "x", key="preference:green_tea") == 20 + 6


@pytest.mark.req("O-49")
def test_the_whole_query_is_not_found_across_two_fields() -> None:
    assert keyword_points("green tea", "it is green", key="tea time", metadata={"a": "b"}) == 3 + 6


@pytest.mark.req("O-49")
@pytest.mark.parametrize("query", [".*", "(a+)+$", "[", "\\", "te?a", "t.a", "%", "_"])
def test_a_query_is_never_a_pattern(query: str) -> None:
    assert keyword_points(query, "teaa and tea") == 0
    assert keyword_points(query, f"before{query}after") >= 20


def test_one_latin_letter_alone_is_no_word_but_a_chinese_one_is() -> None:
    assert keyword_points("a tea", "a banana") == 0
    assert keyword_points("茶 ?", "喝茶") == 3
    assert keyword_points("c", "writes C") == 20


@pytest.mark.req("O-50")
def test_rows_without_any_point_are_dropped() -> None:
    assert ranked("tea", row(1, "coffee"), row(2, "tea"), row(3, "milk")) == [(2, 23)]
    assert ranked("tea") == []


@pytest.mark.req("O-51")
def test_more_points_come_first_then_what_is_newer() -> None:
    rows = [row(1, "tea", day=1), row(2, "tea tea", day=1), row(3, "tea", day=3), row(4, "tea", day=2)]
    assert ranked("tea", *rows) == [(2, 26), (3, 23), (4, 23), (1, 23)]
    assert ranked("tea", row(1, "tea"), row(2, "tea")) == [(2, 23), (1, 23)]


def test_without_a_query_every_row_comes_newest_first() -> None:
    assert ranked(" ", row(1, "tea", day=1), row(2, "milk", day=3), row(3, "", day=2)) == [(2, 0), (3, 0), (1, 0)]


@pytest.mark.req("O-50", "O-51")
@given(
    st.lists(st.tuples(st.text("tea ä*", max_size=8), st.integers(1, 28)), max_size=8), st.text("tea ä*", max_size=5)
)
def test_any_rows_come_in_order_and_only_with_points(rows: list[tuple[str, int]], query: str) -> None:
    found = by_keywords(query, [row(seq, text, day=day) for seq, (text, day) in enumerate(rows)])
    order = [(points, one.record.created_at) for one, points in found]
    assert order == sorted(order, reverse=True)
    remaining = {one.record.seq for one, _ in found}
    assert remaining == {seq for seq, (text, _) in enumerate(rows) if not query.strip() or keyword_points(query, text)}
