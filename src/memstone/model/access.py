"""Callers: their key, its bounds and its permissions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from memstone.errors import Forbidden, ScopeError
from memstone.model.ids import POOLS, PoolId, clean_id, pool_id
from memstone.model.instant import Instant
from memstone.model.scope import DEFAULT_TENANT, EVERYBODY, NO_SCOPE, Scope

# --- who asks ---------------------------------------------------------------------------------------------------------


class Verb(StrEnum):
    """The permissions of a key; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_VERBS: Final = tuple(Verb)


@dataclass(frozen=True, slots=True)
class Subjects:
    """Whom a key is about: one user, the data of one agent, or ('' and '') whomever its other permissions allow.

    With ``may_assert_user`` the holder is trusted to say for whom it asks, as a web application does for the people who
    have logged in to it. Without, and without the verb ``admin``, a key reaches its own pools.
    """

    user_id: str = ""
    agent_id: str = ""
    may_assert_user: bool = False


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: never the key itself, only what recognises it.

    After a rotation the one before is accepted until ``previous_until``.
    """

    tenant_id: str
    id: str
    hash: str
    created_at: Instant
    name: str = ""
    subjects: Subjects = Subjects()
    verbs: tuple[str, ...] = ALL_VERBS
    expires_at: Instant | None = None
    revoked_at: Instant | None = None
    last_used_at: Instant | None = None
    previous_hash: str | None = None
    previous_until: Instant | None = None


# --- people who log in ------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """The role of an account; each includes the ones before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """The same as keys say it."""
        return ALL_VERBS[: ROLES.index(self) + 1]


ROLES: Final = tuple(Role)


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may log in. ``password`` is what recognises one, never the password itself."""

    tenant_id: str
    id: str
    login: str
    password: str
    created_at: Instant
    updated_at: Instant
    name: str = ""
    role: Role = Role.VIEWER
    user_id: str = ""
    agent_id: str = ""
    disabled: bool = False
    last_login_at: Instant | None = None

    @property
    def subjects(self) -> Subjects:
        """Whom the key has access to: everybody it names, one user, or its own pools with one agent."""
        return Subjects(self.user_id, self.agent_id, may_assert_user=not (self.user_id or self.agent_id))


@dataclass(frozen=True, slots=True)
class LoginSession:
    """What one login has opened. It ends by being removed, or at ``expires_at``.

    ``family`` recognises every token that was ever given out for it, ``current`` only the one that is valid: a token of
    the family that is not the current one was used before.
    """

    tenant_id: str
    id: str
    account_id: str
    family: str
    current: str
    created_at: Instant
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens are valid, in seconds: for asking, for another one of these, and a session altogether."""

    access: int = 900
    refresh: int = 14 * 86_400
    session: int = 90 * 86_400


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A secret of a store, and since when it is the one."""

    value: bytes
    created_at: Instant


# --- what a caller reaches at most within a tenant --------------------------------------------------------------------


_USE_ANOTHER: Final = "use a key that has access to it"


class Users(StrEnum):
    """Which users a caller may name."""

    ALL = "all"
    """Everybody, the pools of all keys included."""

    PEOPLE = "people"
    """Everybody but the pools of other keys."""

    POOLS = "pools"
    """The pools of one key: a name means that key's pool for the name."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a caller has access to: which users, and if set, the one user and the one agent.

    ``key_id`` is the caller's key, for its own pools. ``unnamed`` is the user whom a request means that names nobody;
    '' where it has to name somebody.
    """

    tenant_id: str = DEFAULT_TENANT
    user_id: str = ""
    agent_id: str = ""
    users: Users = Users.ALL
    key_id: str = ""
    unnamed: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the caller has access to the whole tenant."""
        return self.users is Users.ALL and not (self.user_id or self.agent_id)

    @property
    def is_everyone(self) -> bool:
        """Whether the caller has access to every person of the tenant, with every agent."""
        return self.users is not Users.POOLS and not (self.user_id or self.agent_id)

    @property
    def name(self) -> str:
        """A name that is equal for all callers with the same access; '' for access to every person."""
        key = self.key_id if self.users is Users.POOLS else ""
        return f"{key}/{self.user_id}/{self.agent_id}" if key or self.user_id or self.agent_id else ""

    @property
    def own_pool(self) -> PoolId:
        """The pool of the key itself."""
        return pool_id(self.key_id)

    def narrow(self, scope: Scope, *, reading: bool = False) -> Scope:
        """Return a scope that a caller named as what it means here; raise ``Forbidden`` if it lies outside.

        What it leaves open is filled in, and raises ``ScopeError`` where nobody is meant by naming nobody. Within the
        pools of a key there is always one user: what is looked up by a scope alone can then not be somebody else's.
        Only who reads memories, and checks each against the bounds, may look for an agent or a session in all pools.
        """
        user = self._user(scope, reading=reading)
        if self.user_id and user not in ("", self.user_id):
            raise _out_of_bounds_error("user_id", scope.user_id)
        if self.agent_id and scope.agent_id not in ("", self.agent_id):
            raise _out_of_bounds_error("agent_id", scope.agent_id)
        return replace(scope, user_id=self.user_id or user, agent_id=self.agent_id or scope.agent_id)

    def _user(self, scope: Scope, *, reading: bool) -> str:
        named = scope.user_id
        if isinstance(named, PoolId):
            if not self.holds_user(named):
                raise _out_of_bounds_error("user_id", named)
            return named
        if self.users is Users.ALL or (self.user_id and not named):
            return named
        if named == EVERYBODY or named.startswith(POOLS):
            raise reserved_name_error(named)
        if not named:
            return self._nobody(scope, reading=reading)
        return pool_id(self.key_id, named) if self.users is Users.POOLS else named

    def _nobody(self, scope: Scope, *, reading: bool) -> str:
        is_open = scope.is_open and not self.agent_id
        if is_open and not self.unnamed:
            raise ScopeError(NO_SCOPE, hint="")
        if self.users is Users.POOLS and not (reading and not scope.is_open):
            return self.unnamed or self.own_pool
        return self.unnamed if is_open else ""

    def for_user(self, name: str) -> Bounds:
        """Return the bounds of a request that names a person; raise ``Forbidden`` without access to that person."""
        named = clean_id(name, "user_id")
        if named == EVERYBODY or named.startswith(POOLS):
            raise reserved_name_error(named)
        scope = self.narrow(Scope(self.tenant_id, named))
        return replace(self, user_id=scope.user_id, unnamed="")

    def name_of(self, user_id: str) -> str | None:
        """Return the caller's name for a user id: for a pool of its own key the name in it, or None."""
        if self.users is not Users.POOLS or not self.holds_user(user_id):
            return user_id or None
        return user_id.removeprefix(self.own_pool).removeprefix(":") or None

    def rename(self, named: str) -> str:
        """Return the user id for a name in a filter; an id without access stays as it is."""
        if self.users is not Users.POOLS or isinstance(named, PoolId):
            return named
        return pool_id(self.key_id, named)

    def holds(self, scope: Scope) -> bool:
        """Return whether the caller has access to a scope."""
        return self.holds_user(scope.user_id) and self.agent_id in ("", scope.agent_id)

    def holds_user(self, user_id: str) -> bool:
        """Return whether the caller has access to a stored user id."""
        if self.user_id:
            return user_id == self.user_id
        if self.users is Users.ALL:
            return True
        own = user_id == self.own_pool or user_id.startswith(f"{self.own_pool}:")
        return own or (self.users is Users.PEOPLE and not user_id.startswith(POOLS))


def reserved_name_error(name: str) -> Forbidden:
    """Return the error for a name that belongs to nobody in particular."""
    if name == EVERYBODY:
        return Forbidden(f"{EVERYBODY!r} means everybody", hint="use an admin key that is not bound to a user")
    return Forbidden(
        f"names that begin with {POOLS!r} are reserved for the pools of API keys",
        hint="use the person's usual id; only an admin key for the whole tenant may name pools",
    )


def _out_of_bounds_error(field: str, value: str) -> Forbidden:
    return Forbidden(f"this key has no access to {field} {value!r}", hint=_USE_ANOTHER)
