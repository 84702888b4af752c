"""The accounts of what was shown to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.erasure import Erased


class Receipts(Protocol):
    """Kept for a while, by tenant."""

    async def put(self, scope: Scope, receipt_id: str, body: Mapping[str, Any], at: Instant) -> None:
        """Keep a receipt."""
        ...

    async def known(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Which of these are kept."""
        ...

    async def erased(self, tenant_id: str, since: Instant) -> list[Erased]:
        """Who was erased since a moment: whoever keeps a receipt of before must leave theirs out."""
        ...

    async def get(self, tenant_id: str, receipt_id: str) -> dict[str, Any] | None:
        """The body of a receipt, or None."""
        ...

    async def owned(self, tenant_id: str, receipt_id: str) -> tuple[Scope, dict[str, Any]] | None:
        """Who was asked about, and the body of a receipt, or None."""
        ...

    async def owner(self, tenant_id: str, receipt_id: str) -> Scope | None:
        """Who was asked about, or None."""
        ...

    async def amend(self, tenant_id: str, receipt_id: str, body: Mapping[str, Any]) -> None:
        """Put another body in the place of that of a receipt."""
        ...

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        """Remove what is older than a moment, and what is older than the newest ``keep``."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove every receipt of a scope: they hold what its users asked."""
        ...
