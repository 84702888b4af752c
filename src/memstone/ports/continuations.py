"""Answers of models that began under one number and ended under another."""

from __future__ import annotations

from typing import Protocol

from memstone.model.instant import Instant


class Continuations(Protocol):
    """Kept for a while, by tenant and by the user whose chat it is; '' where nobody is known."""

    async def put(self, tenant_id: str, user_id: str, began: str, ended: str, at: Instant) -> None:
        """Note where an answer ended, in place of what was noted of it before."""
        ...

    async def ended(self, tenant_id: str, user_id: str, began: str) -> str | None:
        """Where an answer of this user's chat ended, or None."""
        ...

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        """Let the answers of one user be those of another."""
        ...

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        """Remove what is older than a moment, and what is older than the newest ``keep``."""
        ...
