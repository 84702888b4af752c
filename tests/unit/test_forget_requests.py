"""Requests to forget: known by their verb and what it is about."""

from __future__ import annotations

import pytest

from memstone.language.en.requests import forgets_everything, request_of
from memstone.language.en.sentences import expand_contractions


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Forget my address.", "User's address."),
        ("Please forget my birthday", "User's birthday."),
        ("I want you to forget that I like jazz.", "User likes jazz."),
        ("Forget I like jazz", "User likes jazz."),
        ("You can forget that I like jazz now.", "User likes jazz."),
        ("Delete my birthday from your memory.", "User's birthday."),
        ("Don't remember that I live in Oslo", "User lives in Oslo."),
        ("Could you please delete the fact that I live in Oslo?", "User lives in Oslo."),
        ("Forget what I told you about my ex-wife.", "User's ex-wife."),
        ("Forget everything about my sister", "User's sister."),
        ("Stop remembering that I am vegan.", "User is vegan."),
        ("Forget my phone number, please", "User's phone number."),
    ],
)
def test_a_request_to_forget_is_known_by_verb_and_object(said: str, fact: str) -> None:
    request = request_of(expand_contractions(said), "User")
    assert request is not None
    assert request.forget
    assert request.text == fact


@pytest.mark.parametrize(
    "said",
    [
        "Forget it.",
        "Forget about it",
        "Forget my last message.",
        "Forget that.",
        "I forget my keys all the time.",
        "I want to forget my ex.",
        "Don't forget my birthday is in May.",
        "Remove my name from the list.",
        "Delete my account on Twitter.",
        "Drop my first sentence.",
        "Forget everything you know about me",
    ],
)
def test_what_asks_for_something_else_forgets_nothing(said: str) -> None:
    request = request_of(expand_contractions(said), "User")
    assert request is None or not request.forget


@pytest.mark.parametrize(
    ("said", "everything"),
    [
        ("forget everything you know about me", True),
        ("Please forget everything.", True),
        ("Delete all my data from your memory", True),
        ("Forget all about me", True),
        ("Forget everything about my sister", False),
        ("Forget all my allergies", False),
        ("I forget everything", False),
    ],
)
def test_all_there_is_is_told_from_something_of_it(said: str, everything: bool) -> None:  # noqa: FBT001 - a table
    assert forgets_everything(expand_contractions(said)) is everything
