"""The benchmark of labelled series: which labelled facts a memory stands for, and which changes are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.quality.series import Replay, replay, tables
from memstone.literals import AddEventName
from memstone.results import AddEvent


def line(
    message: str, *facts: tuple[str, str], changes: tuple[str, ...] = (), day: str = "2026-01-05"
) -> dict[str, Any]:
    stated = [{"id": name, "quote": quote, "fact": quote, "about": "user", "kind": "home"} for name, quote in facts]
    changed = [{"fact": name, "quote": message, "how": "replaces"} for name in changes]
    named: dict[str, Any] = {"person": "p1", "day": day, "before": "", "message": message}
    return {**named, "facts": stated, "rest": [], "changes": changed, "repeats": []}


def result(event: AddEventName, name: str, start: int, end: int) -> AddEvent:
    return {
        "event": event,
        "id": name,
        "memory": "m",
        "old_memory": None,
        "new_memory": None,
        "metadata": {},
        "evidence": {"turn": None, "start": start, "end": end},
        "reason": "",
    }


def test_a_memory_stands_for_the_facts_whose_words_it_comes_from() -> None:
    answer = Replay()
    answer.take(line("I live in Oslo. It rains.", ("f1", "I live in Oslo.")), [result("ADD", "m1", 0, 15)])
    answer.take(line("It rains."), [result("ADD", "m2", 0, 9)])
    assert answer.facts_of == {"m1": {"f1"}, "m2": set()}
    assert (answer.counts["memories"], answer.counts["memories of no fact"]) == (2, 1)
    assert (answer.counts["facts"], answer.counts["facts known"]) == (1, 1)


def test_a_change_is_right_where_the_memory_stands_for_a_fact_that_changes() -> None:
    answer = Replay()
    answer.take(line("I live in Oslo.", ("f1", "I live in Oslo.")), [result("ADD", "m1", 0, 15)])
    answer.take(line("I like tea.", ("f2", "I like tea.")), [result("ADD", "m2", 0, 11)])
    moved = line("I moved to Rome.", ("f3", "I moved to Rome."), changes=("f1",))
    answer.take(moved, [result("UPDATE", "m1", 0, 16), result("UPDATE", "m2", 0, 16)])
    assert (answer.counts["changes made"], answer.counts["changes made, right"]) == (2, 1)
    assert (answer.counts["changes of what is known"], answer.counts["changes found"]) == (1, 1)
    assert answer.facts_of["m1"] == {"f1", "f3"}


def test_a_file_is_played_through_a_memory_of_its_own(tmp_path: Path) -> None:
    texts = [
        line("I live in Oslo.", ("f1", "I live in Oslo.")),
        line("I moved to Bergen.", ("f2", "I moved to Bergen."), changes=("f1",), day="2026-02-05"),
    ]
    path = tmp_path / "author.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in texts), "utf-8")
    counts = replay(path).counts
    assert (counts["facts known"], counts["changes made, right"], counts["changes found"]) == (2, 1, 1)
    (table,) = tables([path])
    assert [row[0] for row in table.rows] == ["author"]
