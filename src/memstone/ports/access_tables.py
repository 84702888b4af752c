"""Tables of accounts, keys, agents, settings and usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memstone.model.access import Account, ApiKey, LoginSession
from memstone.model.instant import Instant
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import RowCounts

# --- the people who log in, and their sessions ------------------------------------------------------------------------


class Accounts(Protocol):
    """Rows of ``accounts`` and ``account_sessions``."""

    async def put(self, account: Account) -> None:
        """Store an account, or put it in place of the one with its id."""
        ...

    async def find(self, tenant_id: str, account_id: str) -> Account | None:
        """Return an account by its id."""
        ...

    async def find_by_login(self, tenant_id: str, login: str) -> Account | None:
        """Return an account by its folded login."""
        ...

    async def all(self, tenant_id: str) -> list[Account]:
        """Return the accounts of a tenant, oldest first."""
        ...

    async def every(self) -> list[Account]:
        """Return the accounts of all tenants."""
        ...

    async def remove(self, tenant_id: str, account_id: str) -> bool:
        """Remove an account with its sessions; return whether it was there."""
        ...

    async def begin(self, session: LoginSession) -> None:
        """Store a session."""
        ...

    async def session(self, tenant_id: str, session_id: str) -> LoginSession | None:
        """Return a session by its id, whether or not it has expired."""
        ...

    async def turn(self, old: LoginSession, new: LoginSession) -> bool:
        """Put a session in place of itself as it was; return whether it still was so."""
        ...

    async def end(self, tenant_id: str, session_id: str) -> bool:
        """Remove a session; return whether it was there."""
        ...

    async def end_all(self, tenant_id: str, account_id: str, but: str = "") -> int:
        """Remove the sessions of an account, but one; return how many."""
        ...

    async def end_every(self) -> None:
        """Remove the sessions of all accounts of all tenants."""
        ...

    async def tidy(self, tenant_id: str, account_id: str, now: Instant, keep: int) -> None:
        """Remove the sessions of an account that have expired, and the oldest beyond so many."""
        ...


# --- the keys with which callers of a service show who they are -------------------------------------------------------


class ApiKeys(Protocol):
    """Rows of ``api_keys``."""

    async def put(self, key: ApiKey) -> None:
        """Store a key, or put it in place of the one with its id."""
        ...

    async def find(self, key_id: str) -> ApiKey | None:
        """Return a key of any tenant: it is what tells the tenant."""
        ...

    async def all(self, tenant_id: str) -> list[ApiKey]:
        """Return the keys of a tenant, oldest first."""
        ...

    async def every(self) -> list[ApiKey]:
        """Return the keys of all tenants."""
        ...

    async def record_use(self, tenant_id: str, key_id: str, at: Instant) -> None:
        """Note that a key was used."""
        ...


# --- agents -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent. Its settings are those stored under ``agent:<id>``, see ``memstone.ports.access_tables``."""

    id: str
    created_at: Instant
    updated_at: Instant
    name: str = ""
    model: str | None = None
    system_prompt: str | None = None


class Agents(Protocol):
    """The agents of a tenant."""

    async def get(self, tenant_id: str, agent_id: str) -> AgentRow | None:
        """Return one agent."""
        ...

    async def put(self, tenant_id: str, agent: AgentRow) -> None:
        """Keep an agent, in place of an earlier one of the same id, whose ``created_at`` stays."""
        ...

    async def meet(self, tenant_id: str, agent_id: str, at: Instant) -> bool:
        """Give an agent that was named a row, unless it has one; whether it is new."""
        ...

    async def list_agents(self, tenant_id: str, limit: int, offset: int) -> list[AgentRow]:
        """Return agents by their ids."""
        ...

    async def count(self, tenant_id: str) -> int:
        """Return how many there are."""
        ...

    async def remove(self, tenant_id: str, agent_id: str) -> bool:
        """Remove the row; whether there was one."""
        ...


# --- what is set for a tenant, a user, an agent or a session, and how much is stored for them -------------------------


@dataclass(frozen=True, slots=True)
class Usage:
    """Live rows: memories of every layer but turns, turns, and the characters of both."""

    memories: int = 0
    turns: int = 0
    chars: int = 0


class Preferences(Protocol):
    """Values are JSON text. ``scope_key`` is '' for the tenant, else ``user:<id>``, ``agent:<id>`` or ``run:<id>``."""

    async def version(self, tenant_id: str) -> str:
        """Return what differs after every change to any setting of the tenant, '' when nothing was ever set.

        It takes one statement.
        """
        ...

    async def of(self, tenant_id: str, scope_keys: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what is set under these keys: values by name, by key."""
        ...

    async def put(self, tenant_id: str, scope_key: str, values: Mapping[str, str], at: Instant) -> None:
        """Set values and give the tenant's settings a new version."""
        ...

    async def drop(self, tenant_id: str, scope_key: str, names: Sequence[str] | None, at: Instant) -> int:
        """Remove values (all with None) and give the settings a new version; return how many there were."""
        ...

    async def list_by_name(self, tenant_id: str, name: str, limit: int) -> list[tuple[str, str]]:
        """Return who has set this: keys with values, in the order of the keys."""
        ...

    async def usage(self, tenant_id: str, user_id: str | None) -> Usage:
        """Return how much is stored for a user, or with None for the whole tenant."""
        ...


# --- questions about a whole tenant, and acts upon it -----------------------------------------------------------------


class Admin(Protocol):
    """Whole-tenant questions and acts."""

    async def counts(self, tenant_id: str) -> RowCounts:
        """Return rows per mirror: memories, how many are turns, events, fulltext, vectors, signals pending and dead."""
        ...

    async def reset(self, tenant_id: str) -> None:
        """Remove every row of a tenant, in every table."""
        ...

    async def cursor(self) -> int:
        """Return the ``seq`` of the newest version; whatever is written later has a larger one."""
        ...

    async def scopes(self, tenant_id: str, field: str, limit: int, offset: int) -> list[tuple[str, int, Instant]]:
        """Return the ids in a field of the links, how many memories each has and when the newest came, most first."""
        ...

    async def users_of(self, scope: Scope) -> list[str]:
        """Return the users whose links name this agent or run."""
        ...
