"""Which facts come from which turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memstone.model.instant import Instant
from memstone.model.scope import Scope


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A fact that came from a turn and no longer holds; ``text`` is what holds in its place, None when nothing does.

    ``fact_id`` is the memory that says so: mostly the same one, else the one that took its place when it ended.
    """

    turn_id: str
    fact_id: str
    text: str | None


class Provenance(Protocol):
    """Looks from turns to what became of the facts in them."""

    async def overtaken(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[Overtaken]:
        """Facts of these turns that have been superseded, oldest first, as far as the scope may see both."""
        ...
