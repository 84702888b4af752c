"""Four months with a companion that is tidied up every day: who the user is stays known, and is always there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

WHO: Final[dict[str, Any]] = {"user_id": "ada", "agent_id": "bot"}
TOLD: Final = (
    "Hi! My name is Ada, I am 34 years old and I live in Oslo.",
    "I work as a nurse at the harbour clinic. I bought a map of Norway last week.",
)
IDENTITY: Final = ("Ada", "34", "Oslo", "nurse")
SETTINGS: Final[dict[str, Any]] = {
    "store": {"url": "memory:"},
    "preset": "companion",
    "write": {"mode": "manual"},
    "embedder": {"provider": "hash"},
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(clock: FakeClock) -> Iterator[Memory]:
    """A companion that was told who the user is."""
    with Memory(SETTINGS, clock=clock) as opened:
        opened.add([{"role": "user", "content": one} for one in TOLD], **WHO, run_id="first")
        opened.sessions.end(**WHO)
        yield opened


def missing(text: str) -> list[str]:
    return [one for one in IDENTITY if one not in text]


@pytest.mark.req("X-4", "S-24", "S-29")
@pytest.mark.parametrize("message", ["What is 17 times 23?", "ok", "What is my name?", "What did we discuss?"])
def test_who_the_user_is_is_there_whatever_the_gate_says(memory: Memory, message: str) -> None:
    pack = memory.context(message, **WHO)
    assert missing(pack.stable) == []
    assert pack.text.count("Oslo") == len({line for line in pack.text.splitlines() if "Oslo" in line})
    memory.admin.consolidate(everybody=True)
    text = memory.context(message, **WHO).stable
    assert missing(text) == []
    assert text.count("Oslo") == 1, "the text about the user says it, and nothing repeats it"


@pytest.mark.req("X-4")
def test_another_agent_is_shown_who_the_user_is_and_nothing_else_learned_elsewhere(memory: Memory) -> None:
    text = memory.context("What is 17 times 23?", user_id="ada", agent_id="another").text
    assert missing(text) == []
    assert "map" not in text


@pytest.mark.req("X-4")
def test_what_is_private_is_not_part_of_who_the_user_is(memory: Memory) -> None:
    memory.admin.consolidate(everybody=True)
    (home,) = (one for one in memory.profile.facts(**WHO)["results"] if "Oslo" in one["content"])
    memory.profile.set_visibility(home["id"], "private")
    assert "Oslo" not in memory.context("Who am I?", **WHO).text
    assert "nurse" in memory.context("Who am I?", **WHO).text


@pytest.mark.req("S-38", "X-4")
@pytest.mark.parametrize("question", ["What is my name, and what do I do?", "What is 17 times 23?"])
def test_who_the_user_is_never_fades(memory: Memory, clock: FakeClock, question: str) -> None:
    memory.add("The spare bulbs are in the cellar", **WHO, infer=False)
    evicted = 0
    for day in range(120):
        clock.advance(days=1)
        assert missing(memory.context(question, **WHO).text) == [], f"day {day}"
        evicted += memory.admin.consolidate(everybody=True)["evicted"]
    stored_text = " ".join(one["content"] for one in memory.profile.facts(**WHO)["results"])
    assert missing(stored_text) == []
    assert evicted or "name" in question, "what nobody asks for and is not about who the user is still fades"


LIFE: Final = (
    "My name is Ada and I live in Oslo. I work as a nurse at the harbour clinic.",
    "I am allergic to peanuts. My daughter Mia is seven. Please answer in metric units.",
    "I worked from home today, and last week I lent my drill to a neighbour.",
)
WHO_SHE_IS: Final = ("Ada", "Oslo", "nurse", "peanuts", "Mia", "metric units")


@pytest.mark.req("S-38", "X-4", "X-16")
def test_after_a_year_who_the_user_is_is_as_strong_as_on_the_first_day(clock: FakeClock) -> None:
    with Memory(SETTINGS, clock=clock) as memory:
        memory.add([{"role": "user", "content": one} for one in LIFE], **WHO, run_id="first")
        memory.sessions.end(**WHO)
        memory.admin.consolidate(everybody=True)
        before = {one["content"]: one for one in memory.profile.facts(**WHO)["results"]}
        for _ in range(365):
            clock.advance(days=1)
            memory.context("What do you know about me?", **WHO)
            memory.admin.consolidate(everybody=True)
        lines = [one["memory"] for one in memory.profile.get(user_id="ada")["facts"]]
        after = {one["content"]: one for one in memory.profile.facts(**WHO)["results"]}
        identity = memory.identity.get(user_id="ada")
        stable = memory.context("What is 17 times 23?", **WHO).stable
        found = memory.search("Where does she work?", **WHO, explain=True)["results"]
    assert [one for one in WHO_SHE_IS if not any(one in line for line in lines)] == []
    assert [one for one in ("Ada", "Oslo", "nurse", "peanuts") if one not in stable] == []
    derived = " ".join(one["text"] for one in identity["derived"])
    assert [one for one in ("Ada", "Oslo", "nurse", "peanuts") if one not in derived] == []
    assert "home today" not in derived
    assert "drill" not in derived
    for text, one in after.items():
        assert one["salience"] == before[text]["salience"], "being shown makes nothing more salient"
        assert one["use_count"] == 0
    work = next(one for one in found if "nurse" in one["memory"])
    assert work["score_parts"]["decay"] == 1.0
