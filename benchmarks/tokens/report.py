"""From readings to tables: what an ``add`` costs, where the tokens go, and what is remembered for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, Final

Reading = dict[str, Any]
Row = tuple[str, ...]

SYSTEMS: Final = ("memstone", "mem0")
COSTS_HEADER: Final = ("per add", "Memstone", "mem0", "mem0 / Memstone")
MEMORY_HEADER: Final = ("in the end", "Memstone", "mem0")
PARTS_HEADER: Final = ("tokens per call", "calls", "system", "context", "conversation", "answer", "schema")
_MESSAGES: Final = ("system", "context", "conversation")
_PARTS: Final = (*_MESSAGES, "out", "schema")


def calls(add: Reading) -> float:
    """Return how often the model was asked."""
    return len(add["calls"])


def tokens_in(add: Reading) -> float:
    """Count the tokens of all messages."""
    return _sum(add, _MESSAGES)


def tokens_out(add: Reading) -> float:
    """Count the tokens of all answers."""
    return _sum(add, ("out",))


def tokens(add: Reading) -> float:
    """Count the tokens both ways."""
    return tokens_in(add) + tokens_out(add)


def tokens_with_schema(add: Reading) -> float:
    """Count the tokens both ways, and those of the schemas of the answers."""
    return _sum(add, _PARTS)


def _sum(add: Reading, parts: Sequence[str]) -> float:
    return float(sum(call[part] for call in add["calls"] for part in parts))


COSTS: Final[tuple[tuple[str, Callable[[Reading], float]], ...]] = (
    ("LLM calls", calls),
    ("tokens in", tokens_in),
    ("tokens out", tokens_out),
    ("tokens", tokens),
    ("tokens, with schemas", tokens_with_schema),
)
_WHEN: Final = (("first time", False), ("resend", True))


def costs(systems: dict[str, Reading]) -> list[Row]:
    """Return means and maxima of both systems, the first time and when the same conversation is sent again."""
    rows: list[Row] = []
    for when, resend in _WHEN:
        for label, cost in COSTS:
            ours, others = ([cost(add) for add in _adds(systems[name], resend=resend)] for name in SYSTEMS)
            rows.append((f"{label}, {when}, mean", *_beside(fmean(ours), fmean(others))))
            rows.append((f"{label}, {when}, max", *_beside(max(ours), max(others))))
    return rows


def _adds(reading: Reading, *, resend: bool) -> list[Reading]:
    return [add for add in reading["adds"] if add["resend"] is resend]


def _beside(ours: float, other: float) -> Row:
    ratio = f"{other / ours:.2f}x" if ours else ("1.00x" if not other else "")
    return _number(ours), _number(other), ratio


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def memory(systems: dict[str, Reading]) -> list[Row]:
    """Return what is remembered, and what should not be."""
    verdicts = [systems[name]["verdict"] for name in SYSTEMS]
    lines = [("live memories", *(str(verdict["live"]) for verdict in verdicts))]
    for label, key in (
        ("duplicates", "duplicates"),
        ("stale facts still live", "stale"),
        ("true facts missing", "missing"),
        ("texts nobody said", "unknown"),
    ):
        lines.append((label, *(str(len(verdict[key])) for verdict in verdicts)))
    return lines


def parts(systems: dict[str, Reading]) -> list[Row]:
    """Return the mean of every part of a call, by the kind of question."""
    rows: list[Row] = []
    for name in SYSTEMS:
        asked = [call for add in systems[name]["adds"] for call in add["calls"]]
        for shape in dict.fromkeys(call["shape"] for call in asked):
            alike = [call for call in asked if call["shape"] == shape]
            means = (_number(fmean(call[part] for call in alike)) for part in _PARTS)
            rows.append((f"{name}: {shape}", str(len(alike)), *means))
    return rows


def wrong(systems: dict[str, Reading]) -> list[str]:
    """Return every memory that should not be there, or should, by name."""
    lines = []
    for name in SYSTEMS:
        for kind in ("duplicates", "stale", "missing", "unknown"):
            lines += [f"- {name}, {kind}: {text}" for text in systems[name]["verdict"][kind]]
    return lines or ["- nothing"]


def cheaper(systems: dict[str, Reading]) -> bool:
    """Return whether Memstone needs fewer tokens per add, schemas and resends included."""
    ours, other = (fmean(tokens_with_schema(add) for add in systems[name]["adds"]) for name in SYSTEMS)
    return ours < other


def markdown(title: str, facts: Iterable[tuple[str, str]], results: dict[str, dict[str, Reading]]) -> str:
    """Return the whole report."""
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in facts), ""]
    for model, systems in results.items():
        lines += [f"## With the {model} model", "", *_grid([COSTS_HEADER, *costs(systems)]), ""]
        lines += [*_grid([MEMORY_HEADER, *memory(systems)]), "", *_grid([PARTS_HEADER, *parts(systems)]), ""]
        lines += ["What is wrong in the end:", "", *wrong(systems), ""]
    return "\n".join(lines)


def _grid(table: Sequence[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in table]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
