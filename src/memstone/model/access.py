"""Who asks: a key, whom it may speak for, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memstone.model.instant import Instant


class Verb(StrEnum):
    """What a key may do; each holds the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_VERBS: Final = tuple(Verb)


@dataclass(frozen=True, slots=True)
class Subjects:
    """Whom a key stands for: one user, what one agent holds, or ('' and '') whoever its other rights let it reach.

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
