"""Where a quote stands in a text, letter by letter or almost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.llm.evidence import Source


def test_every_place_of_a_quote_is_found() -> None:
    source = Source("tea, TEA and steak, then tea")
    assert [source.text[slice(*span)] for span in source.places("tea")] == ["tea", "TEA", "tea"]
    assert [source.text[slice(*span)] for span in source.places("tea ... tea")] == [
        "tea, TEA",
        "TEA and steak, then tea",
    ]
    assert list(source.places("")) == []
    assert list(source.places("coffee")) == []


@given(st.text(alphabet="ab c.\n\u2019'\u00a0", min_size=1, max_size=60), st.data())
def test_every_run_of_words_is_found_where_it_stands_or_where_the_same_words_stand(
    said: str, data: st.DataObject
) -> None:
    words = said.split()
    first = data.draw(st.integers(0, len(words)))
    quote = " ".join(words[first : data.draw(st.integers(first, len(words)))])
    span = Source(said).find(quote)
    if any(char.isalnum() for char in quote):
        assert span is not None
        assert said[slice(*span)].replace("\u2019", "'").split()[0].strip("'.") in quote.replace("\u2019", "'")


@pytest.mark.parametrize(
    ("said", "quote", "near"),
    [
        ("i dont realy drink coffe anymore, ok", "I don't really drink coffee anymore", True),
        ("its the 7th, not the 8th", "it's the 7th", True),
        (
            "\u6765\u9031\u306e\u706b\u66dc\u65e5\u306b\u6b6f\u533b\u8005",
            "\u6765\u9031\u706b\u66dc\u65e5\u306b\u6b6f\u533b\u8005",
            True,
        ),
        ("what is the capital of France?", "I bought a boat in Hamburg", False),
        ("", "tea", False),
        ("tea", "", False),
    ],
)
def test_a_mended_typo_does_no_harm(said: str, quote: str, *, near: bool) -> None:
    score, start, end = Source(said).nearest(quote)
    assert (score >= 0.7) is near
    assert 0 <= start <= end <= len(said)


@given(st.text(max_size=80), st.text(max_size=30))
def test_how_near_a_quote_is_lies_between_nothing_and_all(said: str, quote: str) -> None:
    score, start, end = Source(said).nearest(quote)
    assert 0.0 <= score <= 1.0
    assert 0 <= start <= end <= len(said)
