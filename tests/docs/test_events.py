"""The page of events and the code say the same: every event with its level and its fields, read off the calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from memstone.server.gateway.counts import Skip

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "memstone"
PAGE: Final = ROOT / "docs" / "reference" / "events.md"
NAME: Final = re.compile(r"[a-z_]+(\.[a-z_]+)*")
LEVELS: Final = ("debug", "info", "warning", "error")
LOGS: Final = re.compile(r"\blog_event\b|\blog\s*\.")
"""What stands in the code of every module that logs an event: the others need not be parsed."""
FORMAL: Final = frozenset({"exc_info", "logger"})
"""What a call says about the line and not about the event."""


class Call(NamedTuple):
    """A place in the code that logs an event."""

    name: str
    level: str
    fields: frozenset[str]
    where: str


def calls() -> Iterator[Call]:
    """Every call that logs an event: ``log_event`` in the library, the log of the service."""
    written = {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    for path, code in written.items():
        for node in ast.walk(ast.parse(code)) if LOGS.search(code) else ():
            if isinstance(node, ast.Call) and (level := _level(node, path)) and (name := _name(node)):
                value = frozenset(one.arg or "**" for one in node.keywords) - FORMAL
                yield Call(name, level, value, f"{path.relative_to(ROOT)}:{node.lineno}")


def _level(node: ast.Call, path: Path) -> str:
    if isinstance(node.func, ast.Name) and node.func.id == "log_event":
        items = node.args[1:2]
        return ast.unparse(items[0]).rpartition(".")[2].lower() if items else "info"
    ours = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "log"
    assert not ours or "server" in path.parts or not _name(node), f"{path}:{node.lineno} logs without log_event"
    return node.func.attr if ours and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS else ""


def _name(node: ast.Call) -> str:
    first = node.args[0] if node.args else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    assert text or not isinstance(node.func, ast.Name), f"an event without a fixed name in line {node.lineno}"
    return text if NAME.fullmatch(text) else ""


def page(columns: int) -> list[list[str]]:
    """The rows of the tables with so many columns."""
    rows = [
        re.split(r"\s*\|\s*", line.strip())[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line[:1] == "|"
    ]
    return [row for row in rows if len(row) == columns and row[0].startswith("`")]


def listed(cell: str) -> frozenset[str]:
    return frozenset(part.strip(" `") for part in cell.split(",") if part.strip())


@pytest.mark.req("O-38", "O-54", "O-62", "O-98")
def test_the_page_lists_every_event_of_the_code_with_its_levels_and_fields() -> None:
    found: dict[str, tuple[set[str], set[str]]] = {}
    for call in calls():
        assert "**" not in call.fields, f"{call.where}: name the fields of {call.name}, so that they can be looked up"
        levels, fields = found.setdefault(call.name, (set(), set()))
        levels.add(call.level)
        fields.update(call.fields)
    documented = {row[0].strip("`"): (set(listed(row[1])), set(listed(row[2]))) for row in page(4)}
    assert documented == found


@pytest.mark.req("O-38", "O-54", "O-62", "O-98")
def test_the_page_has_the_events_others_rely_on_under_their_names() -> None:
    documented = {row[0].strip("`"): listed(row[2]) for row in page(4)}
    relied_on = {
        "memory.extraction.start": {"owner"},
        "memory.extraction.fact_found": {"key", "category"},
        "memory.extraction.complete": {"owner", "factCount"},
        "memory.extraction.background.failed": set[str](),
        "memory.retrieval.start": {"owner", "strategy"},
        "memory.retrieval.complete": {"owner", "count", "tier"},
        "memory.retrieval.selected": {"ids"},
        "memory.injection.injected": {"count", "strategy", "model"},
        "memory.injection.skipped": {"reason", "model"},
        "memory.stored": {"owner", "type", "id"},
        "memory.updated": {"owner", "type", "id", "key"},
        "memory.deleted": {"id"},
    }
    assert {name: fields for name, fields in relied_on.items() if not fields <= documented[name]} == {}


@pytest.mark.req("O-62")
def test_the_page_lists_every_reason_to_show_nothing() -> None:
    assert [row[0].strip("`") for row in page(2)] == list(Skip)
