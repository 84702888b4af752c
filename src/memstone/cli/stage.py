"""How the demo is told: step by step on a terminal, or as one JSON document."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from memstone.cli.output import bar, columns_of, paint, say
from memstone.cli.table import Column, Table
from memstone.cli.text import wrapped

if TYPE_CHECKING:
    from memstone.memory import Memory

_WIDE: Final = 92
_PAUSE: Final = 2.0
_BAR: Final = 8
_INDENT: Final = "   "
_TIME: Final = "Mon 09:10"
_TIME_FORMAT: Final = "%a %H:%M"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class StoppedClock:
    """A clock that the story sets."""

    moment: datetime

    def now(self) -> datetime:
        """The time in the story."""
        return self.moment


@dataclass(slots=True)
class Stage:
    """Where the demo plays. Every call that is shown is the call that is made."""

    memory: Memory
    clock: StoppedClock
    quiet: bool = False
    slow: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)

    def step(self, title: str, text: str) -> None:
        """Begin the next step."""
        if self.slow and self.steps:
            time.sleep(_PAUSE)
        self.steps.append({"title": title, "calls": []})
        self._line()
        self._line(paint(f"{len(self.steps)}  {title}", "title"))
        self.tell(text)

    def tell(self, text: str) -> None:
        """A paragraph for people."""
        for line in wrapped(text, self._columns()):
            self._line(_INDENT + line)

    def call(self, verb: str, *args: Any, at: datetime | None = None, **options: Any) -> Any:
        """Make a call at a time of the story, and show it."""
        if at is not None:
            self.clock.moment = at
        self._line()
        first, *rest = wrapped(_source(verb, args, options), self._columns() - len(_TIME) - 2)
        self._line(f"{_INDENT}{paint(f'{self.clock.moment:{_TIME_FORMAT}}', 'dim')}  {paint(first, 'note')}")
        for line in rest:
            self._line(f"{_INDENT}{' ' * len(_TIME)}  {paint(line, 'note')}")
        return self.quietly(verb, *args, **options)

    def quietly(self, verb: str, *args: Any, **options: Any) -> Any:
        """Make a call without showing its source."""
        result = getattr(self.memory, verb)(*args, **options)
        self.steps[-1]["calls"].append({"call": verb, "result": result})
        return result

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
        """Show rows."""
        table = Table(columns)
        for row in rows:
            table.add(*row)
        for line in table.lines(self._columns(), paint):
            self._line(_INDENT + line)

    def hits(self, answer: dict[str, Any]) -> None:
        """Show what a search found, with its score parts as bars."""
        if not answer["results"]:
            self._line(_INDENT + paint("nothing", "dim"))
            return
        columns = (
            Column("SCORE", right=True),
            Column("WORDS", style=lambda _: "good"),
            Column("MEANING", style=lambda _: "note"),
            Column("MEMORY", grows=True),
        )
        self.table(columns, [_hit_row(hit) for hit in answer["results"]])

    def _columns(self) -> int:
        return min(_WIDE, columns_of(sys.stdout) or _WIDE) - len(_INDENT)

    def _line(self, text: str = "") -> None:
        if not self.quiet:
            say(text)


def _hit_row(hit: dict[str, Any]) -> list[str]:
    parts = hit["score_parts"]
    shown = [f"{bar(parts.get(name, 0.0), _BAR)} {parts.get(name, 0.0):.2f}" for name in ("keyword", "semantic")]
    return [f"{hit['score']:.2f}", *shown, hit["memory"]]


def _source(verb: str, args: Sequence[Any], options: dict[str, Any]) -> str:
    """The call as one would write it."""
    given = [_argument(one) for one in args] + [f"{name}={_argument(value)}" for name, value in options.items()]
    return f"memory.{verb}({', '.join(given)})"


def _argument(value: Any) -> str:
    if isinstance(value, datetime):
        return f'"{value:%Y-%m-%dT%H:%MZ}"'
    if isinstance(value, dict):
        return '{"role": "user", "content": "…"}'
    if isinstance(value, str):
        return "memory_id" if _UUID.fullmatch(value) else f'"{value}"'
    return repr(value)
