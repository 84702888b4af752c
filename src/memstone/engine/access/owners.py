"""``owner``: whose memories are meant by the id of a key, for callers who know memories by the key they came with."""

from __future__ import annotations

from memstone.core.checks.filters import within
from memstone.engine.parts import Parts
from memstone.model.ids import POOLS, clean_id, pool_id
from memstone.model.scope import Scope


async def owner(parts: Parts, named: str | None, own_key: str) -> str:
    """Return the user whose memories are meant, in the form in which the other verbs take it.

    A key stands for the user it is bound to, or else for a pool of its own; nobody named is one's own key. What is not
    the id of a key of this tenant is the id of a user. Which other keys there are is told only to who reaches the whole
    tenant: to everybody else the id of another key is a name like any other. Raise ``Forbidden`` for whoever lies
    outside the bounds.
    """
    given = clean_id(named or None, "apiKeyId")
    bounds = parts.bounds
    if given in ("", own_key, POOLS + own_key):
        return pool_id(own_key) if bounds is None else bounds.user_id or pool_id(own_key)
    if bounds is not None:
        return parts.scope({"user_id": given}).user_id
    wanted = given.removeprefix(POOLS)
    found = await parts.ledger.peek(lambda tx: tx.api_keys.find(wanted))
    if found is not None and found.tenant_id == parts.tenant_id:
        return found.subjects.user_id or pool_id(found.id)
    return POOLS + wanted if given.startswith(POOLS) or await _is_pool(parts, wanted) else given


async def _is_pool(parts: Parts, key: str) -> bool:
    """Tell whether memories were brought over from a key that is not one of this service."""
    pool = within(Scope(parts.tenant_id, POOLS + key))
    return bool(await parts.ledger.peek(lambda tx: tx.memories.seqs(pool)))


def key_of(user_id: str | None) -> str:
    """What an owner is called by those callers: the key's id for its pool, the user's id for a user."""
    key_id = (user_id or "").removeprefix(POOLS)
    return (user_id or "") if ":" in key_id else key_id
