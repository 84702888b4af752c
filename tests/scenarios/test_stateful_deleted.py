"""What a person deleted does not come back by itself, whatever runs over it; said again, it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.literals import LayerName
from memstone.testing.clock import FakeClock

TALK: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "I live in Oslo."},
    {"role": "assistant", "content": "Good to know."},
    {"role": "user", "content": "I have a dog named Rex, and we walk along the river every morning before work."},
]
WHO: Final[dict[str, Any]] = {"user_id": "alice", "run_id": "monday"}


def memory_of(clock: FakeClock) -> Memory:
    """A memory that distils sessions and consolidates what it has."""
    return Memory(
        {
            "store": {"url": "memory:"},
            "embedder": {"provider": "hash"},
            "write": {"digest": True},
            "upkeep": {"merge_facts": 0.8},
        },
        clock=clock,
    )


def said(memory: Memory, layers: tuple[LayerName, ...] = ("fact", "episode", "identity")) -> list[str]:
    """Everything that was learned and is there."""
    return sorted(one["memory"] for one in memory.get_all(user_id="alice", layers=layers)["results"])


def everything_that_runs_by_itself(memory: Memory, clock: FakeClock) -> None:
    """All that could bring something back: the same words told again, distilled, imported, consolidated."""
    steps: list[Callable[[], Any]] = [
        lambda: memory.add(TALK, **WHO),
        lambda: memory.sessions.end(**WHO),
        lambda: memory.admin.consolidate(everybody=True),
        lambda: memory.ingest(TALK, **WHO, learn=True),
        lambda: memory.sessions.flush(user_id="alice"),
        lambda: memory.sessions.ingest(TALK, **WHO),
        lambda: memory.load(list(memory.export(everybody=True))),
        lambda: memory.admin.consolidate(everybody=True),
        memory.admin.reindex,
    ]
    for step in steps:
        clock.advance(hours=1)
        step()
    assert memory.get_all(user_id="alice", layers=["episode"])["results"], "it was distilled"


@pytest.mark.req("X-30")
def test_a_deleted_fact_does_not_return_until_it_is_said_again() -> None:
    clock = FakeClock()
    with memory_of(clock) as memory:
        memory.add(TALK, **WHO)
        home = next(one for one in memory.get_all(user_id="alice")["results"] if "Oslo" in one["memory"])
        clock.advance(hours=1)
        memory.delete(home["id"])
        assert not any("Oslo" in text for text in said(memory, ("fact",)))

        everything_that_runs_by_itself(memory, clock)

        assert not any("Oslo" in text for text in said(memory))
        assert any("Rex" in text for text in said(memory)), "the rest is there"
        assert "Oslo" not in memory.context("Where do I live?", user_id="alice").text
        assert memory.search("Oslo", user_id="alice", layers=["fact", "episode"], strategy="text")["results"] == []

        clock.advance(days=1)
        memory.add("I live in Oslo.", user_id="alice", run_id="tuesday")

        assert any("Oslo" in text for text in said(memory, ("fact",))), "said again, it is known again"


@pytest.mark.req("X-30", "R-20")
def test_a_deletion_that_was_taken_back_leaves_nothing_behind() -> None:
    clock = FakeClock()
    with memory_of(clock) as memory:
        memory.add(TALK, **WHO)
        before = said(memory, ("fact",))
        home = next(one for one in memory.get_all(user_id="alice")["results"] if "Oslo" in one["memory"])
        clock.advance(hours=1)
        memory.delete(home["id"])
        memory.undo(memory.history(home["id"])[-1]["id"])

        everything_that_runs_by_itself(memory, clock)

        assert [text for text in said(memory, ("fact",)) if "Oslo" in text] == [
            text for text in before if "Oslo" in text
        ]
        assert memory.get(home["id"]) is not None
