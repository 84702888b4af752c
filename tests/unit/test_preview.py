from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.redact import PREVIEW_CHARS as MOST
from memstone.core.redact import preview_text


@pytest.mark.req("N-25", "R-38")
@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("write to alice@example.org today", "alice@example.org"),
        ("see https://example.org/path?q=1 for more", "example.org"),
        ("the token=ghp_abcdefghijklmnopqrstuv0123456789 works", "ghp_"),
        ("her password is hunter2x!", "hunter2x"),
        ("her SSN is 536-22-8741", "536-22-8741"),
        ("the account is 1234567890123", "1234567890123"),
        ("the account is 1234567890123456789", "1234567890123456789"),
        ("call +1 212 555 0123 at noon", "555 0123"),
    ],
)
def test_a_preview_shows_no_address_no_secret_and_no_number_of_a_person(text: str, gone: str) -> None:
    assert gone not in preview_text(text)
    assert "[redacted:" in preview_text(text)


def test_a_long_text_is_cut_between_words_and_never_in_a_mask() -> None:
    assert preview_text("short and sweet") == "short and sweet"
    cut = preview_text("word " * 100)
    assert cut.endswith("word …")
    assert len(cut) <= MOST + 2
    for before in range(MOST - 30, MOST + 1):
        output = preview_text("x" * before + " alice@example.org and more " + "y" * 300)
        assert output.count("[redacted:") == output.count("]")


@pytest.mark.req("N-25")
@given(st.text(max_size=900))
def test_a_preview_is_never_longer_than_allowed(text: str) -> None:
    assert len(preview_text(text)) <= MOST + 2
