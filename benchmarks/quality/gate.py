"""Whether the gate opens for the messages that need memory, and for no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.cases import lines, reading
from benchmarks.quality.metrics import detection
from benchmarks.quality.report import Row, Table
from memstone.core.gate import decide_route
from memstone.language.en.english import English


@dataclass(frozen=True, slots=True)
class Decided:
    """A labelled message, and what the gate said to it."""

    kind: str
    needs: bool
    opened: bool


def decided(path: Path) -> list[Decided]:
    """Return the messages of a file, each put to the gate by itself, with no names known."""
    with reading(path, "text, needs_memory, kind"):
        return [
            Decided(row.get("kind", ""), row["needs_memory"], decide_route(row["text"], English()).helps)
            for row in lines(path)
        ]


def tables(paths: Sequence[Path]) -> list[Table]:
    """Return a line a file, and how many messages of each kind were decided as labelled."""
    found = {path.name: decided(path) for path in paths}
    header = ("messages", "n", "need memory", "precision", "recall", "F1", "accuracy")
    by_file = Table("", header, [_row(name, some) for name, some in found.items()])
    return [by_file, _by_kind([one for some in found.values() for one in some])]


def _row(name: str, some: Sequence[Decided]) -> Row:
    answer = detection([one.opened for one in some], [one.needs for one in some])
    needing = sum(one.needs for one in some)
    return name, str(len(some)), str(needing), *map(str, (answer.precision, answer.recall, answer.f1, answer.accuracy))


def _by_kind(every: Sequence[Decided]) -> Table:
    rows: list[Row] = []
    for kind in sorted({one.kind for one in every}):
        some = [one for one in every if one.kind == kind]
        right = sum(one.opened == one.needs for one in some)
        rows.append((kind, "yes" if some[0].needs else "no", f"{right} of {len(some)}"))
    return Table("By kind", ("kind", "needs memory", "as labelled"), rows)
