"""The people who log in, and their sessions."""

from __future__ import annotations

from typing import Protocol

from memstone.model.account import Account, Session
from memstone.model.instant import Instant


class Accounts(Protocol):
    """Rows of ``accounts`` and ``account_sessions``."""

    async def put(self, account: Account) -> None:
        """Store an account, or put it in the place of the one with its id."""
        ...

    async def find(self, tenant_id: str, account_id: str) -> Account | None:
        """An account by its id."""
        ...

    async def named(self, tenant_id: str, login: str) -> Account | None:
        """An account by its folded login."""
        ...

    async def all(self, tenant_id: str) -> list[Account]:
        """The accounts of a tenant, oldest first."""
        ...

    async def every(self) -> list[Account]:
        """The accounts of all tenants."""
        ...

    async def remove(self, tenant_id: str, account_id: str) -> bool:
        """Remove an account with its sessions; gives whether it was there."""
        ...

    async def begin(self, session: Session) -> None:
        """Store a session."""
        ...

    async def session(self, tenant_id: str, session_id: str) -> Session | None:
        """A session by its id, whether or not it has expired."""
        ...

    async def turn(self, old: Session, new: Session) -> bool:
        """Put a session in the place of itself as it was; gives whether it still was so."""
        ...

    async def end(self, tenant_id: str, session_id: str) -> bool:
        """Remove a session; gives whether it was there."""
        ...

    async def end_all(self, tenant_id: str, account_id: str, but: str = "") -> int:
        """Remove the sessions of an account, but one; gives how many."""
        ...

    async def end_every(self) -> None:
        """Remove the sessions of all accounts of all tenants."""
        ...

    async def tidy(self, tenant_id: str, account_id: str, now: Instant, keep: int) -> None:
        """Remove the sessions of an account that have expired, and the oldest beyond so many."""
        ...
