"""Patterns that can take forever: the commonest mistake, a repetition of nothing but repetitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PARTS: Final = re.compile(
    r"(?P<aside>\(\?<?[=!])|(?P<named>\(\?P=\w+\))|(?P<comment>\(\?#[^)]*\)|\(\?[aiLmsux]+\))"
    r"|(?P<open>\((?:\?(?:P<\w+>|[aiLmsux-]*:|>|\(\w+\)))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<edge>\\[bBAZ]|[$^])|(?P<letter>\\.|\[\^?\]?(?:\\.|[^]\\])*\]|.)",
    re.DOTALL,
)
_COUNT: Final = re.compile(r"(?:(?P<many>[*+]|\{\d*,\})|\?|\{(?P<least>\d*)(?:,\d*)?\})(?P<kept>\+)?\??")


@dataclass(slots=True)
class _Group:
    """What a group has been found to hold; ``fixed`` and ``endless`` speak of the alternative being read."""

    is_aside: bool = False
    fixed: bool = False
    endless: bool = False
    always_fixed: bool = True
    runs_away: bool = False

    def close_alternative(self) -> None:
        """Take stock of an alternative: repeated, it can be cut up in many ways if nothing in it is fixed."""
        self.runs_away |= self.endless and not self.fixed
        self.always_fixed &= self.fixed
        self.fixed = self.endless = False


def runs_away(pattern: str) -> bool:
    """Whether a pattern repeats without bound what consists of unbounded repetitions alone, such as ``(a+)*``."""
    groups = [_Group()]
    at = 0
    while found := _PARTS.match(pattern, at):
        at = found.end()
        kind = found.lastgroup or ""
        if kind in ("open", "aside"):
            groups.append(_Group(is_aside=kind == "aside"))
            continue
        if kind == "bar":
            groups[-1].close_alternative()
        if kind not in ("close", "letter", "named"):
            continue
        count = _COUNT.match(pattern, at)
        at = count.end() if count else at
        inner = groups.pop() if kind == "close" and len(groups) > 1 else None
        if inner is not None:
            inner.close_alternative()
        if _add(groups[-1], inner, count):
            return True
    return False


def _add(outer: _Group, inner: _Group | None, count: re.Match[str] | None) -> bool:
    """Add a counted letter or group to the group around it; tells whether it runs away."""
    if inner is not None and inner.is_aside:
        return False
    is_endless = count is not None and bool(count["many"]) and not count["kept"]
    if is_endless:
        outer.endless = True
        return inner is not None and inner.runs_away
    is_sure = count is None or count["least"] not in (None, "", "0")
    outer.endless |= inner is not None and inner.runs_away
    outer.fixed |= is_sure and (inner is None or inner.always_fixed)
    return False
