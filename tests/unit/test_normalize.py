from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.text.normal import normal_text

SAME = [
    ("I like tea", "i  LIKE\ttea\n"),
    ("I like tea", "I like tea."),
    ("I like tea", "  I like tea ... !! "),
    ("I don't smoke", "I don\u2019t smoke"),
    ('the "best" day', "the \u201cbest\u201d day"),
    ("caf\u00e9", "cafe\u0301"),
    ("Stra\u00dfe", "STRASSE"),
    ("full width", "\uff46\uff55\uff4c\uff4c \uff57\uff49\uff44\uff54\uff48\uff01"),
    ("no-break blank", "no-break\u00a0blank"),
    ("password", "pass\u200bword"),
    ("\u79c1\u306f\u5b66\u751f\u3067\u3059", "\u79c1\u306f\u5b66\u751f\u3067\u3059\u3002"),
]
DIFFERENT = [
    ("I like tea", "I like tea?"),
    ("I like tea", "I like teas"),
    ("I like tea", "I, like tea"),
    ("cafe", "caf\u00e9"),
    ("version 3.1", "version 31"),
    ("!", "."),
    ("C", "C#"),
    ("C", "C++"),
]


@pytest.mark.req("X-12")
@pytest.mark.parametrize(("left", "right"), SAME)
def test_variants_of_one_text_have_one_normal_form(left: str, right: str) -> None:
    assert normal_text(left) == normal_text(right)


@pytest.mark.req("X-12")
@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_texts_that_say_something_else_have_different_normal_forms(left: str, right: str) -> None:
    assert normal_text(left) != normal_text(right)


@pytest.mark.parametrize(
    ("text", "normal"),
    [("Really?!", "really?"), ("Really?", "really?"), ("...", "..."), ("", ""), ("  ", ""), ("A. B.", "a. b")],
)
def test_only_final_full_stops_and_exclamation_marks_go(text: str, normal: str) -> None:
    assert normal_text(text) == normal


def test_lone_surrogates_are_told_apart() -> None:
    assert normal_text("\ud800") != normal_text("\ud801")


@given(st.text())
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_text(normal_text(text)) == normal_text(text)


@given(
    st.text(
        "aI\u0130\u0131\u0345\u1e9e\u00df\u03c3\u03c2\u0301\u0327\u00b4\ufb01\u1fb4\u2026. !?\u200b\u00ad", max_size=12
    )
)
def test_the_normal_form_is_stable_where_folding_and_unicode_forms_meet(text: str) -> None:
    assert normal_text(normal_text(text)) == normal_text(text)
