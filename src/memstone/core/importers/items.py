"""What is taken in from another system: text, time, speaker, metadata; nothing says how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from memstone.core.importers.markup import plain_text
from memstone.errors import TooLarge
from memstone.model.instant import Instant


class Sort(StrEnum):
    """What a thing was where it comes from."""

    TURN = "turn"
    FACT = "fact"
    EPISODE = "episode"
    OVERRIDE = "override"
    NARRATIVE = "narrative"


@dataclass(frozen=True, slots=True)
class Whose:
    """Whom a source names; heeded as far as the caller leaves it open."""

    user_id: str = ""
    agent_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a source holds; ``conversation`` is what tells turns of one talk from those of another.

    ``id`` is its UUID where it has one, and ``model`` who wrote it where that is told.
    """

    text: str
    sort: Sort = Sort.FACT
    role: str = "user"
    name: str = ""
    occurred_at: Instant | None = None
    conversation: str = ""
    title: str = ""
    kind: str | None = None
    key: str | None = None
    expires_at: Instant | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    whose: Whose = field(default_factory=Whose)
    id: str = ""
    model: str = ""


@dataclass(slots=True)
class Reading:
    """A source while it is read: what it holds, and how many things were left out for which reason."""

    most: int
    format: str = ""
    items: list[Item] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, item: Item) -> None:
        """Take a thing, unless it says nothing; ``TooLarge`` beyond so many."""
        if not item.text:
            self.skip("empty")
            return
        if len(self.items) >= self.most:
            raise TooLarge(
                f"there are more than {self.most:,} things to import",
                hint="import it in parts, or raise limits.import_items",
            )
        self.items.append(item)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something that is not taken."""
        if count:
            self.skipped[reason] += count


def text_of(value: object) -> str:
    """A text without mark-up; '' for whatever is none."""
    return plain_text(value) if isinstance(value, str) else ""


def word_of(value: object) -> str:
    """A short value on one line, such as a name or a title; '' for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return " ".join(plain_text(str(value)).split())[:200]


def id_of(value: object) -> str:
    """What a source calls somebody or something, as it is."""
    return "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value).strip()


def uuid_of(value: object) -> str:
    """A UUID in its usual form; '' for whatever is none."""
    try:
        return str(UUID(value)) if isinstance(value, str) else ""
    except ValueError:
        return ""


def mapping_of(value: object) -> dict[str, Any]:
    """An object; empty for whatever is none."""
    return dict(value) if isinstance(value, Mapping) else {}
