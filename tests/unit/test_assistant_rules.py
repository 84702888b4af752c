from __future__ import annotations

import pytest

from memstone.language.en.restatements import extract_restatements

pytestmark = pytest.mark.req("X-36", "R-32")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("You live in Oslo.", "I live in Oslo."),
        ("Got it, you live in Oslo.", "I live in Oslo."),
        ("Noted: you're allergic to peanuts.", "I am allergic to peanuts."),
        ("You told me that you play chess.", "I play chess."),
        ("As you said, you hate cilantro.", "I hate cilantro."),
        ("I'll remember that you prefer short answers.", "I prefer short answers."),
        ("You mentioned that your sister is a doctor.", "My sister is a doctor."),
        ("Your name is Anna.", "My name is Anna."),
        ("Your favourite colour is blue.", "My favourite colour is blue."),
        ("You don't like jazz.", "I do not like jazz."),
        ("You said that jogging is good for you.", ""),
        ("You told me your dog was given to you by Tom.", "My dog was given to me by Tom."),
    ],
)
def test_what_is_said_about_the_user_is_told_as_the_user_would(said: str, told: str) -> None:
    assert [one.text for one in extract_restatements(said)] == ([told] if told else [])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("So we agreed on weekly reports.", "We decided on weekly reports."),
        ("We've decided to use Postgres.", "We have decided to use Postgres."),
        ("As agreed, we will use Postgres.", "We will use Postgres."),
        ("We settled on Friday for the demo.", "We settled on Friday for the demo."),
    ],
)
def test_what_is_called_agreed_is_a_decision(said: str, told: str) -> None:
    (found,) = extract_restatements(said)
    assert (found.text, found.agreed) == (told, True)


@pytest.mark.parametrize(
    "said",
    [
        "I love Oslo too. I live in Norway.",
        "Oslo is the capital of Norway.",
        "You should try the fish soup.",
        "You can use a for loop.",
        "You have two options.",
        "You need flour and eggs.",
        "You might love this.",
        "You like it.",
        "I remember you mentioning the ferry.",
        "You're right.",
        "You're a great cook!",
        "If you live in Oslo, you like rain.",
        "You prefer short answers, right?",
        "Do you live in Oslo?",
        "Your code has a bug.",
        "Your best option is to leave.",
        "We will use Postgres.",
        "We should decide to use Postgres.",
        "We have not decided yet.",
        "Let's go with Postgres.",
        "```\nYou live in Oslo.\n```",
        'The letter says: "You live in Oslo and you work at Acme."',
        "Du wohnst in Oslo und du magst Tee.",
        "",
    ],
)
def test_its_own_claims_advice_praise_and_proposals_are_left_alone(said: str) -> None:
    assert extract_restatements(said) == []


def test_where_it_stands_is_the_whole_sentence() -> None:
    text = "Great! You live in Oslo. Shall I go on?"
    (found,) = extract_restatements(text)
    assert text[found.start : found.end] == "You live in Oslo."
