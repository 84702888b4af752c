"""The keys with which callers of a service show who they are.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import VerbName
    from memstone.results import KeyItem, KeySecret


class Keyring(Remote):
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
        given: dict[str, Any] = {
            "name": name,
            "verbs": verbs,
            "user_id": user_id,
            "agent_id": agent_id,
            "may_assert_user": may_assert_user,
            "expires_at": expires_at,
        }
        result: KeySecret = await self._link.call("create_key", given)
        return result

    async def keys(self) -> list[KeyItem]:
        """The keys of this tenant, oldest first; the secrets themselves are not kept."""
        given: dict[str, Any] = {}
        result: list[KeyItem] = await self._link.call("keys", given)
        return result

    async def set_key(
        self,
        key_id: str,
        *,
        name: str | None = None,
        verbs: Sequence[VerbName] | None = None,
        may_assert_user: bool | None = None,
    ) -> KeyItem:
        """Change what a key is called and what it may do; what is not given stays, and so does its secret."""
        given: dict[str, Any] = {"key_id": key_id, "name": name, "verbs": verbs, "may_assert_user": may_assert_user}
        result: KeyItem = await self._link.call("set_key", given)
        return result

    async def rotate_key(self, key_id: str, *, grace_seconds: float = 3600.0) -> KeySecret:
        """Give a key a new secret under the same id; the old one is accepted for ``grace_seconds``."""
        given: dict[str, Any] = {"key_id": key_id, "grace_seconds": grace_seconds}
        result: KeySecret = await self._link.call("rotate_key", given)
        return result

    async def revoke_key(self, key_id: str, *, dry_run: bool = False) -> KeyItem:
        """End a key at once."""
        given: dict[str, Any] = {"key_id": key_id, "dry_run": dry_run}
        result: KeyItem = await self._link.call("revoke_key", given)
        return result
