"""An answer as a page shows it: without what is different each time, and no longer than one likes to read."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

_WIDE: Final = 118
_LINES: Final = 4
_ANY: Final = "…"
_KEY: Final = re.compile(r"\brt_[0-9a-f]{4,}_[\w-]{20,}")
_OPAQUE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{16,64}\b"
    r"|\beyJ[\w-]+\.[\w-]+\.[\w-]+|\brr_[\w.-]+|127\.0\.0\.1:\d+|/tmp/[\w./-]+"
)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
# Figures of the machine and of the moment.
_VARYING: Final = re.compile(
    r"(?i)(^|_)(ms|bytes|latency\w*|score|tokens|hits|misses|prefix)$|Ms$|^(sha256|sqlite|size|changes|statement_seconds)$"
)
# How much is shown, from all to as little as says something: entries of a list, names of an object, characters, depth.
_SIZES: Final = (
    (4, 40, 100, 8),
    (3, 24, 80, 6),
    (2, 16, 70, 5),
    (2, 12, 60, 4),
    (1, 9, 50, 3),
    (1, 7, 40, 3),
    (1, 6, 30, 2),
)


class _Left:
    """Something that is left out."""


_LEFT: Final = _Left()


def format_answer(answer: str, names: Mapping[str, str]) -> str:
    """Return what a page shows of an answer; ``names`` are variables by what they hold."""
    try:
        value = json.loads(answer)
    except ValueError:
        return _lines(answer, names)
    value = _steady(value, names)
    sizes = (_written(_cut(value, *size)) for size in _SIZES)
    text = next((one for one in sizes if len(one) <= _WIDE * _LINES), _written(_cut(value, *_SIZES[-1])))
    return "\n".join(textwrap.wrap(text, _WIDE, break_long_words=False, break_on_hyphens=False) or [""])


def _lines(answer: str, names: Mapping[str, str]) -> str:
    """Return the beginning of what is not one piece of JSON: lines of it, figures, events."""
    every = [line for line in answer.splitlines() if line.strip()]
    lines = [format_answer(line, names) if line.startswith("{") else _clean(line, names) for line in every[:4]]
    brief = [line.splitlines()[0][: _WIDE - 2] + (_ANY if len(line) > _WIDE - 2 else "") for line in lines]
    return "\n".join([*brief, _ANY] if len(every) > len(lines) else brief)


def _steady(value: Any, names: Mapping[str, str], name: str = "") -> Any:
    """Return the same each time: ids by the names they were given, without moments of today and figures of this run."""
    if isinstance(value, dict):
        return {_clean(key, names): _steady(one, names, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_steady(one, names, name) for one in value]
    if _VARYING.search(name) and value is not None and not isinstance(value, bool):
        return _LEFT
    if isinstance(value, float):
        return round(value, 2)
    return _clean(value, names) if isinstance(value, str) else value


def _clean(text: str, names: Mapping[str, str]) -> str:
    text = _KEY.sub(f"rt_{_ANY}", text)
    for stored_text, name in names.items():
        text = text.replace(stored_text, f"${name}")
    return _MOMENT.sub(_moment, _OPAQUE.sub(_ANY, text))


def _moment(found: re.Match[str]) -> str:
    """Return a moment of the walk's own clock to the minute; one of today is different tomorrow."""
    moment = datetime.fromisoformat(found[0])
    near = abs(moment - datetime.now(UTC)) < timedelta(days=2)
    return _ANY if near else moment.strftime("%Y-%m-%dT%H:%M:00Z")


def _cut(value: Any, entries: int, most: int, chars: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else value[: chars - 1] + _ANY
    if not isinstance(value, (dict, list)) or not value:
        return value
    if not depth:
        return {_ANY: _LEFT} if isinstance(value, dict) else [_LEFT]
    if isinstance(value, list):
        remaining = [_cut(one, entries, most, chars, depth - 1) for one in value[:entries]]
        return [*remaining, _LEFT] if len(value) > len(remaining) else remaining
    named = {key: _cut(one, entries, most, chars, depth - 1) for key, one in islice(value.items(), most)}
    return {**named, _ANY: _LEFT} if len(value) > len(named) else named


def _written(value: Any) -> str:
    """Write JSON, with ``…`` for what is left out."""
    if value is _LEFT:
        return _ANY
    if isinstance(value, dict):
        named = (_ANY if key == _ANY else f"{json.dumps(key)}: {_written(one)}" for key, one in value.items())
        return "{" + ", ".join(named) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
