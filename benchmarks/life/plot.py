"""A picture of a year, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.life.year import Day

_WIDE, _HIGH, _GAP = 760, 190, 34
_LEFT, _RIGHT, _TOP = 62, 150, 30
_STYLE: Final = """<style>
  text { font: 12px system-ui, sans-serif; fill: #4b5563 } .title { font-weight: 600; fill: #111827 }
  .axis { stroke: #9ca3af; stroke-width: 1 } .grid { stroke: #e5e7eb; stroke-width: 1 }
  .line { fill: none; stroke-width: 1.6 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9ca3af } .title { fill: #f3f4f6 } .grid { stroke: #374151 } .axis { stroke: #6b7280 }
  }
</style>"""
_COLOURS: Final = ("#2563eb", "#d97706", "#059669", "#9333ea")


def svg(days: Sequence[Day]) -> str:
    """Draw three charts below each other: how many memories, what a day costs, how large the file is."""
    week = [days[max(0, at - 6) : at + 1] for at in range(len(days))]
    mean = [sum(day.pass_ms for day in part) / len(part) for part in week]
    session = [sum(day.session_ms * day.sessions for day in p) / max(1, sum(day.sessions for day in p)) for p in week]
    charts: tuple[tuple[str, tuple[tuple[str, Sequence[float]], ...]], ...] = (
        ("memories", (("facts", [day.facts for day in days]), ("episodes", [day.episodes for day in days]),
                      ("turns", [day.turns for day in days]), ("evicted", [day.evicted for day in days]))),
        ("milliseconds (mean of a week)", (("one pass", mean), ("one session", session))),
        ("megabytes on disk", (("file", [day.megabytes for day in days]),)),
    )  # fmt: skip
    high = _TOP + len(charts) * (_HIGH + _GAP)
    body = "".join(_chart(at, title, lines) for at, (title, lines) in enumerate(charts))
    wide = _LEFT + _WIDE + _RIGHT
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">{_STYLE}{body}\n</svg>\n'


def _chart(at: int, title: str, lines: Sequence[tuple[str, Sequence[float]]]) -> str:
    top = _TOP + at * (_HIGH + _GAP)
    bottom = top + _HIGH - 30
    most = _round_up(max(max(values) for _, values in lines))
    days = len(lines[0][1])
    parts = [f'\n<text class="title" x="{_LEFT}" y="{top - 8}">{title}</text>']
    for step in range(5):
        y = bottom - (bottom - top) * step / 4
        kind = "grid" if step else "axis"
        parts.append(f'<line class="{kind}" x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDE}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{most * step / 4:g}</text>')
    for day in range(0, days + 1, max(1, round(days / 6 / 10) * 10 or 1)):
        x = _LEFT + _WIDE * day / days
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">day {day}</text>')
    for number, (name, values) in enumerate(lines):
        colour = _COLOURS[number]
        points = " ".join(f"{_x(day, days):.1f},{_y(value, most, top, bottom):.1f}" for day, value in enumerate(values))
        parts.append(f'<polyline class="line" stroke="{colour}" points="{points}"/>')
        y = top + 14 + 18 * number
        parts.append(f'<rect x="{_LEFT + _WIDE + 14}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + _WIDE + 30}" y="{y}">{name}</text>')
    return "\n".join(parts)


def _x(day: int, days: int) -> float:
    return _LEFT + _WIDE * (day + 1) / days


def _y(value: float, most: float, top: float, bottom: float) -> float:
    return bottom - (bottom - top) * value / most


def _round_up(value: float) -> float:
    """Return the next number that is easy to read."""
    size = 1.0
    while size * 10 <= value:
        size *= 10
    return next(step * size for step in (1, 2, 4, 6, 8, 10, 20) if step * size >= value)
