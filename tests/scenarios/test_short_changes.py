"""A few words that say all of it: what they tell by themselves, and what they end, with the built-in embedder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from memstone import Memory
from memstone.core.curate import EFFECT, candidates
from memstone.testing.clock import FakeClock

TOLD: Final = [
    ("I smoke.", "User smokes."),
    ("I vape.", "User vapes."),
    ("I meditate.", "User meditates."),
    ("I retired.", "User retired."),
    ("My fiancé is called Luca.", "User's fiancé is called Luca."),
    ("my fiancée is vegan", "User's fiancée is vegan."),
    ("I love crème brûlée.", "User loves crème brûlée."),
    ("We bought the house.", "User bought the house."),
    ("I own a house.", "User owns a house."),
    ("We sold our flat last week.", "User sold their flat last week."),
]
NOTHING: Final = ["I agree.", "I see.", "We know.", "I got home.", "I did.", "J'adore la crème brûlée.", "Ça va?"]
CHANGES: Final = [
    ("User smokes.", "I quit smoking.", "User quit smoking."),
    ("User smokes.", "I don't smoke.", "User does not smoke."),
    ("User does not smoke.", "I smoke.", "User smokes."),
    ("User drinks.", "I stopped drinking.", "User stopped drinking."),
    ("User lives in Lisbon.", "I no longer live in Lisbon.", "User no longer lives in Lisbon."),
    ("User uses Jira at work.", "We switched to Linear.", "User switched to Linear."),
    ("User's team uses Jira.", "We moved to Linear.", "User moved to Linear."),
    ("User uses Slack at work.", "We switched to Teams.", "User switched to Teams."),
    ("User's team uses MySQL.", "We migrated to Postgres.", "User migrated to Postgres."),
    ("User's editor is VS Code.", "My editor is Zed.", "User's editor is Zed."),
    ("User uses VS Code as their editor.", "I use Zed as my editor.", "User uses Zed as their editor."),
    ("User's bank is Sparkasse.", "My bank is N26.", "User's bank is N26."),
    ("User is hoping to buy a house.", "We bought the house.", "User bought the house."),
    ("User's fiancé is called Tom.", "My fiancé is called Luca.", "User's fiancé is called Luca."),
]
SIDE_BY_SIDE: Final = [
    ("User smokes.", "I drink."),
    ("User uses VS Code.", "We switched to Linear."),
    ("User uses Notion for personal notes.", "We switched to Linear."),
    ("User uses MySQL for a side project.", "We migrated to Postgres."),
    ("User's editor is VS Code.", "My browser is Arc."),
    ("User's editor at home is Vim.", "My editor is Zed at work."),
    ("User lives in Oslo.", "We bought the house."),
    ("User's brother smokes.", "I don't smoke."),
    ("User's dog's name is Rex.", "My dog's name is Bello."),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as opened:
        yield opened


@pytest.mark.parametrize(("said", "fact"), TOLD)
def test_a_few_words_are_enough(said: str, fact: str) -> None:
    assert [one.text for one in candidates(said)] == [fact]


@pytest.mark.parametrize("said", NOTHING)
def test_fewer_say_nothing(said: str) -> None:
    assert [one.text for one in candidates(said) if one.category != EFFECT] == []


@pytest.mark.parametrize(("known", "said", "now"), CHANGES)
def test_what_is_said_takes_the_place_of_what_was_known(memory: Memory, known: str, said: str, now: str) -> None:
    user = f"{known}{said}".replace(" ", "-")
    memory.add(known, user_id=user, infer=False)
    (result,) = memory.add(said, user_id=user)["results"]
    assert (result["event"], result["memory"]) == ("UPDATE", now)
    assert [one["memory"] for one in memory.get_all(user_id=user)["results"]] == [now]


@pytest.mark.parametrize(("known", "said"), SIDE_BY_SIDE)
def test_what_is_said_of_something_else_leaves_it_alone(memory: Memory, known: str, said: str) -> None:
    user = f"{known}{said}".replace(" ", "-")
    memory.add(known, user_id=user, infer=False)
    memory.add(said, user_id=user)
    assert known in [one["memory"] for one in memory.get_all(user_id=user)["results"]]
