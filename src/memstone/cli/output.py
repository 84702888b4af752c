"""Where everything is printed: for people as tables, for programs as JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from memstone.cli.table import Table, pairs

_STYLES: Final = {
    "head": "1",
    "name": "2",
    "dim": "2",
    "bold": "1",
    "good": "32",
    "warn": "33",
    "bad": "31",
    "note": "36",
    "title": "1;36",
}
_EVENTS: Final = {"ADD": "good", "UPDATE": "warn", "REPLACE": "warn", "DELETE": "bad", "ERROR": "bad"}
_PARTS: Final = {
    "dense": "dense vectors",
    "text": "words",
    "entity": "entities",
    "rerank": "the reranker",
    "relevance": "telling what is relevant",
    "receipt": "keeping a receipt",
}
_FULL: Final = 200
"""No table is wider than this, however wide the terminal."""


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking."""
    return stream.isatty()


def coloured(stream: TextIO) -> bool:
    """Colours only where somebody sees them and nobody has asked for none (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, style: str, stream: TextIO) -> str:
    """A text in a style, if the stream shows colours."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style in _STYLES and coloured(stream) else text


def event_style(event: str) -> str:
    """The colour of what happened."""
    return _EVENTS.get(event, "dim")


def columns_of(stream: TextIO) -> int | None:
    """The width of the terminal; None when the output goes to a file or another program, which want whole lines."""
    return min(_FULL, shutil.get_terminal_size().columns) if is_terminal(stream) else None


def say(text: str = "") -> None:
    """A line of the answer."""
    print(text)


def paint(text: str, style: str) -> str:
    """A text of the answer in a style."""
    return painted(text, style, sys.stdout)


def show(table: Table) -> None:
    """A table of the answer."""
    say("\n".join(table.lines(columns_of(sys.stdout), paint)))


def show_pairs(values: Iterable[tuple[str, object]]) -> None:
    """Names and values of the answer."""
    say("\n".join(pairs(values, columns_of(sys.stdout), paint)))


def note(text: str, style: str = "dim") -> None:
    """A remark beside the answer, which programs that read the answer do not see."""
    print(painted(text, style, sys.stderr), file=sys.stderr)


def warn_degraded(degraded: Iterable[Mapping[str, Any]]) -> None:
    """Say which part of a search or a context could not serve, and why."""
    for one in degraded:
        part = str(one.get("channel") or one.get("step"))
        note(f"warning: searched without {_PARTS.get(part, part)}: {one['message']}", "warn")


def as_json(value: Any) -> str:
    """JSON as it is printed: readable on a terminal, one line otherwise."""
    indent = 2 if is_terminal(sys.stdout) else None
    return json.dumps(value, ensure_ascii=not _speaks_unicode(), indent=indent, default=str)


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"


def day_time(instant: object) -> str:
    """An instant as people read it, to the minute, in UTC as it is stored."""
    return str(instant)[:16].replace("T", " ") if instant else ""


def score(value: float | None) -> str:
    """A score or a part of one, as tables show it."""
    return "-" if value is None else f"{value:.3f}"


class Progress:
    """How far something has come, on one line of a terminal; silent when nobody looks."""

    def __init__(self, label: str, *, hidden: bool = False) -> None:
        self._label, self._shown = label, is_terminal(sys.stderr) and not hidden
        self._next = 0.0

    def __call__(self, done: int, total: int = 0) -> None:
        """Say how many are done, and of how many if that is known."""
        if not self._shown or (time.monotonic() < self._next and done != total):
            return
        self._next = time.monotonic() + 0.1
        self._draw(f"{self._label} {_bar(done, total)} {_share(done, total)}")

    def finish(self) -> None:
        """Take the line away again, for good."""
        if self._shown:
            self._draw("")
        self._shown = False

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def _bar(done: int, total: int, size: int = 24) -> str:
    return bar(done / total, size) if total else ""


def _share(done: int, total: int) -> str:
    return f"{min(100, 100 * done // total)} %" if total else f"{done:,}"


def bar(share: float, size: int) -> str:
    """A share from 0 to 1 as a bar."""
    full = round(max(0.0, min(1.0, share)) * size)
    dark, light = "█░" if _speaks_unicode() else "#."
    return dark * full + light * (size - full)
