"""Excerpts: a bounded part of one line, around the place where the words of a question stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.prompt.inject import EXCERPT_CHARS, cut_excerpt, place_of
from memstone.language.text.tokens import document_terms, query_terms


@pytest.mark.req("S-30")
def test_an_excerpt_is_cut_at_220_characters_with_an_ellipsis() -> None:
    assert cut_excerpt("a" * 220) == "a" * 220
    assert cut_excerpt("a" * 221) == "a" * 220 + "…"


@pytest.mark.req("S-30")
@given(st.text(), st.integers(0, 2_000), st.text(max_size=600))
def test_an_excerpt_is_a_bounded_part_of_one_line(before: str, match: int, after: str) -> None:
    text = before * 3 + after
    cut = cut_excerpt(text, match)
    assert len(cut.strip("…")) <= EXCERPT_CHARS
    assert cut.splitlines() in ([], [cut])
    if "…" not in text:
        assert cut.strip("…") in " ".join(text.split())


@pytest.mark.req("S-30")
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("the locker codes", "The locker code is under the blue mat."),
        ("Größere Straße", "Sie wohnt in der Größeren Straße über dem Bäcker."),
        ("咖啡机", "我的咖啡机坏了要送去东京修理。"),
        ("мои ключи", "Я забыла мои ключи дома."),
    ],
)
def test_an_excerpt_of_a_long_turn_shows_the_place_that_matches(question: str, said: str) -> None:
    text = "so we talked on and on. " * 40 + f"{said} " + "and on. " * 40
    cut = cut_excerpt(text, place_of(text, query_terms(question)))
    assert said in cut
    assert cut.startswith("…")
    assert cut.endswith("…")


def test_an_excerpt_shows_the_place_where_most_of_the_words_are() -> None:
    text = "The code works. " + "So we talked. " * 40 + "The code of the locker is 4471. " + "On and on. " * 40
    assert "4471" in cut_excerpt(text, place_of(text, query_terms("What is the locker code?")))


@given(
    st.lists(st.sampled_from(["Locker", "codes", "code,", "key", "talked", "on", "\n", "(mat)", "x.y"]), max_size=250),
    st.lists(st.sampled_from(["locker", "code", "key", "mat", "elsewhere"]), max_size=4),
)
def test_the_place_is_the_first_with_most_different_words_close_together(said: list[str], asked: list[str]) -> None:
    text, words = " ".join(said), query_terms(" ".join(asked))
    found = [
        (one.start(), term) for one in re.finditer(r"\S+", text) for term in document_terms(one[0]) if term in words
    ]
    close = {at: len({term for there, term in found if at <= there < at + 160}) for at, _ in reversed(found)}
    best = min(close, key=lambda at: (-close[at], at), default=0)
    assert place_of(text, words) == (best if len(text) > EXCERPT_CHARS else 0)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("The harbour crane has moved again. " * 1_400, 100),
        ("\u00dcber den Hafenkran harbour spricht niemand. " * 1_000, 100),
        ("harbour-" * 6_000, EXCERPT_CHARS),
        ("\u6211\u559c\u6b22\u559d\u8336\u3002" * 8_000, 100),
        ("crane " * 1_000_000, 100),
    ],
    ids=["sentences", "accents", "without end", "without blanks", "very long"],
)
def test_of_a_long_text_little_is_analysed(monkeypatch: pytest.MonkeyPatch, text: str, most: int) -> None:
    analysed: list[str] = []

    def counted(sentence: str) -> list[str]:
        analysed.append(sentence)
        return document_terms(sentence)

    monkeypatch.setattr("memstone.core.prompt.inject.document_terms", counted)
    words = [*query_terms("harbour crane \u559d\u8336"), "nowhere"]
    place_of(text, words)
    assert 0 < sum(map(len, analysed)) <= most


@given(st.text(max_size=800), st.text(max_size=40))
def test_a_place_is_within_the_text_whatever_it_holds(text: str, question: str) -> None:
    assert 0 <= place_of(text, query_terms(question)) <= len(text)
