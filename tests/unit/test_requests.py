"""What people ask their assistant to keep in mind."""

from __future__ import annotations

import pytest

from memstone.language.en.requests import request_of
from memstone.model.memory import Kind


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("call me Sam", "User wants to be called Sam."),
        ("please call me Sam from now on", "User wants to be called Sam."),
        ("For future chats: address me as Dr. Okafor", "User wants to be called Dr. Okafor."),
        ('keep addressing me as "Captain", thanks', "User wants to be called Captain."),
        ("remember that the gate code is on the fridge", "The gate code is on the fridge."),
        ("do not forget: the spare key is with our neighbour", "The spare key is with User's neighbour."),
        ("please remember my locker number is 218", "User's locker number is 218."),
        ("Remind me to renew my permit by 3 May.", "User wants to be reminded to renew their permit by 3 May."),
        (
            "could you remind me on Friday to water the ferns?",
            "User wants to be reminded on Friday to water the ferns.",
        ),
        ("always answer in German", "User wants the assistant to always answer in German."),
        ("never suggest recipes with pork", "User wants the assistant to never suggest recipes with pork."),
        ("whenever you show code, add comments", "User wants the assistant to add comments whenever it shows code."),
        ("do not use emojis", "User wants the assistant not to use emojis."),
        (
            "I want you to be blunt when you review my writing",
            "User wants the assistant to be blunt when it reviews their writing.",
        ),
    ],
)
def test_requests_become_sentences_about_the_one_who_asks(said: str, text: str) -> None:
    request = request_of(said, "User")
    assert request is not None
    assert request.text == text
    assert not request.forget


def test_standing_orders_are_procedural() -> None:
    request = request_of("always answer in German", "User")
    assert request is not None
    assert (request.category, request.kind) == ("instruction", Kind.PROCEDURAL)


def test_forgetting_names_what_to_forget() -> None:
    request = request_of("forget that I like sushi", "User")
    assert request is not None
    assert (request.text, request.forget) == ("User likes sushi.", True)


@pytest.mark.req("D-4")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "to reset our router you hold the button for 10 seconds",
            "To reset User's router, you hold the button for 10 seconds.",
        ),
        (
            "the way we do releases: branch, bump the version, merge",
            "How User does releases: branch, bump the version, merge.",
        ),
    ],
)
def test_procedures_name_their_goal_and_their_steps(said: str, text: str) -> None:
    request = request_of(said, "User")
    assert request is not None
    assert (request.text, request.kind) == (text, Kind.PROCEDURAL)


@pytest.mark.parametrize(
    "said",
    [
        "remember, go for it",
        "never give up",
        "never say never",
        "write me a poem",
        "remember to call Bob",
        "if it rains, take a coat",
        "call me later today",
    ],
)
def test_other_orders_are_no_requests_to_remember(said: str) -> None:
    assert request_of(said, "User") is None
