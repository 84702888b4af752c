"""What leaves a memory as it is: moods, single days, other people, other things, and what was only lost or counted."""

from __future__ import annotations

from typing import Final

import pytest

from memstone import Memory
from memstone.language.en.relations import found_in
from memstone.testing.clock import FakeClock

ALONE: Final = [
    ("I am vegan now.", "I am tired now."),
    ("I'm allergic to nuts.", "I am vegan now."),
    ("My partner Elias is allergic to walnuts.", "Actually Elias and I broke up."),
    ("I've been to 34 countries.", "2 countries this year"),
    ("I live in Oslo.", "I'm in Rome this weekend."),
    ("I drive an old Volvo.", "I lost my car keys yesterday."),
    ("I adopted a kitten called Mochi.", "Mochi is asleep on my keyboard."),
    ("I sleep seven hours a night.", "I slept four hours last night."),
    ("I adopted a kitten called Mochi.", "Mochi was sick, the vet Dr. Lunde gave her antibiotics."),
    ("I weigh 82 kg.", "I ran 12 km this morning."),
    ("I have 3 plants.", "I watered the 2 plants of my neighbour."),
    ("I pay 60 euros per vet visit.", "I pay 12 euros for Netflix."),
    ("I commute by train.", "The train was cancelled today so I took a taxi."),
    ("I prefer window seats.", "I got an aisle seat this time."),
    ("I'm pregnant, due in August.", "My sister gave birth yesterday!"),
    ("We deploy on AWS.", "Our competitor moved to Azure."),
    ("I have a meeting with Paul on Monday.", "The meeting with Anna was moved to Thursday."),
    ("I go to yoga on Mondays.", "My Monday meeting was moved to Tuesday."),
    ("I like board games.", "I'm quitting the choir."),
    ("I wear glasses.", "I lost my sunglasses."),
    ("I have ADHD.", "I have a headache now."),
    ("My favourite author is Le Guin.", "I'm reading Tolkien now."),
    ("I'm writing a screenplay.", "I finished the dishes."),
    ("I'm planning a wedding in May.", "Let's go for the roses, we decided."),
    ("I'm a vet.", "I was a waiter as a student."),
    ("I want to run a marathon.", "I ran to the bus."),
    ("My flatmate Otto plays the drums.", "Otto moved out yesterday."),
    ("I study biology at ETH, second year.", "third year now! I moved to Oerlikon"),
    (
        "To deploy, run `make deploy` and wait for green.",
        "Our release process: tag the commit, wait for CI, then announce in Slack",
    ),
]


@pytest.mark.parametrize(("known", "said"), ALONE)
@pytest.mark.req("P-17", "X-11")
def test_what_lasts_is_not_replaced_by_a_moment_or_by_something_else(known: str, said: str) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        (first,) = memory.add(known, user_id="ada")["results"]
        memory.add(said, user_id="ada")
        assert any(one["memory"].startswith(first["memory"]) for one in memory.get_all(user_id="ada")["results"])


MOST_AMENDED: Final = 5


@pytest.mark.req("P-17", "X-11")
def test_few_of_them_are_taken_for_a_change_at_all() -> None:
    amended = []
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        for number, (known, text) in enumerate(ALONE):
            memory.add(known, user_id=str(number))
            amended += [
                one["memory"] for one in memory.add(text, user_id=str(number))["results"] if one["event"] == "UPDATE"
            ]
    assert len(amended) <= MOST_AMENDED, amended


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (
            ("My partner is called Elias.", "My partner Elias is allergic to nuts.", "Elias and I broke up."),
            {
                'User\'s partner is called Elias. On 2026-01-01: "Elias and I broke up.".',
                "User's partner Elias is allergic to nuts.",
            },
        ),
        (
            ("My sister Anna lives in Boston.", "My sister Eva lives in Rome.", "Anna moved to Chicago."),
            {
                'User\'s sister Anna lives in Boston. On 2026-01-01: "Anna moved to Chicago.".',
                "User's sister Eva lives in Rome.",
            },
        ),
        (("Call me Bob.", "Please call me Robert from now on."), {"User wants to be called Robert."}),
        (
            ("I work at Nordlys AS.", "I left Nordlys and now work at Equinor."),
            {"User left Nordlys and now works at Equinor."},
        ),
    ],
)
@pytest.mark.req("P-17")
def test_only_what_has_changed_is_replaced(said: tuple[str, ...], known: set[str]) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        for message in said:
            memory.add(message, user_id="ada")
        assert {one["memory"] for one in memory.get_all(user_id="ada")["results"]} == known


def test_whoever_left_for_another_job_no_longer_works_where_they_did() -> None:
    found = found_in("User left Nordlys and now works at Equinor.").relations
    assert [(one.target, one.relation, one.ended) for one in found] == [
        ("nordlys", "works_at", True),
        ("equinor", "works_at", False),
    ]
