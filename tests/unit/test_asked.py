from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.talk.asked import only_asked, sentences_at

pytestmark = pytest.mark.req("R-32")


def asked(text: str, words: str) -> bool:
    at = text.index(words)
    return only_asked(text, at, at + len(words))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Do I like tea?", "like tea"),
        ("Is it cold in Oslo?", "Oslo"),
        ("Should I move to Oslo, or Bergen?", "move to Oslo"),
        ("If I'm vegan, what do I eat?", "I'm vegan"),
        ("Really...?! I love it.", "Really"),
        ('Who said "I like tea?"', "like tea"),
        ("I live in Oslo?", "live in Oslo"),
        ("\u00bfVivo en Oslo, o no?", "Vivo en Oslo"),
        ("\u79c1\u306f\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u304b\uff1f", "\u6771\u4eac"),
        ("Is it cold? Is it far to Rome? I am tired.", "cold? Is it far to Rome"),
    ],
)
def test_what_stands_in_a_question_is_only_asked(text: str, words: str) -> None:
    assert asked(text, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I like tea.", "like tea"),
        ("I like tea", "like tea"),
        ("Is it cold? I live in Oslo.", "I live in Oslo"),
        ("Is it cold? I live in Oslo.", "cold? I live"),
        ("What do I eat?\nI like tea", "like tea"),
        ("I'm vegetarian, what can I cook?", "vegetarian"),
        ("I'm vegetarian, what can I cook?", "I'm vegetarian, what can I cook"),
        ("I live in Oslo, right?", "live in Oslo"),
        ("I moved to Oslo last May \u2014 did I tell you?", "moved to Oslo"),
        ("Since I'm vegan, what do I eat?", "I'm vegan"),
        ("What should I cook, given that I'm vegan?", "I'm vegan"),
        ("Did I mention that I love tea?", "love tea"),
        ("You know that I love tea, don't you?", "love tea"),
        ("Ich wohne in K\u00f6ln, kennst du ein Caf\u00e9?", "wohne in K\u00f6ln"),
        ("I paid 3.5 euros. Ok?", "3.5 euros"),
    ],
)
def test_what_is_stated_is_not_even_if_the_sentence_ends_with_a_question(text: str, words: str) -> None:
    assert not asked(text, words)


@given(st.text(alphabet="ab .,?!\n", max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_every_stretch_lies_in_the_sentences_it_touches(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    found = sentences_at(text, start, end)
    assert all(first <= last <= len(text) for first, last in found)
    if start < end:
        assert found[0][0] <= start
        assert found[-1][1] >= end
