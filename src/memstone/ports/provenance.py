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


@dataclass(frozen=True, slots=True)
class TurnFact:
    """A fact that was learned from a turn; ``holds`` if it still says what it said then, and models may be shown it.

    ``in_profile`` is False where the user has hidden it from the profile, ``is_private`` says that they want no model
    to see it. ``expires_at`` is when it ends.
    """

    turn_id: str
    fact_id: str
    quote: str
    holds: bool
    in_profile: bool = True
    is_private: bool = False
    expires_at: Instant | None = None


class Provenance(Protocol):
    """Looks from turns to what became of the facts in them."""

    async def facts_of(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[TurnFact]:
        """Return every fact that was ever learned from these turns, as far as the scope may see it."""
        ...

    async def overtaken(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[Overtaken]:
        """Facts of these turns that have been superseded, oldest first, as far as the scope may see both."""
        ...
