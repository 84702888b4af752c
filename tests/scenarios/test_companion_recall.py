"""What a companion shows for a message: what is asked for, of the time that is asked about, each thing once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

WHO: Final[dict[str, Any]] = {"user_id": "ada", "agent_id": "bot"}
SETTINGS: Final[dict[str, Any]] = {
    "store": {"url": "memory:"},
    "preset": "companion",
    "write": {"mode": "manual"},
    "embedder": {"provider": "hash"},
}
SESSIONS: Final = (
    ("2026-03-05", "I planted tomatoes and basil on the balcony today. We decided to water them twice a week."),
    ("2026-04-20", "I prefer Postgres over MySQL for the new shop. My friend Priya helped me to set it up."),
    ("2026-05-06", "Tomorrow I give my talk about lighthouses at the museum, and I am rather nervous about it."),
)
NOW: Final = datetime(2026, 5, 7, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def told(memory: Memory, clock: FakeClock) -> Memory:
    for day, text in SESSIONS:
        clock.set(datetime.fromisoformat(f"{day}T10:00:00+00:00"))
        memory.add([{"role": "user", "content": text}], **WHO, run_id=day)
        memory.sessions.end(**WHO)
    clock.set(NOW)
    return memory


@pytest.fixture
def memory(clock: FakeClock) -> Iterator[Memory]:
    with Memory(SETTINGS, clock=clock) as opened:
        yield told(opened, clock)


@pytest.fixture(params=["heuristic", "profile", "always"])
def every(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Memory]:
    """The same behind each kind of gate, with no room for a profile, so that all is recalled."""
    context = {"gate": request.param, "profile_tokens": 0, "recall_score": 0.0}
    with Memory({**SETTINGS, "context": context}, clock=clock) as opened:
        yield told(opened, clock)


@pytest.mark.req("S-24", "S-27")
def test_a_decision_about_something_known_brings_what_is_known(memory: Memory) -> None:
    pack = memory.context("Should I use Postgres?", **WHO)
    assert (str(pack.gate.route), pack.gate.matched) == ("pinned", "Postgres")
    assert "User prefers Postgres" in pack.text
    assert str(memory.context("Should I use Postgres?", user_id="bob").gate.route) == "none"
    assert str(memory.context("How do I create an index in Postgres?", **WHO).gate.route) == "none"


@pytest.mark.req("S-24")
def test_how_it_went_is_about_what_was_spoken_of_last(memory: Memory) -> None:
    pack = memory.context("So, how did it go?", **WHO)
    assert str(pack.gate.route) == "episode"
    assert "lighthouses" in pack.volatile.splitlines()[4]


PLANS: Final = (
    ("2026-05-04", "On Wednesday I have a job interview at the aquarium, and I am rather nervous about it."),
    (
        "2026-05-05",
        "I watched a long film about whales last night. The popcorn was far too salty for me and for my aunt.",
    ),
    ("2026-05-06", "We moved the old ficus into the bedroom. My friend Priya says that it needs less water there."),
)


def sessions(memory: Memory, clock: FakeClock, *texts: tuple[str, str]) -> None:
    for day, text in texts:
        clock.set(datetime.fromisoformat(f"{day}T10:00:00+00:00"))
        memory.add([{"role": "user", "content": text}], **WHO, run_id=day)
        memory.sessions.end(**WHO)
    clock.set(NOW)


def went(memory: Memory, question: str = "So, how did it go?") -> list[str]:
    return [line for line in memory.context(question, **WHO).volatile.splitlines() if line.startswith("- ")]


@pytest.mark.req("S-24")
def test_how_it_went_is_about_what_was_planned_for_a_day_that_has_come(clock: FakeClock) -> None:
    with Memory(SETTINGS, clock=clock) as memory:
        sessions(memory, clock, *PLANS)
        assert ["aquarium" in line for line in went(memory)] == [True]


@pytest.mark.req("S-24")
def test_how_it_went_is_about_what_is_spoken_of_now(clock: FakeClock) -> None:
    with Memory(SETTINGS | {"embedder": {"provider": "local"}}, clock=clock) as memory:
        later = ("2026-05-06", "Tonight is the concert of my choir, and tomorrow I have the dentist.")
        sessions(memory, clock, PLANS[0], PLANS[1], later)
        assert "dentist" in went(memory)[0]
        clock.advance(minutes=5)
        memory.add([{"role": "user", "content": "The film about whales is on again."}], **WHO, run_id="now")
        assert "whales" in went(memory)[0]
        clock.advance(hours=4)
        assert "dentist" in went(memory)[0], "that talk is over"


@pytest.mark.req("S-24")
def test_how_something_went_that_is_named_is_looked_for_in_episodes_too(clock: FakeClock) -> None:
    with Memory(SETTINGS | {"embedder": {"provider": "local"}}, clock=clock) as memory:
        sessions(memory, clock, *PLANS)
        pack = memory.context("How did my film about whales turn out?", **WHO)
        assert str(pack.gate.route) == "episode"
        assert "film about whales" in pack.volatile


@pytest.mark.req("S-24", "S-30")
def test_the_very_words_stand_in_the_order_of_the_talk(clock: FakeClock) -> None:
    talk = (
        ("The greenhouse leaks.", "A greenhouse roof that leaks is common: seal the greenhouse roof with silicone."),
        ("I put tape on it.", "Tape on a greenhouse roof will not last, a greenhouse roof needs silicone."),
    )
    with Memory(SETTINGS | {"embedder": {"provider": "local"}}, clock=clock) as memory:
        for text, answer in talk:
            both = [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
            memory.add(both, **WHO, run_id="roof")
        memory.sessions.end(**WHO)
        output = memory.context("What exactly did I say about the greenhouse roof?", **WHO).volatile
        for text, answer in talk:
            if answer in output and text in output:
                assert output.index(text) < output.index(answer)
        assert talk[0][0] in output
        lines = [line.partition("] ")[2].partition(":")[0] for line in output.splitlines() if line.startswith("- [")]
        assert lines[0] == "user"


@pytest.mark.req("S-24", "N-24")
def test_the_very_words_are_asked_for_wherever_the_word_exactly_stands(memory: Memory) -> None:
    pack = memory.context("What did I exactly say about the tomatoes?", **WHO)
    assert str(pack.gate.route) == "transcript"
    assert "user: I planted tomatoes and basil" in pack.text


@pytest.mark.req("S-24")
def test_a_time_of_the_world_brings_nothing(memory: Memory) -> None:
    pack = memory.context("When did WW2 end?", **WHO)
    assert str(pack.gate.route) == "none"
    assert pack.volatile == ""


@pytest.mark.req("S-30")
@pytest.mark.parametrize("question", ["What did we decide about the tomatoes?", "What did I plant in March?"])
def test_a_fact_is_not_shown_beside_the_episode_that_tells_it(every: Memory, question: str) -> None:
    receipt = every.receipt(every.context(question, **WHO).receipt_id)
    assert receipt is not None
    visible = {one["id"] for one in receipt["chosen"]}
    assert visible
    for episode in every.sessions.episodes(**WHO)["results"]:
        facts = {
            one["id"] for one in every.profile.facts(**WHO)["results"] if one["source_episode_id"] == episode["id"]
        }
        assert facts or "Tomorrow" in episode["summary"]
        assert not (episode["id"] in visible and facts & visible)


@pytest.mark.req("S-26")
@pytest.mark.parametrize(
    ("question", "there", "elsewhere"),
    [
        ("What did we talk about in March?", "tomatoes", ("Postgres", "lighthouses")),
        ("What did I do on 2026-03-05?", "tomatoes", ("Postgres", "lighthouses")),
        ("What did we discuss yesterday?", "lighthouses", ("Postgres", "tomatoes")),
        ("What did we decide in February?", "", ("Postgres", "lighthouses", "tomatoes")),
        ("What did we discuss last week?", "", ("Postgres", "lighthouses", "tomatoes")),
    ],
)
def test_a_question_about_a_time_brings_what_belongs_to_it(
    every: Memory, question: str, there: str, elsewhere: tuple[str, ...]
) -> None:
    found = every.context(question, **WHO).volatile
    assert there in found
    assert [one for one in elsewhere if one in found] == []


@pytest.mark.req("S-26")
def test_what_lies_ahead_and_what_is_only_told_restricts_nothing(memory: Memory) -> None:
    assert "tomatoes" in memory.context("What shall we plant in June, do you remember the tomatoes?", **WHO).text
    assert "Postgres" in memory.context("Remember that I prefer Postgres, yesterday it crashed.", **WHO).text


@pytest.mark.req("S-24", "X-42")
def test_a_message_in_another_language_brings_what_is_near_to_it(clock: FakeClock) -> None:
    with Memory({**SETTINGS, "embedder": {"provider": "local"}}, clock=clock) as memory:
        for message in ("Nuestra furgoneta está en el taller de Ramón.", "Mi tía hornea pan de centeno cada sábado."):
            memory.add([{"role": "user", "content": message}], **WHO, run_id=message[-5:])
            memory.sessions.end(**WHO)
        asked = memory.context("¿Dónde está la furgoneta?", **WHO)
        assert (str(asked.gate.route), "taller" in asked.volatile) == ("recall", True)
        for idle in ("¿Quién pintó la Gioconda?", "Muchas gracias"):
            assert memory.context(idle, **WHO).volatile == ""
