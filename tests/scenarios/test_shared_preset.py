"""The shared preset from beginning to end: several users, links, replacements, a starting set, decisions, figures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

SHARED = {"preset": "shared", "store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
OFFICE = "The office is in Lisbon"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(clock: FakeClock) -> Iterator[Memory]:
    """A memory of the shared preset. Vectors of words are no vectors of meaning: any likeness is enough.

    What forms memory in the background does it when it is told to, so that a test knows when it has.
    """
    with Memory({**SHARED, "context": {"min_score": 0.0}, "write": {"mode": "manual"}}, clock=clock) as memory:
        yield memory


def say(memory: Memory, clock: FakeClock, words: str, user: str, **rest: Any) -> None:
    """Say something, and let what forms memory in the background come to its end."""
    clock.advance(minutes=1)
    assert memory.add(words, user_id=user, **rest)["status"] in {"queued", "ok"}
    memory.sessions.flush(everybody=True)


def held(memory: Memory, user: str) -> list[str]:
    return sorted(one["memory"] for one in memory.get_all(user_id=user)["results"])


@pytest.mark.req("P-16", "P-3", "P-4", "D-16", "X-10")
def test_a_replacement_in_the_background_is_for_one_user_and_the_audit_has_both_ids(
    memory: Memory, clock: FakeClock
) -> None:
    say(memory, clock, "I live in Oslo", "alice")
    (fact,) = memory.get_all(user_id="alice")["results"]
    memory.sharing.share(fact["id"], user_id="bob")
    say(memory, clock, "I moved to Bergen", "alice")

    assert held(memory, "alice") == ["User moved to Bergen."]
    assert held(memory, "bob") == ["User lives in Oslo."]
    (audit,) = memory.review.replacements(user_id="alice")["results"]
    (own,) = memory.get_all(user_id="alice")["results"]
    assert (audit["old_id"], audit["new_id"]) == (fact["id"], own["id"])
    assert audit["reason"]
    assert memory.review.replacements(user_id="bob")["results"] == []


@pytest.mark.req("P-21", "P-16")
def test_what_was_said_earlier_replaces_nothing_whoever_holds_it(memory: Memory, clock: FakeClock) -> None:
    say(memory, clock, "I moved to Bergen", "alice", occurred_at="2026-03-01T10:00:00Z")
    (fact,) = memory.get_all(user_id="alice")["results"]
    memory.sharing.share(fact["id"], user_id="bob")
    say(memory, clock, "I live in Oslo", "alice", occurred_at="2026-02-01T10:00:00Z")
    assert "User moved to Bergen." in held(memory, "alice")
    assert held(memory, "bob") == ["User moved to Bergen."]
    (overtaken,) = memory.review.replacements(user_id="alice")["results"]
    assert (overtaken["new_id"], overtaken["reason"]) == (fact["id"], "a later statement is already known")

    say(memory, clock, "I moved to Rome", "alice", occurred_at="2026-04-01T10:00:00Z")
    assert "User moved to Rome." in held(memory, "alice")
    assert held(memory, "bob") == ["User moved to Bergen."]


@pytest.mark.req("P-22", "X-31", "D-14")
def test_a_newcomer_sees_the_starting_set_with_four_memories_and_not_with_five(memory: Memory) -> None:
    start = memory.add(OFFICE, user_id="*", infer=False)["results"][0]["id"]

    def sees(user: str) -> tuple[bool, bool]:
        found = [one["id"] for one in memory.search("Where is the office in Lisbon?", user_id=user)["results"]]
        pack = memory.context("Where is the office in Lisbon?", user_id=user, gate="always")
        return start in found, OFFICE in pack.text

    assert sees("alice") == (True, True)
    for number in range(4):
        memory.add(f"note number {number}", user_id="alice", infer=False)
    assert sees("alice") == (True, True)
    memory.add("note number 4", user_id="alice", infer=False)
    assert sees("alice") == (False, False)
    assert sees("bob") == (True, True)

    # Nothing was linked or copied: what bob saw was never his, and what he used counts for nobody.
    assert held(memory, "bob") == []
    lines = [line for line in memory.export(everybody=True) if line["type"] == "memory" and line["id"] == start]
    assert [link["user_id"] for line in lines for link in line["links"]] == ["*"]


@pytest.mark.req("P-22", "D-14")
def test_a_memory_is_put_into_the_starting_set_by_sharing_it(memory: Memory) -> None:
    own = memory.add(OFFICE, user_id="alice", infer=False)["results"][0]["id"]
    assert memory.search("office in Lisbon", user_id="bob")["results"] == []
    memory.sharing.share(own, user_id="*")
    assert [one["id"] for one in memory.search("office in Lisbon", user_id="bob")["results"]] == [own]
    memory.sharing.unshare(own, user_id="*")
    assert memory.search("office in Lisbon", user_id="bob")["results"] == []
    assert held(memory, "alice") == [OFFICE]


@pytest.mark.req("P-23", "D-15")
def test_every_background_run_logs_and_keeps_its_decisions(
    memory: Memory, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="memstone"):
        say(memory, clock, "I live in Oslo. I like tea.", "alice")
        say(memory, clock, "I moved to Bergen", "alice")
    runs = [record.__dict__ for record in caplog.records if record.__dict__.get("event") == "memory_decision"]
    assert [(run["user_id"], run["extracted_count"]) for run in runs] == [("alice", 2), ("alice", 1)]
    assert runs[0]["input_message_length"] == len("I live in Oslo. I like tea.")
    assert [one["action"] for run in runs for one in run["decisions"]] == ["add", "add", "replace"]
    assert all(one["target_id"] for run in runs for one in run["decisions"])
    assert "Oslo" not in caplog.text

    last, first = memory.admin.jobs(task="facts", everybody=True)["results"]
    facts = [one["fact"] for one in first["details"]["decisions"]]
    assert facts == ["User lives in Oslo.", "User likes tea."]
    (changed,) = last["details"]["decisions"]
    assert (changed["fact"], changed["action"]) == ("User moved to Bergen.", "replace")
    assert changed["reason"]
    assert changed["target_id"]


@pytest.mark.req("P-24", "D-15", "D-7", "D-18")
def test_the_four_figures_after_a_day_of_use(memory: Memory, clock: FakeClock) -> None:
    say(memory, clock, "I live in Oslo", "alice")
    say(memory, clock, "I like tea", "alice")
    say(memory, clock, "I moved to Bergen", "alice")
    say(memory, clock, "Did I say that I like tea?", "alice")
    say(memory, clock, "I like tea", "alice")
    pack = memory.context("I moved, and like which tea?", user_id="alice", gate="always")
    answer = memory.review.record_answer(pack.receipt_id, "Any you can buy in Bergen.")
    assert answer["used"]
    assert answer["unused"]

    figures = memory.admin.metrics(user_id="alice")
    assert figures["memory_total_count"] == 2
    assert figures["memory_replacement_rate"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["memory_dedup_rate"] == pytest.approx(1 / 4, abs=1e-4)
    visible_count = len(answer["used"]) + len(answer["unused"])
    assert figures["retrieval_hit_rate"] == pytest.approx(len(answer["used"]) / visible_count, abs=1e-4)
