"""What belongs to somebody besides memories, and can be handed over."""

from __future__ import annotations

from typing import Final, Protocol

from memstone.model.scope import Scope

TABLES: Final = ("signals", "receipts")
"""The tables whose rows go where their owner's memories go."""


class Owned(Protocol):
    """Rows of ``TABLES``, by whose they are."""

    async def hand_over(self, table: str, old: Scope, new: Scope) -> list[str]:
        """Let rows within a scope have the ids that another one names, and keep their others; gives their own ids."""
        ...

    async def hand_back(self, table: str, ids: list[str], old: Scope) -> None:
        """Let these rows have the ids that a scope names."""
        ...
