"""The digest of a session, and the sources of a narrative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class PortraitFact:
    """A fact that a text about the user may be made of; ``version`` is a hash of its words."""

    id: str
    text: str
    version: str
    category: str = ""
    salience: float = 0.5
    updated_at: str = ""
    said_at: str = ""


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
        """Return a digest from the lists in a memory."""
        topics, entities, decisions, items = (tuple(map(str, lists.get(name) or ())) for name in LISTS)
        return cls(summary, topics, entities, decisions, items, salience)

    @property
    def lists(self) -> dict[str, list[str]]:
        """The lists as a memory stores them."""
        return {name: list(getattr(self, name)) for name in LISTS}


def truncate_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text that Memstone made itself, within its limit."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}\u2026"


@dataclass(frozen=True, slots=True)
class SessionFact:
    """A fact that somebody found in a session, by the place of its evidence; ``turn`` counts from 0."""

    turn: int
    start: int
    end: int
    category: str = ""
    salience: float = 0.5
