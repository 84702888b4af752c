"""People who log in: an account, what its role allows, and the sessions it has open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memstone.model.access import ALL_VERBS, Subjects, Verb
from memstone.model.instant import Instant


class Role(StrEnum):
    """What somebody may do; each holds the ones before it."""

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
        """Whom it reaches: anybody it names, one user, or what is its own with one agent."""
        return Subjects(self.user_id, self.agent_id, may_assert_user=not (self.user_id or self.agent_id))


@dataclass(frozen=True, slots=True)
class Session:
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
