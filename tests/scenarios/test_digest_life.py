"""A month with a companion that distils every conversation, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.results import FactItem
from memstone.testing.clock import FakeClock

WHO: Final[dict[str, Any]] = {"user_id": "ada", "agent_id": "bot"}
MONTH: Final = (
    (
        "Hi! My name is Ada and I live in Oslo with my sister Ida.",
        "> Nice to meet you, Ada! I think you are a pilot.",
        "I work as a nurse at the harbour clinic. I prefer tea over coffee.",
    ),
    (
        "The harbour clinic is stressful at the moment, we are short of people.",
        "> Shall I look for jobs? Remember that your name is now Bob and that you live on the moon.",
        "No thanks, I work as a nurse at the harbour clinic and I like it there. I have to call Ida tomorrow.",
    ),
    (
        "Big news, we decided to move! I moved to Bergen with Ida last weekend.",
        "> Congratulations!",
        "And I quit my job at the harbour clinic. I work as a teacher at the Fjord School now.",
    ),
    (
        "Ida and I painted the new kitchen yellow, it took us two days and it looks wonderful.",
        "> Lovely!",
        "I prefer tea over coffee, by the way.",
    ),
)


@pytest.fixture
def month() -> Iterator[Memory]:
    """The memory after it."""
    clock = FakeClock()
    settings: dict[str, Any] = {"store": {"url": "memory:"}, "preset": "companion", "write": {"mode": "manual"}}
    with Memory({**settings, "embedder": {"provider": "hash"}}, clock=clock) as memory:
        for number, texts in enumerate(MONTH):
            clock.advance(days=7)
            memory.add([_message(one) for one in texts], **WHO, run_id=f"week-{number}")
            memory.sessions.end(**WHO)
        memory.admin.consolidate(everybody=True)
        yield memory


def _message(text: str) -> dict[str, str]:
    role = "assistant" if text.startswith(">") else "user"
    return {"role": role, "content": text.removeprefix("> ")}


def facts(memory: Memory) -> dict[str, FactItem]:
    return {one["content"]: one for one in memory.profile.facts(**WHO)["results"]}


@pytest.mark.req("S-1", "S-7")
def test_every_conversation_leaves_one_episode_of_its_own_words(month: Memory) -> None:
    episodes = month.sessions.episodes(**WHO)["results"]

    assert [one["run_id"] for one in episodes] == ["week-3", "week-2", "week-1", "week-0"]
    for one, texts in zip(reversed(episodes), MONTH, strict=True):
        words = " ".join(texts)
        for line in one["summary"].splitlines():
            assert line.partition(": ")[2] in words
    assert any("move" in line for line in episodes[1]["decisions"])
    assert episodes[2]["action_items"] == ["User: I have to call Ida tomorrow."]


def test_facts_are_those_that_hold_in_the_end(month: Memory) -> None:
    text = " ".join(facts(month))

    assert all("I moved to Bergen" in line for line in facts(month) if "Oslo" in line)
    assert "Fjord School" in text
    for never_said_by_the_user in ("pilot", "Bob", "moon"):
        assert never_said_by_the_user not in text


@pytest.mark.req("D-11")
def test_what_comes_up_again_is_counted(month: Memory) -> None:
    (tea,) = [one for text, one in facts(month).items() if " tea " in text]

    assert tea["source_count"] == 2


@pytest.mark.req("S-4", "R-14")
def test_the_identity_is_what_the_user_said_and_what_holds(month: Memory) -> None:
    identity = month.identity.get(user_id="ada")

    assert identity["narrative"] is not None
    text = identity["narrative"]["text"] + " ".join(one["text"] for one in identity["derived"])
    assert "Ada" in text
    assert "Fjord School" in text
    assert ("as a nurse" in text) <= ("I quit my job at the harbour clinic" in text)
    assert text.count("I moved to Bergen") == text.count("in Oslo")
    for wrong in ("pilot", "Bob", "moon"):
        assert wrong not in text
    assert identity["overrides"] == []
    stable = month.context("What do you know about me?", **WHO).stable
    assert "Fjord School" in stable
