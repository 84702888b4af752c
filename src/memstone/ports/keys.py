"""The keys with which callers of a service show who they are."""

from __future__ import annotations

from typing import Protocol

from memstone.model.access import ApiKey
from memstone.model.instant import Instant


class ApiKeys(Protocol):
    """Rows of ``api_keys``."""

    async def put(self, key: ApiKey) -> None:
        """Store a key, or put it in the place of the one with its id."""
        ...

    async def find(self, key_id: str) -> ApiKey | None:
        """A key of any tenant: it is what tells the tenant."""
        ...

    async def all(self, tenant_id: str) -> list[ApiKey]:
        """The keys of a tenant, oldest first."""
        ...

    async def every(self) -> list[ApiKey]:
        """The keys of all tenants."""
        ...

    async def used(self, tenant_id: str, key_id: str, at: Instant) -> None:
        """Note that a key was used."""
        ...
