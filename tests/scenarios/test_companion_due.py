"""What is due: told when somebody begins to talk or asks what is up, on its days, until it is done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.language.en.gate.rules import asks_what_is_up
from memstone.testing.clock import FakeClock

WHO: Final[dict[str, Any]] = {"user_id": "ada", "agent_id": "bot"}
SAID: Final = (
    "I have to phone the bank about the mortgage on 8 May. I need to hand in the tax form by 14 May. "
    "I have a dentist appointment on 9 May at 3pm. We decided to paint the kitchen."
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 5, 4, 10, tzinfo=UTC))


@pytest.fixture(params=["heuristic", "profile"])
def memory(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Memory]:
    context = {"gate": request.param, "profile_tokens": 0}
    settings = {"store": {"url": "memory:"}, "preset": "companion", "write": {"mode": "manual"}, "context": context}
    with Memory({**settings, "embedder": {"provider": "hash"}}, clock=clock) as opened:
        tell(opened, SAID)
        yield opened


def tell(memory: Memory, text: str) -> None:
    memory.add([{"role": "user", "content": text}], **WHO, run_id=text.split()[1] + str(len(text)))
    memory.sessions.end(**WHO)


def due(memory: Memory, message: str = "Good morning!") -> list[str]:
    return [line for line in memory.context(message, **WHO).volatile.splitlines() if line.endswith("(due)")]


@pytest.mark.req("S-31")
def test_what_is_due_is_told_on_its_days_with_its_date(memory: Memory, clock: FakeClock) -> None:
    bank = "- [2026-05-08] I have to phone the bank about the mortgage on 8 May. (due)"
    dentist = "- [2026-05-09] User has a dentist appointment on 9 May at 3pm. (due)"
    tax = "- [2026-05-14] I need to hand in the tax form by 14 May. (due)"
    output = {}
    for day in range(4, 20):
        clock.set(datetime(2026, 5, day, 10, tzinfo=UTC))
        output[day] = due(memory)
    assert [day for day, lines in output.items() if bank in lines] == list(range(6, 12))
    assert [day for day, lines in output.items() if dentist in lines] == list(range(7, 13))
    assert [day for day, lines in output.items() if tax in lines] == list(range(12, 18))
    assert output[8] == [bank, dentist]
    clock.set(datetime(2026, 5, 8, 10, tzinfo=UTC))
    assert due(memory, "What do I have to do today?") == [bank, dentist]
    for message in ("What is 17 times 23?", "What is next in a linked list in python?", "Tell me a joke"):
        assert due(memory, message) == []


@pytest.mark.req("S-31")
def test_what_is_done_or_was_deleted_is_not_due_any_more(memory: Memory, clock: FakeClock) -> None:
    clock.set(datetime(2026, 5, 8, 10, tzinfo=UTC))
    tell(memory, "I phoned the bank about the mortgage this morning, that is done now, thank you very much.")
    assert [line for line in due(memory) if "bank" in line] == []
    (dentist,) = [one["id"] for one in memory.get_all(**WHO)["results"] if "dentist" in one["memory"]]
    memory.delete(dentist)
    assert due(memory) == []


@pytest.mark.req("S-31")
@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("hi", True),
        ("Hello again!", True),
        ("What's up?", True),
        ("what is due today?", True),
        ("Any deadlines this week?", True),
        ("Hi, can you write a regex?", False),
        ("What is next() in python?", False),
        ("How are tides made?", False),
        ("ok thanks", False),
    ],
)
def test_who_begins_to_talk_or_asks_what_is_up(message: str, asks: bool) -> None:  # noqa: FBT001 - drawn
    assert asks_what_is_up(message) is asks
