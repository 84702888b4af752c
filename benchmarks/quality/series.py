"""What is learned without a model from people whose every message is labelled: what is stored, changed and missed.

A line of a series is one message of a person: the facts it states, the earlier facts it changes (``ends``,
``replaces``, ``amends``) or repeats. Each message is added as an application would add it, in the order of the days. A
memory stands for the labelled facts whose words it comes from; one that stands for none was not worth storing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.quality.report import Table
from memstone import Memory
from memstone.results import AddEvent, Evidence

_OVERLAP: Final = 0.5
"""A memory stands for a fact if it comes from so much of its words, or so much of its own words state it."""


@dataclass(slots=True)
class Replay:
    """One person's memory while their messages come in: which labelled facts each memory stands for."""

    facts_of: dict[str, set[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    texts: list[dict[str, Any]] = field(default_factory=list)
    """Every stored text with the message it comes from, for whoever reads and judges them."""

    def take(self, line: dict[str, Any], results: Iterable[AddEvent]) -> None:
        """Count what became of one message."""
        changed, wanted = set[str](), {one["fact"] for one in line["changes"]}
        reachable = {fact for fact in wanted for existing in self.facts_of.values() if fact in existing}
        stated = set[str]()
        for one in results:
            facts = set(_facts_at(line, one.get("evidence")))
            stated |= facts
            before = self.facts_of.setdefault(one["id"], set())
            if one["event"] == "ADD":
                self._add(line, one, facts)
            elif one["event"] in ("UPDATE", "DELETE"):
                self._change(one, before, wanted)
                changed |= before
            if one["event"] != "NONE":
                before |= facts
        self.counts["facts"] += len(line["facts"])
        self.counts["facts known"] += len(stated & {one["id"] for one in line["facts"]})
        self.counts["changes"] += len(wanted)
        self.counts["changes of what is known"] += len(reachable)
        self.counts["changes found"] += len(reachable & changed)

    def _add(self, line: dict[str, Any], one: AddEvent, facts: set[str]) -> None:
        self.counts["memories"] += 1
        self.counts["memories of no fact"] += not facts
        output = {name: line[name] for name in ("person", "before", "message")}
        self.texts.append({**output, "memory": one["memory"], "facts": sorted(facts)})

    def _change(self, one: AddEvent, before: set[str], wanted: set[str]) -> None:
        if "says the same and more" in (one.get("reason") or ""):
            return
        self.counts["changes made"] += 1
        self.counts["changes made, right"] += bool(before & wanted)


def _facts_at(line: dict[str, Any], evidence: Evidence | None) -> Iterator[str]:
    """Yield the labelled facts whose words a memory comes from."""
    start, end = (evidence["start"], evidence["end"]) if evidence else (0, 0)
    for fact in line["facts"]:
        begin = line["message"].find(fact["quote"])
        stop = begin + len(fact["quote"])
        shared = min(end, stop) - max(start, begin)
        if shared > 0 and shared >= _OVERLAP * min(stop - begin, end - start):
            yield fact["id"]


def replay(path: Path) -> Replay:
    """Feed all people of a file to a memory of their own, and count."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    people: dict[str, Replay] = {}
    with TemporaryDirectory() as folder, Memory({"store": {"url": f"sqlite:///{folder}/m.db"}}) as memory:
        for at, line in enumerate(lines):
            texts = [{"role": "assistant", "content": line["before"]}] if line["before"] else []
            texts.append({"role": "user", "content": line["message"]})
            when = f"{line['day']}T{10 + at % 10}:00:00Z"
            results = memory.add(texts, user_id=line["person"], occurred_at=when)["results"]
            people.setdefault(line["person"], Replay()).take(line, results)
    full = Replay()
    for one in people.values():
        full.counts.update(one.counts)
        full.texts += one.texts
    return full


def tables(paths: Sequence[Path]) -> list[Table]:
    """Return a row for each author, and one for all."""
    rows, total = list[tuple[str, ...]](), Counter[str]()
    for path in paths:
        counts = replay(path).counts
        total.update(counts)
        rows.append(_row(path.stem, counts))
    header = (
        "author",
        "facts known",
        "memories of no fact",
        "changes made",
        "of these right",
        "changes of what is known that were found",
    )
    return [Table("Labelled series", header, [*rows, _row("all", total)] if len(rows) > 1 else rows)]


def _row(name: str, counts: Counter[str]) -> tuple[str, ...]:
    return (
        name,
        _share(counts["facts known"], counts["facts"]),
        _share(counts["memories of no fact"], counts["memories"]),
        str(counts["changes made"]),
        _share(counts["changes made, right"], counts["changes made"]),
        _share(counts["changes found"], counts["changes of what is known"]),
    )


def _share(some: int, every: int) -> str:
    return f"{some / every:.3f} ({some} of {every})" if every else "-"
