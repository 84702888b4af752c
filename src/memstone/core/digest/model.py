"""What a session is distilled into, whoever does it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_TEXT: Final = 50_000
"""What Memstone writes itself is cut here; what a caller writes is refused beyond its limit."""

EPISODE_SALIENCE: Final = 0.5
LISTS: Final = ("topics", "entities", "decisions", "action_items")


@dataclass(frozen=True, slots=True)
class Digest:
    """A session in few words. The lists hold each thing once, the most important first."""

    summary: str
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()
    salience: float = EPISODE_SALIENCE

    @classmethod
    def of(cls, summary: str, lists: Mapping[str, Any], salience: float) -> Digest:
        """A digest from lists as a memory holds them."""
        topics, entities, decisions, items = (tuple(map(str, lists.get(name) or ())) for name in LISTS)
        return cls(summary, topics, entities, decisions, items, salience)

    @property
    def lists(self) -> dict[str, list[str]]:
        """The lists as a memory holds them."""
        return {name: list(getattr(self, name)) for name in LISTS}


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """A text that Memstone made itself, within its limit."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}\u2026"


_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+))\s*(%?)")


def clamped(value: Any, default: float) -> float:
    """A salience from 0 to 1; a number may be written as text, what is none is the default."""
    if isinstance(value, str):
        found = _NUMBER.match(value)
        value = float(found[1].replace(",", ".")) / (100 if found[2] else 1) if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN is none
        return default
    return min(1.0, max(0.0, float(value)))


def merged(first: Digest, second: Digest, *, sentences: int = 3) -> Digest:
    """What was distilled before of a session, and what came since, where the words of before are not kept."""
    told = [one for one in (*first.summary.splitlines(), *second.summary.splitlines()) if one.strip()]
    kept = told if len(told) <= sentences else [told[0], *told[-(sentences - 1) :]]
    mine, theirs = first.lists, second.lists
    lists = {name: dict.fromkeys([*mine[name], *theirs[name]]) for name in LISTS}
    return Digest.of("\n".join(dict.fromkeys(kept)), lists, max(first.salience, second.salience))
