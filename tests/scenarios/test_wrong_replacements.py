"""What leaves a memory as it is: moods, single days, other people, other things, and what was only lost or counted."""

from __future__ import annotations

import pytest

from retain import Memory
from retain.testing.clock import FakeClock


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I am vegan now.", "I am tired now."),
        ("I'm allergic to nuts.", "I am vegan now."),
        ("My partner Elias is allergic to walnuts.", "Actually Elias and I broke up."),
        ("I've been to 34 countries.", "2 countries this year"),
        ("I live in Oslo.", "I'm in Rome this weekend."),
        ("I drive an old Volvo.", "I lost my car keys yesterday."),
        ("I adopted a kitten called Mochi.", "Mochi is asleep on my keyboard."),
        ("I sleep seven hours a night.", "I slept four hours last night."),
    ],
)
@pytest.mark.req("P-17")
def test_what_lasts_is_not_replaced_by_a_moment_or_by_something_else(known: str, said: str) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        (first,) = memory.add(known, user_id="ada")["results"]
        memory.add(said, user_id="ada")
        assert first["memory"] in [one["memory"] for one in memory.get_all(user_id="ada")["results"]]
