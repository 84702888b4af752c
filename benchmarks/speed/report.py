"""From readings to a table: each metric with its target, the peer and the floor beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.speed.plan import LARGE_USERS, TALK_SIZE, USERS, Results

MICROSECONDS: Final = 1e3
OVER: Final = "OVER"
NO_READING: Final = "no reading"
MISSED: Final = frozenset({OVER, NO_READING})
HEADER: Final = ("metric", "Memstone", "target", "", "mem0", "mem0 / Memstone", "floor", "Memstone / floor")


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table. ``path`` leads to the number in a system's results; ``times`` changes its unit."""

    label: str
    unit: str
    path: tuple[str, ...]
    target: float | None = None
    times: float = 1.0
    more_is_better: bool = False

    def read(self, results: dict[str, Any]) -> float | None:
        """Return the number, or None when the system has none."""
        found: Any = results
        for step in self.path:
            found = found.get(step) if isinstance(found, dict) else None
        return None if found is None else float(found) * self.times

    def holds(self, value: float) -> bool:
        """Return whether the target is met; true when there is none."""
        if self.target is None:
            return True
        return value >= self.target if self.more_is_better else value <= self.target

    def ratio(self, above: float | None, below: float | None) -> str:
        """Return how many times one is the other; nothing where more is better, because there it would mislead."""
        if above is None or not below or self.more_is_better:
            return ""
        times = above / below
        return f"{times:,.0f}x" if times >= 10 else f"{times:.2g}x"


TARGETS: Final = {
    ("search", 10_000, 1): 5.0,
    ("search", 10_000, 100): 2.0,
    ("search", 50_000, 1): 15.0,
    ("first", 50_000, 100): 50.0,
    ("rss", 10_000, 1): 120.0,
    ("rss", 10_000, 100): 120.0,
}
"""Milliseconds of CPU, or MB."""


def metrics(sizes: Sequence[int], large: int) -> list[Metric]:
    """Return the lines of the table for the sizes that were run."""
    lines: list[Metric] = []
    for size in sizes:
        for users in USERS:
            lines += _of_corpus(size, users)
    if large:
        tag = f"calls.{large}.{LARGE_USERS}"
        lines.append(Metric(f"search, {large:,} of {LARGE_USERS:,} users", "ms", (tag, "search", "cpu"), 15.0))
        lines.append(Metric("  nearest ten = brute force", "of 25", (tag, "exact", "equal"), 25, more_is_better=True))
    return lines + (_TALK if TALK_SIZE in sizes else []) + _ONCE


def _of_corpus(size: int, users: int) -> list[Metric]:
    tag, owner = f"{size}.{users}", f"{size:,} of {users} user{'s' * (users > 1)}"
    calls = f"calls.{tag}"
    return [
        Metric(f"search, {owner}", "ms", (calls, "search", "cpu"), TARGETS.get(("search", size, users))),
        Metric("  nearest ten = brute force", "of 25", (calls, "exact", "equal"), 25, more_is_better=True),
        Metric(f"add, {owner}", "ms", (calls, "add", "cpu"), 0.5),
        Metric(f"batch of 500, {owner}", "ms", (calls, "batch", "cpu"), 80.0),
        Metric(f"get, {owner}", "µs", (calls, "get", "cpu"), 30.0, MICROSECONDS),
        Metric(f"history, {owner}", "µs", (calls, "history", "cpu"), 60.0, MICROSECONDS),
        Metric(
            f"open + first search, {owner}",
            "ms",
            (f"reopen.{tag}", "first_search_cpu_ms"),
            TARGETS.get(("first", size, users)),
        ),
        Metric(f"resident memory, {owner}", "MB", (f"reopen.{tag}", "rss_mb"), TARGETS.get(("rss", size, users))),
        Metric(f"8 threads / 1 thread, {owner}", "x", (f"threads.{tag}", "eight_to_one"), 1.0, more_is_better=True),
        Metric(f"fill, {owner}", "s", (f"fill.{tag}", "fill_cpu_s")),
        Metric(f"on disk, {owner}", "MB", (f"fill.{tag}", "stored_mb")),
    ]


_TALK: Final = [
    Metric(f"everything on: search, {TALK_SIZE:,} of 1 user", "ms", (f"talk.{TALK_SIZE}.1", "search", "cpu"), 8.0),
    Metric(f"everything on: search, {TALK_SIZE:,} of 100 users", "ms", (f"talk.{TALK_SIZE}.100", "search", "cpu"), 4.0),
    Metric("everything on: a stored turn, 1 user", "ms", (f"talk.{TALK_SIZE}.1", "add", "cpu"), 0.7),
    Metric("everything on: a stored turn, 100 users", "ms", (f"talk.{TALK_SIZE}.100", "add", "cpu"), 0.7),
]

_ONCE: Final = [
    Metric("add on disk, wall p50", "ms", ("disk", "add", "wall_p50")),
    Metric("commits per add", "", ("disk", "commits_per_add"), 1.0),
    Metric("import of the package", "ms", ("import", "cpu_ms"), 60.0),
    Metric("  heavy modules it loads", "", ("import", "heavy_count"), 0.0),
    Metric("import of Memory", "ms", ("import_memory", "cpu_ms")),
    Metric("distributions installed", "", ("footprint", "distributions"), 25.0),
    Metric("size installed", "MB", ("footprint", "megabytes"), 350.0),
]


def rows(results: Results, lines: Iterable[Metric]) -> list[tuple[str, ...]]:
    """Return the table without its header; a metric no system has a number for is left out."""
    table: list[tuple[str, ...]] = []
    for line in lines:
        ours, peer, floor = (line.read(results.get(system, {})) for system in ("memstone", "mem0", "floor"))
        if ours is None and peer is None and floor is None:
            continue
        target = "" if line.target is None else number(line.target, line.unit)
        beside = (number(peer, line.unit), line.ratio(peer, ours), number(floor, line.unit), line.ratio(ours, floor))
        table.append((line.label, number(ours, line.unit), target, verdict(line, ours), *beside))
    return table


def verdict(line: Metric, ours: float | None) -> str:
    """Return whether Memstone meets the target; nothing where there is none."""
    if line.target is None:
        return ""
    if ours is None:
        return NO_READING
    return "ok" if line.holds(ours) else OVER


def number(value: float | None, unit: str) -> str:
    """Return three significant digits and the unit; nothing for None."""
    if value is None:
        return ""
    digits = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{digits} {unit}".strip()


def markdown(title: str, facts: Sequence[tuple[str, str]], table: Sequence[tuple[str, ...]]) -> str:
    """Return the whole report."""
    lines = [f"# {title}", ""]
    lines += [f"- {name}: {value}" for name, value in facts]
    lines += ["", *_grid([HEADER, *table]), ""]
    return "\n".join(lines)


def _grid(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in table]
    lines = [f"| {' | '.join(cells)} |" for cells in padded]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
