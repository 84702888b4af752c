"""The keys with which callers of a service show who they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstone.faces.base import Face
from memstone.model.access import Subjects
from memstone.model.ids import clean_id
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import VerbName
    from memstone.results import KeyItem, KeySecret


class Keyring(Face):
    """The keys with which callers of a service show who they are."""

    async def create_key(
        self,
        name: str = "",
        *,
        verbs: Sequence[VerbName] = ("read", "write"),
        user_id: str | None = None,
        agent_id: str | None = None,
        may_assert_user: bool = False,
        expires_at: When | None = None,
    ) -> KeySecret:
        """Make a key for this tenant: of its own, for one user, for everybody it names, or for everything.

        ``verbs`` are ``read``, ``write`` and ``admin``; each holds the ones before it. With neither ``user_id``,
        ``may_assert_user`` nor the verb ``admin`` a key reaches its own pools: the same user names mean other people
        than with any other key. With ``may_assert_user`` whoever holds it is trusted to say for which user it asks.
        With ``agent_id`` it reaches only what belongs to that agent. ``key`` in the answer is shown this once and kept
        nowhere.
        """
        from memstone.engine.access import keys

        subjects = Subjects(clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id"), may_assert_user)
        return await self._engine.run(keys.create_key, name, verbs, subjects, expires_at)

    async def keys(self) -> list[KeyItem]:
        """The keys of this tenant, oldest first; the secrets themselves are not kept."""
        from memstone.engine.access import keys

        return await self._engine.run(keys.list_keys)

    async def set_key(
        self,
        key_id: str,
        *,
        name: str | None = None,
        verbs: Sequence[VerbName] | None = None,
        may_assert_user: bool | None = None,
    ) -> KeyItem:
        """Change what a key is called and what it may do; what is not given stays, and so does its secret."""
        from memstone.engine.access import keys

        return await self._engine.run(keys.set_key, key_id, name, verbs, may_assert_user=may_assert_user)

    async def rotate_key(self, key_id: str, *, grace_seconds: float = 3_600.0) -> KeySecret:
        """Give a key a new secret under the same id; the old one is accepted for ``grace_seconds``."""
        from memstone.engine.access import keys

        return await self._engine.run(keys.rotate_key, key_id, grace_seconds)

    async def revoke_key(self, key_id: str, *, dry_run: bool = False) -> KeyItem:
        """End a key at once."""
        from memstone.engine.access import keys

        return await self._engine.dry(dry_run).run(keys.revoke_key, key_id)
