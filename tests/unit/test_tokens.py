from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.text.normal import estimate_tokens


@pytest.mark.req("O-57", "X-27")
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("a" * 400, 100), (" ", 1)])
def test_four_characters_are_a_token_and_the_rest_counts_as_one(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.req("O-57")
def test_characters_are_counted_and_not_bytes() -> None:
    assert estimate_tokens("\u6771\u4eac\u90fd\U0001f600") == 1


@pytest.mark.req("O-57")
@pytest.mark.parametrize("value", [None, 0, 12, b"bytes", ["a"], {"text": "a"}])
def test_what_is_not_text_has_no_tokens(value: object) -> None:
    assert estimate_tokens(value) == 0


@pytest.mark.req("O-57")
@given(st.text(), st.text())
def test_a_whole_costs_no_more_than_its_parts(left: str, right: str) -> None:
    assert estimate_tokens(left + right) <= estimate_tokens(left) + estimate_tokens(right)
