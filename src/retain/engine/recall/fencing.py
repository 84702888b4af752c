"""The fence of a tenant: made from a secret that is stored once, so that every process knows what another injected."""

from __future__ import annotations

import os
from typing import Final

from retain.core.showing.fence import Fence
from retain.engine.parts import Parts
from retain.errors import StorageError

_SECRET_BYTES: Final = 32


async def fence_of(parts: Parts) -> Fence:
    """The fence; a store that cannot be written has one that goes by the tenant's name."""
    known = parts.fences.get(parts.tenant_id)
    if known is None:
        known = parts.fences[parts.tenant_id] = Fence(await _secret(parts))
    return known


async def _secret(parts: Parts) -> bytes:
    fresh, now = os.urandom(_SECRET_BYTES), parts.now()
    try:
        known = await parts.ledger.peek(lambda tx: tx.vault.known_key(parts.tenant_id))
        if known is not None:  # whoever only asks waits for nobody who writes
            return known
        return await parts.ledger.write(lambda tx: tx.vault.key(parts.tenant_id, fresh, now))
    except StorageError:
        return f"tenant:{parts.tenant_id}".encode()
