"""Ages of memories, for upkeep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from memstone.model.instant import Instant
from memstone.model.memory import Record
from memstone.model.scope import Scope

Since: TypeAlias = Literal["created_at", "updated_at", "expires_at"]


@dataclass(frozen=True, slots=True)
class Older:
    """Current versions of some layers, in some statuses, whose time ``since`` lies before a moment.

    An open scope means the whole tenant, no kinds mean all. ``idle`` leaves out what was used or told again since that
    moment, ``uses_below`` what was used so often.
    """

    scope: Scope
    since: Since
    before: Instant
    layers: tuple[str, ...]
    statuses: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    idle: bool = False
    uses_below: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryAge:
    """A memory with when anybody used it last, and how often."""

    record: Record
    last_used_at: Instant | None = None
    uses: int = 0

    @property
    def touched_at(self) -> Instant:
        """When it was last of any use: shown, told again, or written."""
        return max(self.record.anchor_at, self.record.updated_at, self.last_used_at or "")

    @property
    def fresh_at(self) -> Instant:
        """When it began to fade: being shown keeps it fresh."""
        return max(self.record.anchor_at, self.last_used_at or "")
