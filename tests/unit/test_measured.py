"""A number belongs to what it measures: the same unit is not the same thing."""

from __future__ import annotations

import pytest

from memstone.core.changes.measured import digits_of_names, measures_another
from memstone.core.changes.reconcile import Action, Decision, Known, decide
from memstone.core.changes.statement import understand
from memstone.core.rules.quantities import numbers_of


def settled(new: str, memory: str, cosine: float = 0.7) -> Decision:
    return decide(understand(new), [Known(understand(memory), cosine)])


ANOTHER = [
    ("User's jacket size is 52.", "User's shoe size is 43."),
    ("User swims 2 km every morning.", "User runs 5 km every morning."),
    ("User's trip budget is 1000 euros.", "User's kitchen budget is 5000 euros."),
    ("User's goal is 80 kg.", "User weighs 85 kg."),
    ("User's phone number is 5551234.", "User's phone is an iPhone 12."),
    ("User's car insurance costs 400 euros.", "User's health insurance costs 300 euros."),
    ("User's office has 4 rooms.", "User's flat has 3 rooms."),
    ("User cycles 30 km on Sundays.", "User walks 8 km on Sundays."),
    ("User's haircut is at 4pm.", "User's dentist appointment is at 3pm."),
]
THE_SAME = [
    ("User's shoe size is 44.", "User's shoe size is 43."),
    ("User weighs 83 kg now.", "User weighs 85 kg."),
    ("User's weight is 83 kg.", "User weighs 85 kg."),
    ("User's rent is 950 euros.", "User pays 900 euros rent."),
    ("User's budget for the trip is 1000 euros.", "User's trip budget is 800 euros."),
    ("User earns 60000 dollars a year.", "User's salary is 50000 dollars a year."),
    ("User runs 10 km every morning now.", "User runs 5 km every morning."),
    ("User has three cats.", "User has two cats."),
    ("User's desktop runs Windows 11.", "User's desktop runs Windows 10."),
]


@pytest.mark.req("P-17")
@pytest.mark.parametrize(("new", "memory"), ANOTHER)
def test_the_same_unit_of_another_thing_changes_nothing(new: str, memory: str) -> None:
    assert settled(new, memory).action is Action.ADD


@pytest.mark.req("P-17")
@pytest.mark.parametrize(("new", "memory"), THE_SAME)
def test_another_number_of_the_same_thing_takes_its_place(new: str, memory: str) -> None:
    assert settled(new, memory).action is Action.REVISE


@pytest.mark.req("P-17")
def test_what_does_not_say_of_what_it_tells_a_number_may_be_about_anything() -> None:
    new, memory = understand("rent is going up to 1150"), understand("User pays 1050 euros rent")
    assert not measures_another(new, memory, "money")


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("User's phone is an iPhone 12.", {"iphone": "12"}),
        ("User has a PlayStation 5 and flew with a Boeing 737.", {"playstation": "5", "boeing": "737"}),
        ("User's flight is on June 3.", {}),
        ("User has 12 cats.", {}),
        ("User runs 5 km.", {}),
    ],
)
def test_digits_of_a_name_are_told_from_counts(text: str, digits: dict[str, str]) -> None:
    assert digits_of_names(text) == digits


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("rent is six hundred and forty euros", {"money": "640"}),
        ("rent is six hundred a month", {"bare": "600"}),
        ("a loan of fifteen grand", {"bare": "15000"}),
        ("two hundred guests", {"guest": "200"}),
        ("a grand piano", {}),
    ],
)
def test_spelled_hundreds_and_thousands_are_numbers(text: str, numbers: dict[str, str]) -> None:
    assert numbers_of(text) == numbers
