"""What is not a fact, and what hangs on something said elsewhere."""

from __future__ import annotations

import pytest

from memstone.core.curate import EFFECT, candidates
from memstone.core.rules.definite import definite_part, specific, unresolved
from memstone.core.rules.sift import not_a_fact, without_fillers


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I like your idea", "second person"),
        ("If I lived in Rome I would eat out", "hypothetical"),
        ("maybe I will try yoga", "hedge"),
        ("I am so tired", "small talk"),
        ("I am really glad about the news", "small talk"),
        ("I think Oslo is nice", "talk about talk"),
        ("I will check the oven", "offer"),
        ("I had a great time", "vague"),
        ("let us go out", "let us"),
        ("I am waiting for the bus", "transient"),
        ("my phone is at 3%", "transient"),
        ("I do not like the first sentence", "feedback"),
        ("running is good for the heart", "general truth"),
        ("do I like tea?", "question"),
    ],
)
def test_each_reason_has_a_name(said: str, why: str) -> None:
    assert not_a_fact(said) == why


@pytest.mark.parametrize(
    "said", ["I am left handed", "I am in a choir in Leeds", "I can not stand cilantro", "I know Rust well"]
)
def test_what_only_looks_like_small_talk_stays(said: str) -> None:
    assert not_a_fact(said) == ""


@pytest.mark.parametrize(
    "said",
    [
        "I love it",
        "I so enjoy seeing them here",
        "I knitted this hat at my club",
        "I drew that harbour last autumn",
        "I met him once",
        "I hope to visit them",
        "I am taking notes on her style",
        "I already have one",
        "I go there a lot",
    ],
)
def test_a_pronoun_without_what_it_stands_for_is_unresolved(said: str) -> None:
    assert unresolved(said)


@pytest.mark.parametrize(
    "said",
    [
        "I made vegan ice cream and shared it with my group",
        "my boyfriend finished his law degree",
        "I have a dog that barks",
        "I moved this summer",
        "I am one of five kids",
        "my pronouns are they/them",
    ],
)
def test_a_pronoun_whose_noun_stands_before_it_is_fine(said: str) -> None:
    assert not unresolved(said)


def test_a_clause_is_cut_where_it_stops_standing_alone() -> None:
    assert definite_part("I study zoology in Uppsala and nobody told me that") == "I study zoology in Uppsala"
    assert definite_part("I love it and that") == ""


def test_names_and_numbers_are_specific_and_goals_are_not() -> None:
    assert specific("I am chasing my dreams and goals") == 0
    assert specific("I scored 40 points for Leeds") >= 4


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        ("Hey Jon! I like tea", "I like tea"),
        ("oh wow, btw I like tea", "I like tea"),
        ("Long story short, I like tea", "I like tea"),
        ("Hope you are well :) I like tea", "I like tea"),
        ("I like tea", "I like tea"),
        ("ok", "ok"),
    ],
)
def test_fillers_are_taken_off(said: str, rest: str) -> None:
    assert without_fillers(said) == rest


@pytest.mark.parametrize(
    "said",
    [
        "Let's not stop now!",
        "I'm enjoying this so much!",
        "We are great together!",
        "I'm gonna stick with my plans.",
        "Remember, one kind word can save a day.",
        "Never give up!",
        "Baking bread has been messy but rewarding.",
        "Been ages!",
        "Happy to hear my advice was of use.",
        "It seemed like they came straight at us.",
        "My crew has been really kind.",
        "Gardening has been such a comfort to me.",
        "I've got a good story.",
        "I was a kid",
    ],
)
def test_talk_that_tells_nothing_leaves_nothing(said: str) -> None:
    assert [one.text for one in candidates(said, speaker="Ann") if one.category != EFFECT] == []
