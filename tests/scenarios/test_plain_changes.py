"""Plain changes told one after the other, with the built-in embedder: what ends what, and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

START: Final = datetime(2026, 5, 7, 9, 30, tzinfo=UTC)

CHANGES: Final = [
    ("My flight is on 3 June.", "My flight is on 5 June."),
    ("My phone plan costs 20 euros a month.", "My phone plan costs 25 euros a month."),
    ("My trip budget is 800 euros.", "My trip budget is 1000 euros."),
    ("My rent is 900 euros.", "My rent is 950 euros."),
    ("My salary is 50000 dollars.", "My salary is 60000 dollars."),
    ("My appointment is at 3pm.", "My appointment is at 4pm."),
    ("My favorite color is blue.", "My favorite color is red."),
    ("My shoe size is 42.", "My shoe size is 43."),
    ("My son Leo is 5.", "My son Leo is 6."),
    ("My sister Ada lives in Oslo.", "My sister Ada lives in Bergen."),
    ("I weigh 85 kg.", "I weigh 83 kg now."),
]
SIDE_BY_SIDE: Final = [
    ("My uncle lives in Rome.", "My aunt lives in Rome."),
    ("My sister Ada lives in Oslo.", "My sister Eva lives in Bergen."),
    ("My son Leo is 5.", "My son Max is 8."),
    ("I have a dog named Rex.", "I have a dog named Bob."),
    ("My colleague Priya works in sales.", "My colleague Dan works in marketing."),
    ("My project Falcon is due in May.", "My project Hawk is due in June."),
    ("My shoe size is 43.", "My jacket size is 52."),
    ("My phone is an iPhone 12.", "My phone number is 5551234."),
    ("I run 5 km every morning.", "I swim 2 km every morning."),
    ("My kitchen budget is 5000 euros.", "My trip budget is 1000 euros."),
    ("I weigh 85 kg.", "My goal is 80 kg."),
    ("I live in Oslo.", "I'm moving to Paris next month."),
    ("I work at Google.", "I'm starting at Apple in September."),
    ("I drive a Toyota.", "I'm going to buy a Tesla."),
    ("I work at Google.", "I have an offer from Apple."),
    ("I have a brother.", "I have a sister."),
    ("I like cats.", "I like dogs."),
    ("I like tea.", "I like green tea."),
    ("I use Python 2 at work.", "I use Python 3 at work."),
    ("I teach maths.", "I teach physics."),
    ("My favourite singer is Adele.", "My favourite actor is Adele."),
]
KNOWN: Final = [
    ("I like cats.", "I love cats."),
    ("My doctor is Dr. Smith.", "My doctor is Smith."),
    ("I have a brother.", "I've got a brother."),
    ("I'm going to visit Rome.", "I'm going to visit Rome."),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock(START)) as opened:
        yield opened


def told(memory: Memory, *messages: str) -> tuple[list[str], list[str]]:
    """The events of the last message, and what is known then; every call is another user's."""
    user = "-".join(messages).replace(" ", "-")
    answers = [memory.add(message, user_id=user)["results"] for message in messages]
    return [one["event"] for one in answers[-1]], [one["memory"] for one in memory.get_all(user_id=user)["results"]]


@pytest.mark.req("P-17", "C-58.15", "C-58.16")
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_new_value_takes_the_place_of_the_old_one(memory: Memory, before: str, after: str) -> None:
    events, known = told(memory, before, after)
    assert (events, len(known)) == (["UPDATE"], 1)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(("one", "other"), SIDE_BY_SIDE)
def test_what_is_about_something_else_stands_beside_it(memory: Memory, one: str, other: str) -> None:
    events, known = told(memory, one, other)
    assert (events, len(known)) == (["ADD"], 2)


@pytest.mark.req("P-17", "C-58.14")
@pytest.mark.parametrize(("one", "again"), KNOWN)
def test_what_is_known_is_not_stored_twice(memory: Memory, one: str, again: str) -> None:
    events, known = told(memory, one, again)
    assert "ADD" not in events
    assert len(known) == 1


ASKED: Final = [
    ("Forget my address.", "User's address is 12 Main Street."),
    ("Please forget my birthday", "User's birthday is on 3 May."),
    ("I want you to forget that I like jazz.", "User likes jazz."),
    ("Forget I like jazz", "User likes jazz."),
    ("Delete my birthday from your memory.", "User's birthday is on 3 May."),
    ("You can forget that I like jazz now.", "User likes jazz."),
]
FACTS: Final = ("I like jazz.", "My address is 12 Main Street.", "My birthday is on 3 May.")


@pytest.mark.parametrize(("asked", "gone"), ASKED)
def test_what_is_asked_to_be_forgotten_does_not_come_back(memory: Memory, asked: str, gone: str) -> None:
    user = asked.replace(" ", "-")
    for fact in FACTS:
        memory.add(fact, user_id=user)
    answer = memory.add(asked, user_id=user)
    assert [(one["event"], one["memory"]) for one in answer["results"]] == [("DELETE", gone)]
    assert gone not in [one["memory"] for one in memory.get_all(user_id=user)["results"]]


@pytest.mark.parametrize(
    ("asked", "warning"),
    [("Forget my phone number.", "is not in memory"), ("forget everything you know about me", "delete_all")],
)
def test_a_request_to_forget_without_effect_says_so(memory: Memory, asked: str, warning: str) -> None:
    user = asked.replace(" ", "-")
    for fact in FACTS:
        memory.add(fact, user_id=user)
    answer = memory.add(asked, user_id=user)
    assert not answer["results"]
    assert warning in answer["warnings"][0]
    assert len(memory.get_all(user_id=user)["results"]) == len(FACTS)
