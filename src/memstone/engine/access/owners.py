"""``owner``: whose memories are meant by the id of a key, for callers who know memories by the key they came with."""

from __future__ import annotations

from typing import Final

from memstone.core.checks.visible import within
from memstone.engine.parts import Parts
from memstone.model.ids import clean_id
from memstone.model.scope import Scope

POOL: Final = "key:"
"""What is said with a key that stands for nobody belongs to the user of this name and the key's id."""


async def owner(parts: Parts, named: str | None, own_key: str) -> str:
    """The user whose memories are meant.

    A key stands for the user it is bound to, or else for a pool of its own; nobody named is one's own key. What is not
    the id of a key of this tenant is the id of a user. ``Forbidden`` is whoever lies outside the bounds.
    """
    wanted = clean_id(named or None, "apiKeyId").removeprefix(POOL) or own_key
    if parts.bounds is not None:
        return _within(parts, wanted, own_key)
    found = await parts.ledger.peek(lambda tx: tx.api_keys.find(wanted))
    if found is not None and found.tenant_id == parts.tenant_id:
        return found.subjects.user_id or POOL + found.id
    if wanted == own_key or (named or "").startswith(POOL):
        return POOL + wanted
    return POOL + wanted if await _is_pool(parts, wanted) else wanted


async def _is_pool(parts: Parts, key: str) -> bool:
    """Tell whether memories were brought over from a key that is not one of this service."""
    pool = within(Scope(parts.tenant_id, POOL + key))
    return bool(await parts.ledger.peek(lambda tx: tx.memories.seqs(pool)))


def _within(parts: Parts, wanted: str, own_key: str) -> str:
    """Who reaches one user only means that one, and may call it by its key or by its name."""
    bounds = parts.bounds or Scope(parts.tenant_id)
    if wanted == own_key:
        return bounds.user_id or POOL + own_key
    return parts.scope({"user_id": wanted}).user_id


def key_of(user_id: str | None) -> str:
    """What an owner is called by those callers: the key's id for its pool, the user's id for a user."""
    return (user_id or "").removeprefix(POOL)
