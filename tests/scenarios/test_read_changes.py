"""Messages read together with what is known: what they change, and what only sounds like a change."""

from __future__ import annotations

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

KNOWN = [
    "User is allergic to peanuts.",
    "User lives in a flat in Ghent.",
    "User drives a Skoda Fabia.",
    "User's sister Ana works as a nurse in Lyon.",
    "User takes levothyroxine every morning.",
    "User goes swimming on Tuesdays.",
]


def told(memory: Memory, message: str) -> dict[str, str]:
    """Tell a message to a memory that knows all this; gives the ids of what it knew by text."""
    known = {text: memory.add(text, user_id="u", infer=False)["results"][0]["id"] for text in KNOWN}
    memory.add(message, user_id="u")
    return known


def texts(memory: Memory) -> set[str]:
    return {one["memory"] for one in memory.get_all(user_id="u")["results"]}


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    "message",
    [
        "ugh, the peanut allergy is acting up again this week",
        "my colleague Tom sold his Skoda and cycles to work",
        "maybe one day I'll move out of Ghent, who knows",
        "should I sell the Skoda?",
        "no swimming this Tuesday, the pool is closed for a gala",
        "staying at my sister Ana's in Lyon till Sunday",
        "picked up my levothyroxine from the chemist on the way home",
        "thinking about selling the Fabia but I have not decided",
    ],
)
def test_what_only_sounds_like_a_change_ends_no_memory(message: str) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        told(memory, message)
        assert set(KNOWN) <= texts(memory)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("message", "ended"),
    [
        ("Swapped the pool for climbing, my Tuesdays smell of chalk now", KNOWN[5]),
        ("The flat in Ghent is behind us, we sleep in a cottage outside Bruges these days", KNOWN[1]),
    ],
)
def test_what_is_made_untrue_is_replaced_says_why_and_can_be_brought_back(message: str, ended: str) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        known = told(memory, message)
        assert texts(memory) & set(KNOWN) == set(KNOWN) - {ended}
        event = memory.history(known[ended])[-1]
        assert event["reason"]
        memory.undo(event["id"])
        assert set(KNOWN) <= texts(memory)
