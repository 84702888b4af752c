"""Tables that fit the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from memstone.cli.text import harmless, padded, width, wrapped

Paint: TypeAlias = Callable[[str, str], str]
"""Gives a text a style: ``paint(text, "red")``."""

GAP: Final = "  "
_LINES: Final = 4
"""How many lines a long cell may take where the width is limited."""
_LEAST: Final = 8
_NARROW: Final = 24
"""Below so many columns for the text, the columns that can be missed give way."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``grows`` takes what the others leave; ``spare`` says how soon it gives way (0: never)."""

    title: str
    right: bool = False
    grows: bool = False
    spare: int = 0
    style: Callable[[str], str] | None = None


@dataclass(slots=True)
class Table:
    """Rows of text below titles."""

    columns: Sequence[Column]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """A row; None is an empty cell."""
        self.rows.append(["" if cell is None else harmless(str(cell)) for cell in cells])

    def lines(self, columns: int | None, paint: Paint) -> Iterable[str]:
        """The table as lines of at most ``columns``; None is as wide as it takes."""
        kept = self._kept(columns)
        wide = self._widths(kept, columns)
        titles = [padded(self.columns[at].title, wide[at], right=self.columns[at].right) for at in kept]
        yield paint(GAP.join(titles).rstrip(), "head")
        for row in self.rows:
            yield from self._row(row, kept, wide, paint, limited=columns is not None)

    def _natural(self, at: int) -> int:
        return max([width(self.columns[at].title), *(width(row[at]) for row in self.rows)])

    def _kept(self, columns: int | None) -> list[int]:
        """The columns that are shown: those that can be missed give way until the text has room."""
        kept = list(range(len(self.columns)))
        if columns is None:
            return kept
        kept = [at for at in kept if not self.columns[at].spare or any(row[at] for row in self.rows)]
        while self._room(kept, columns) // max(1, len(self._growing(kept))) < _NARROW:
            spare = [at for at in kept if self.columns[at].spare]
            if not spare:
                break
            kept.remove(max(spare, key=lambda at: self.columns[at].spare))
        return kept

    def _growing(self, kept: Sequence[int]) -> list[int]:
        return [at for at in kept if self.columns[at].grows]

    def _room(self, kept: Sequence[int], columns: int) -> int:
        """What is left for the growing columns."""
        fixed = sum(self._natural(at) for at in kept if not self.columns[at].grows)
        return columns - fixed - len(GAP) * (len(kept) - 1)

    def _widths(self, kept: Sequence[int], columns: int | None) -> dict[int, int]:
        """A growing column takes its fair share; what a short one leaves goes to the others."""
        wide = {at: self._natural(at) for at in kept}
        growing = sorted(self._growing(kept), key=lambda at: wide[at])
        room = 0 if columns is None else self._room(kept, columns)
        while columns is not None and growing:
            at = growing[0]
            wide[at] = min(wide[at], max(_LEAST, room // len(growing)))
            room -= wide[at]
            growing.remove(at)
        return wide

    def _row(
        self, row: Sequence[str], kept: Sequence[int], wide: dict[int, int], paint: Paint, *, limited: bool
    ) -> Iterable[str]:
        cells = {at: wrapped(row[at], wide[at], _LINES if limited else None) for at in kept}
        for number in range(max(len(lines) for lines in cells.values())):
            parts = [cells[at][number] if number < len(cells[at]) else "" for at in kept]
            yield self._joined(row, kept, wide, paint, parts).rstrip()

    def _joined(
        self, row: Sequence[str], kept: Sequence[int], wide: dict[int, int], paint: Paint, parts: Sequence[str]
    ) -> str:
        shown = []
        for at, part in zip(kept, parts, strict=True):
            column = self.columns[at]
            blank = padded(part, wide[at], right=column.right)
            shown.append(paint(blank, column.style(row[at])) if column.style and part else blank)
        return GAP.join(shown)


def pairs(values: Iterable[tuple[str, object]], columns: int | None, paint: Paint) -> Iterable[str]:
    """Names and values below one another."""
    given = [(name, value) for name, value in values if value not in (None, "", {}, [])]
    wide = max((width(name) for name, _ in given), default=0)
    for name, value in given:
        first, *rest = _value_lines(str(value), None if columns is None else max(8, columns - wide - len(GAP)))
        yield paint(padded(name, wide), "name") + GAP + first
        yield from (" " * wide + GAP + line for line in rest)


def _value_lines(value: str, room: int | None) -> list[str]:
    """A value keeps its own line breaks."""
    own = [harmless(line) for line in value.splitlines()]
    return own if room is None else [line for part in own for line in wrapped(part, room)]
