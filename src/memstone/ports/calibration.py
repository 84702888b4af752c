"""What unrelated questions score, kept so that it need not be found out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memstone.model.instant import Instant
from memstone.model.scope import Scope


class Calibration(Protocol):
    """One body for each name of a tenant: a signature, or something that belongs to one."""

    async def get(self, tenant_id: str, name: str) -> dict[str, Any] | None:
        """The body under a name, or None."""
        ...

    async def put(self, tenant_id: str, name: str, body: Mapping[str, Any], at: Instant) -> None:
        """Keep a body in place of an earlier one."""
        ...

    async def sample(self, scope: Scope, signature: str, most: int) -> tuple[int, list[bytes]]:
        """How many vectors a scope has, and about ``most`` of them: spread evenly, and the same every time."""
        ...
