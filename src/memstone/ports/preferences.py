"""What is set for a tenant, a user, an agent or a session, and how much is stored for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memstone.model.instant import Instant


@dataclass(frozen=True, slots=True)
class Usage:
    """Live rows: memories of every layer but turns, turns, and the characters of both."""

    memories: int = 0
    turns: int = 0
    chars: int = 0


class Preferences(Protocol):
    """Values are JSON text. ``scope_key`` is '' for the tenant, else ``user:<id>``, ``agent:<id>`` or ``run:<id>``."""

    async def version(self, tenant_id: str) -> str:
        """Differs after every change to any setting of the tenant; '' when nothing was ever set. One statement."""
        ...

    async def of(self, tenant_id: str, scope_keys: Sequence[str]) -> dict[str, dict[str, str]]:
        """What is set under these keys: values by name, by key."""
        ...

    async def put(self, tenant_id: str, scope_key: str, values: Mapping[str, str], at: Instant) -> None:
        """Set values and give the tenant's settings a new version."""
        ...

    async def drop(self, tenant_id: str, scope_key: str, names: Sequence[str] | None, at: Instant) -> int:
        """Remove values (all with None) and give the settings a new version; gives how many there were."""
        ...

    async def named(self, tenant_id: str, name: str, limit: int) -> list[tuple[str, str]]:
        """Who has set this: keys with values, in the order of the keys."""
        ...

    async def usage(self, tenant_id: str, user_id: str | None) -> Usage:
        """How much is stored for a user, or with None for the whole tenant."""
        ...
