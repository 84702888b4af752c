"""Who works on what."""

from __future__ import annotations

from typing import Protocol

from memstone.model.instant import Instant


class Leases(Protocol):
    """Work that one worker at a time may do, for a while that it can prolong.

    ``owner`` is unique to one claim. Each call is one statement, so that of many who claim at once one wins; and while
    a transaction that has renewed or released a lease is open, nobody else can claim it.
    """

    async def claim(self, tenant_id: str, name: str, owner: str, now: Instant, until: Instant) -> bool:
        """Take a lease that nobody holds, or whose time is over; false when somebody holds it."""
        ...

    async def renew(self, tenant_id: str, name: str, owner: str, until: Instant) -> bool:
        """Hold a lease longer; false when somebody else has taken it."""
        ...

    async def release(self, tenant_id: str, name: str, owner: str) -> bool:
        """Give a lease back; false when somebody else has taken it."""
        ...
