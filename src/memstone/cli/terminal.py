"""Print text on a terminal: its width, line breaks, and control characters."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TextIO, TypeAlias

# --- text on a terminal -----------------------------------------------------------------------------------------------


_NEVER: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They turn the reading direction of everything after them, so that a text could look like another one.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_control_chars(text: str) -> str:
    """Return one line in which control characters are shown instead of obeyed: a memory may hold anything."""
    joined = " ".join(text.split())
    return joined if joined.isascii() and joined.isprintable() else "".join(map(_escape_char, joined))


def _escape_char(char: str) -> str:
    if unicodedata.category(char) in _NEVER or char in _TURNING:
        return char.encode("unicode_escape").decode()
    return char


def display_width(text: str) -> int:
    """Return how many columns a text takes: two for wide characters, none for those that combine."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad_text(text: str, columns: int, *, right: bool = False) -> str:
    """Return a text filled up with blanks."""
    blanks = " " * (columns - display_width(text))
    return blanks + text if right else text + blanks


def wrap_text(text: str, columns: int, most: int | None = None) -> list[str]:
    """Return lines of at most so many columns, broken between words where possible.

    Of more than ``most`` lines the last ends with an ellipsis.
    """
    lines = [""]
    for word in text.split(" "):
        rest = word
        if lines[-1] and display_width(lines[-1]) + 1 + display_width(rest) <= columns:
            lines[-1] += " " + rest
            continue
        while display_width(rest) > columns:
            head = _cut_to_width(rest, columns)
            lines.append(head)
            rest = rest[len(head) :]
        lines.append(rest)
    remaining = [line for line in lines if line] or [""]
    if most is None or len(remaining) <= most:
        return remaining
    return [*remaining[: most - 1], _cut_to_width(remaining[most - 1], columns - 1) + "…"]


def _cut_to_width(text: str, columns: int) -> str:
    """Return the longest beginning that fits, at least one character."""
    used = 0
    for at, char in enumerate(text):
        used += _char_width(char)
        if used > columns:
            return text[: max(1, at)]
    return text


# --- tables that fit the terminal -------------------------------------------------------------------------------------


Paint: TypeAlias = Callable[[str, str], str]
"""Gives a text a style: ``paint(text, "red")``."""

GAP: Final = "  "
_LINES: Final = 4
"""How many lines a long cell may take where the width is limited."""
_LEAST: Final = 8
_SHORT_ID: Final = 13
"""So much of an id is unique in any store that people look at."""
_NARROW: Final = 24
"""Below so many columns for the text, the columns that can be missed give way."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``grows`` takes what the others leave; ``spare`` says how soon it gives way (0: never).

    Of ids, a terminal shows the beginning, which commands take as well; elsewhere they are whole.
    """

    title: str
    right: bool = False
    grows: bool = False
    spare: int = 0
    is_id: bool = False
    style: Callable[[str], str] | None = None


@dataclass(slots=True)
class TextTable:
    """Rows of text below titles."""

    columns: Sequence[Column]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Add a row; None is an empty cell."""
        self.rows.append(["" if cell is None else escape_control_chars(str(cell)) for cell in cells])

    def lines(self, columns: int | None, paint: Paint) -> Iterable[str]:
        """Return the table as lines of at most ``columns``; None is as wide as it takes."""
        if columns is not None and any(column.is_id for column in self.columns):
            short = TextTable(
                [replace(one, is_id=False) for one in self.columns], list(map(self._shorten_ids, self.rows))
            )
            yield from short.lines(columns, paint)
            return
        remaining = self._choose_columns(columns)
        wide = self._widths(remaining, columns)
        titles = [pad_text(self.columns[at].title, wide[at], right=self.columns[at].right) for at in remaining]
        yield paint(GAP.join(titles).rstrip(), "head")
        for row in self.rows:
            yield from self._row(row, remaining, wide, paint, limited=columns is not None)

    def _shorten_ids(self, row: Sequence[str]) -> list[str]:
        pairs = zip(self.columns, row, strict=True)
        return [cell[:_SHORT_ID] if column.is_id else cell for column, cell in pairs]

    def _natural(self, at: int) -> int:
        return max([display_width(self.columns[at].title), *(display_width(row[at]) for row in self.rows)])

    def _choose_columns(self, columns: int | None) -> list[int]:
        """Return the columns that are shown: those that can be missed give way until the text has room."""
        remaining = list(range(len(self.columns)))
        if columns is None:
            return remaining
        remaining = [at for at in remaining if not self.columns[at].spare or any(row[at] for row in self.rows)]
        while self._room(remaining, columns) // max(1, len(self._growing_columns(remaining))) < _NARROW:
            spare = [at for at in remaining if self.columns[at].spare]
            if not spare:
                break
            remaining.remove(max(spare, key=lambda at: self.columns[at].spare))
        return remaining

    def _growing_columns(self, remaining: Sequence[int]) -> list[int]:
        return [at for at in remaining if self.columns[at].grows]

    def _room(self, remaining: Sequence[int], columns: int) -> int:
        """Return what is left for the growing columns."""
        fixed = sum(self._natural(at) for at in remaining if not self.columns[at].grows)
        return columns - fixed - len(GAP) * (len(remaining) - 1)

    def _widths(self, remaining: Sequence[int], columns: int | None) -> dict[int, int]:
        """Give each growing column its fair share; what a short one leaves goes to the others."""
        wide = {at: self._natural(at) for at in remaining}
        growing = sorted(self._growing_columns(remaining), key=lambda at: wide[at])
        room = 0 if columns is None else self._room(remaining, columns)
        while columns is not None and growing:
            at = growing[0]
            wide[at] = min(wide[at], max(_LEAST, room // len(growing)))
            room -= wide[at]
            growing.remove(at)
        return wide

    def _row(
        self, row: Sequence[str], remaining: Sequence[int], wide: dict[int, int], paint: Paint, *, limited: bool
    ) -> Iterable[str]:
        cells = {at: wrap_text(row[at], wide[at], _LINES if limited else None) for at in remaining}
        for number in range(max(len(lines) for lines in cells.values())):
            parts = [cells[at][number] if number < len(cells[at]) else "" for at in remaining]
            yield self._join_cells(row, remaining, wide, paint, parts).rstrip()

    def _join_cells(
        self, row: Sequence[str], remaining: Sequence[int], wide: dict[int, int], paint: Paint, parts: Sequence[str]
    ) -> str:
        visible = []
        for at, part in zip(remaining, parts, strict=True):
            column = self.columns[at]
            blank = pad_text(part, wide[at], right=column.right)
            visible.append(paint(blank, column.style(row[at])) if column.style and part else blank)
        return GAP.join(visible)


def format_pairs(values: Iterable[tuple[str, object]], columns: int | None, paint: Paint) -> Iterable[str]:
    """Yield names and values below one another."""
    items = [(name, value) for name, value in values if value not in (None, "", {}, [])]
    wide = max((display_width(name) for name, _ in items), default=0)
    for name, value in items:
        first, *rest = _value_lines(str(value), None if columns is None else max(8, columns - wide - len(GAP)))
        yield paint(pad_text(name, wide), "name") + GAP + first
        yield from (" " * wide + GAP + line for line in rest)


def _value_lines(value: str, room: int | None) -> list[str]:
    """Return the lines of a value, which keeps its own line breaks."""
    own = [escape_control_chars(line) for line in value.splitlines()]
    return own if room is None else [line for part in own for line in wrap_text(part, room)]


# --- where everything is printed --------------------------------------------------------------------------------------


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
    "vector_store": "the vector store",
    "graph_store": "the graph database",
    "rerank": "the reranker",
    "relevance": "relevance judging",
    "receipt": "keeping a receipt",
}
_FULL: Final = 200
"""No table is wider than this, however wide the terminal."""


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person is looking."""
    return stream.isatty()


def can_show_colours(stream: TextIO) -> bool:
    """Return whether somebody sees colours and nobody has asked for none (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_for_stream(text: str, style: str, stream: TextIO) -> str:
    """Return a text in a style, if the stream shows colours."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style in _STYLES and can_show_colours(stream) else text


def event_style(event: str) -> str:
    """Return the colour of what happened."""
    return _EVENTS.get(event, "dim")


def columns_of(stream: TextIO) -> int | None:
    """Return the width of the terminal; None when the output goes to a file or a program, which want whole lines."""
    return min(_FULL, shutil.get_terminal_size().columns) if is_terminal(stream) else None


def print_line(text: str = "") -> None:
    """Print a line of the answer."""
    print(text)


def style_text(text: str, style: str) -> str:
    """Return a text of the answer in a style."""
    return style_for_stream(text, style, sys.stdout)


def print_table(table: TextTable) -> None:
    """Print a table of the answer."""
    print_line("\n".join(table.lines(columns_of(sys.stdout), style_text)))


def show_pairs(values: Iterable[tuple[str, object]]) -> None:
    """Print names and values of the answer."""
    print_line("\n".join(format_pairs(values, columns_of(sys.stdout), style_text)))


def print_note(text: str, style: str = "dim") -> None:
    """Print a remark beside the answer, which programs that read the answer do not see."""
    print(style_for_stream(text, style, sys.stderr), file=sys.stderr)


def warn_degraded(degraded: Iterable[Mapping[str, Any]]) -> None:
    """Say which part of a search or a context could not serve, and why."""
    for one in degraded:
        part = str(one.get("channel") or one.get("step"))
        print_note(f"warning: searched without {_PARTS.get(part, part)}: {one['message']}", "warn")


def as_json(value: Any) -> str:
    """Return JSON as it is printed: readable on a terminal, one line otherwise."""
    indent = 2 if is_terminal(sys.stdout) else None
    return json.dumps(value, ensure_ascii=not _speaks_unicode(), indent=indent, default=str)


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"


def day_time(instant: object) -> str:
    """Return an instant as people read it, to the minute, in UTC as it is stored."""
    return str(instant)[:16].replace("T", " ") if instant else ""


def format_score(value: float | None) -> str:
    """Return a score or a part of one, as tables show it."""
    return "-" if value is None else f"{value:.3f}"


class Progress:
    """How far something has come, on one line of a terminal; silent when nobody looks."""

    def __init__(self, label: str, *, hidden: bool = False) -> None:
        self._label, self._is_visible = label, is_terminal(sys.stderr) and not hidden
        self._next = 0.0

    def __call__(self, done: int, total: int = 0) -> None:
        """Say how many are done, and of how many if that is known."""
        if not self._is_visible or (time.monotonic() < self._next and done != total):
            return
        self._next = time.monotonic() + 0.1
        self._draw(f"{self._label} {_progress_bar(done, total)} {_format_progress(done, total)}")

    def finish(self) -> None:
        """Take the line away again, for good."""
        if self._is_visible:
            self._draw("")
        self._is_visible = False

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


_QUIET_SECONDS: Final = 3.0


class WaitNotes:
    """Notes every few seconds that something is still going on, until it is done; nothing if it is quick.

    Without ``always``, only for a person who looks.
    """

    def __init__(self, label: str, *, always: bool = False) -> None:
        self._label, self._done = label, threading.Event()
        self._is_visible = always or is_terminal(sys.stderr)

    def __enter__(self) -> Self:
        if self._is_visible:
            threading.Thread(target=self._print_notes, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Say nothing more."""
        self._done.set()

    def _print_notes(self) -> None:
        started = time.monotonic()
        while not self._done.wait(_QUIET_SECONDS):
            print_note(f"{self._label}, {time.monotonic() - started:.0f} s ...")


def _progress_bar(done: int, total: int, size: int = 24) -> str:
    return render_bar(done / total, size) if total else ""


def _format_progress(done: int, total: int) -> str:
    return f"{min(100, 100 * done // total)} %" if total else f"{done:,}"


def render_bar(share: float, size: int) -> str:
    """Return a share from 0 to 1 as a bar."""
    full = round(max(0.0, min(1.0, share)) * size)
    dark, light = "█░" if _speaks_unicode() else "#."
    return dark * full + light * (size - full)
