from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.strength import Strength, apply_judgement, apply_use, current_strength
from memstone.core.ranking.usage import measure_uses
from tests.english import ENGLISH

OSLO, VEGAN, NURSE, CATS = (
    "User lives in Oslo",
    "User is vegan",
    "User works as a nurse",
    "User's cats are Miso and Tofu",
)
SHOWN = [("oslo", OSLO), ("vegan", VEGAN), ("nurse", NURSE), ("cats", CATS)]


def hit(question: str, answer: str, visible: list[tuple[str, str]] | None = None) -> list[str]:
    return [
        one.id for one in measure_uses(question, answer, SHOWN if visible is None else visible, ENGLISH) if one.is_used
    ]


@pytest.mark.req("D-18", "D-7")
@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Where should I eat?", "There is a vegan place in the east of Oslo.", ["oslo", "vegan"]),
        ("Where do I live?", "You live in Oslo.", ["oslo"]),
        ("What are my cats called?", "Miso and Tofu!", ["cats"]),
        ("Who am I?", "A vegan nurse from Oslo with two cats.", ["oslo", "vegan", "nurse", "cats"]),
        ("What is 2 + 2?", "It is 4.", []),
        ("Tell me a joke", "Why did the chicken cross the road? It works out of its home.", []),
    ],
)
def test_a_memory_is_used_when_the_answer_says_what_it_says(question: str, answer: str, expected: list[str]) -> None:
    assert hit(question, answer) == expected


@pytest.mark.req("D-18")
def test_words_of_the_question_prove_nothing() -> None:
    assert hit("Is there a vegan place in Oslo?", "Sure, Oslo has many a vegan place.") == []
    assert hit("Is there a place in Oslo?", "Sure, Oslo has many a vegan place.") == ["vegan"]


@pytest.mark.req("D-18")
def test_one_telling_word_of_a_longer_memory_is_enough_and_a_common_one_is_not() -> None:
    peanuts = "User is allergic to peanuts and carries an epipen"
    walks = "User likes to take a long walk with her friends after work"
    visible = [("peanuts", peanuts), ("walks", walks)]
    assert hit("Suggest a snack", "Apple slices; nothing with peanuts, of course.", visible) == ["peanuts"]
    assert hit("Suggest a snack", "Take whatever you like after work.", visible) == []


@pytest.mark.req("D-18")
def test_names_and_numbers_tell_more_than_other_words() -> None:
    visible = [
        ("trip", "User plans to go sailing with a whole crew and a parrot to see the Alhambra in Granada in 2027")
    ]
    (by_name,) = measure_uses("What next?", "Granada is fine, buy tickets and book hotels.", visible, ENGLISH)
    (by_word,) = measure_uses("What next?", "Sailing is fine, buy tickets and book hotels.", visible, ENGLISH)
    assert by_name.words == ("granada",)
    assert by_word.words == ("sail",)
    assert by_name.memory_share > by_word.memory_share
    assert by_name.answer_share > by_word.answer_share
    assert by_name.is_used
    assert not by_word.is_used


def test_nothing_shown_and_nothing_said() -> None:
    assert measure_uses("", "", [], ENGLISH) == []
    assert [one.memory_share for one in measure_uses("", "", SHOWN, ENGLISH)] == [0.0] * 4
    assert [one.answer_share for one in measure_uses("x", "y", [("empty", "")], ENGLISH)] == [0.0]


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=40), max_size=4))
def test_a_share_is_a_share_whatever_is_said(question: str, answer: str, texts: list[str]) -> None:
    found = measure_uses(question, answer, [(str(at), text) for at, text in enumerate(texts)], ENGLISH)
    assert [one.id for one in found] == [str(at) for at in range(len(texts))]
    assert all(0.0 <= one.memory_share <= 1.0 >= one.answer_share >= 0.0 for one in found)
    assert all(
        one.memory_share == one.answer_share == 0.0 for one in measure_uses(answer, answer, [("same", answer)], ENGLISH)
    )


DAY = "2026-01-01T00:00:00.000000Z"
LATER = "2026-02-01T00:00:00.000000Z"


@pytest.mark.req("D-18", "X-16")
def test_a_judgement_moves_strength_and_a_use_moves_it_less() -> None:
    old = Strength(0.5, DAY)
    assert apply_judgement(old, LATER, useful=True) == Strength(0.6, LATER)
    assert apply_judgement(old, LATER, useful=False) == Strength(0.4, DAY)
    assert apply_use(old, LATER) == Strength(0.52, LATER)
    assert current_strength(apply_use(old, LATER), LATER) > current_strength(old, LATER)
    assert apply_judgement(Strength(0.05, DAY), LATER, useful=False).base == 0.0
    assert apply_judgement(Strength(0.95, DAY), LATER, useful=True).base == 1.0
