"""Everyday wordings that change, repeat or only touch what is known."""

from __future__ import annotations

import pytest

from memstone.core.changes.pairing import Known
from memstone.core.changes.reconcile import decide
from memstone.core.changes.statement import understand

Near = dict[str, float]


def decided(new: str, known: Near) -> tuple[str, str | None]:
    """What a text does, and to which memory; each memory comes with how near it is in meaning."""
    decision = decide(understand(new), [Known(understand(text), cosine) for text, cosine in known.items()])
    return str(decision.action), None if decision.target is None else list(known)[decision.target]


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "target", "known"),
    [
        ("These days it's decaf for me.", "User drinks coffee daily", {"User drinks coffee daily": 0.26}),
        ("User heats with a heat pump since autumn.", "User heats with oil", {"User heats with oil": 0.63}),
        ("these days I write with a ballpoint", "User writes with a pen", {"User writes with a pen": 0.35}),
        ("User has gone back up to full time.", "User works part time", {"User works part time": 0.5}),
        ("Lars is the new coach of our team", "User's coach is Mette", {"User's coach is Mette": 0.47}),
        ("User got their braces off.", "User wears braces", {"User wears braces": 0.79}),
        (
            "User handed in the thesis.",
            "User is writing a master's thesis",
            {"User studies geology": 0.36, "User is writing a master's thesis": 0.54},
        ),
        (
            "User does their shopping at Lidl, Tesco got too dear.",
            "User shops at Tesco",
            {"User shops at Tesco": 0.79},
        ),
        (
            "My grandpa does not drive any longer.",
            "User's grandfather drives a Mercedes",
            {"User's grandfather drives a Mercedes": 0.71, "User's grandfather is 88": 0.63},
        ),
    ],
)
def test_a_change_reaches_the_memory_it_is_about(new: str, target: str, known: Near) -> None:
    assert decided(new, known) == ("revise", target)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("User got noise-cancelling headphones for the office.", {"User works in an open-plan office": 0.36}),
        ("My parents bought a flat in Malaga.", {"User's parents are retired": 0.37}),
        ("My dad is a vegetarian now.", {"User's father is 66": 0.52}),
        ("User has got a dentist appointment on the 14th.", {"User's dentist is Dr Kim": 0.62}),
        ("User does crosswords on the train.", {"User commutes by train": 0.61}),
        ("User switched the lights in the garden to LED.", {"User has a garden": 0.59}),
        ("User lost 20 euros at poker last night.", {"User plays poker on Fridays": 0.49}),
        ("User stopped at the beach on the way home.", {"User lives by the sea": 0.56}),
        ("User bought a second monitor.", {"User has a 27-inch monitor": 0.69}),
        ("User has a half-sister in Perth.", {"User was born in Perth": 0.74}),
        ("There is a new bakery in our street.", {"User works in a bakery": 0.76}),
        ("User starts at 6 tomorrow.", {"User starts work at 9": 0.51}),
    ],
)
def test_what_only_touches_a_memory_comes_beside_it(new: str, known: Near) -> None:
    assert decided(new, known) == ("add", None)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("User is a lefty.", "User is left-handed"),
        ("User lives by themselves.", "User lives alone"),
        ("User goes running three mornings a week.", "User runs three times a week in the morning"),
        ("User was born and bred in '88.", "User was born in 1988"),
        ("User has a sister and two brothers.", "User has two brothers and one sister"),
        ("User wears a hearing aid on the left.", "User has a hearing aid in the left ear"),
        ("No film beats Casablanca for me.", "User's favourite film is Casablanca"),
        ("User never learned to swim.", "User cannot swim"),
    ],
)
def test_the_same_in_words_of_its_own_is_known(new: str, known: str) -> None:
    assert decided(new, {known: 0.86, "User lives in Ayr": 0.3}) == ("ignore", known)


@pytest.mark.req("P-17")
def test_one_near_memory_says_the_same_only_where_no_other_is_as_near() -> None:
    new, known = "User dislikes skateboarding.", "User dislikes snowboarding"
    assert decided(new, {known: 0.78, "User dislikes skiing": 0.61})[0] == "add"
    assert decided("User is fond of quiet.", {"User likes silence": 0.78, "User has a cat": 0.2})[0] == "ignore"


@pytest.mark.req("P-17")
def test_what_somebody_was_before_is_not_replaced() -> None:
    known = {"User is a pensioner": 0.69, "User was a teacher": 0.55}
    assert decided("User is retired.", known) == ("ignore", "User is a pensioner")
