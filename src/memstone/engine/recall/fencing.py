"""The fence of a tenant: made from a secret that is stored once, so that every process knows what another injected."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Final

from memstone.core.showing.fence import Fence
from memstone.engine.parts import Parts
from memstone.errors import StorageError

_SECRET_BYTES: Final = 32
_PROVISIONAL: Final = os.urandom(_SECRET_BYTES)
"""Stands in while a store has no secret and cannot be written: it lasts as long as the process, and nobody knows it."""


async def fence_of(parts: Parts) -> Fence:
    """Return the fence; while a store cannot be written, one of this process."""
    known = parts.fences.get(parts.tenant_id)
    if known is not None:
        return known
    try:
        made, lasts = Fence(await _secret(parts)), True
    except StorageError as error:
        made, lasts = Fence(_provisional_secret(parts.tenant_id)), not error.retryable
    if lasts:  # a store that is only busy has a secret the next time
        parts.fences[parts.tenant_id] = made
    return made


def _provisional_secret(tenant_id: str) -> bytes:
    return hmac.new(_PROVISIONAL, tenant_id.encode(), hashlib.sha256).digest()


async def _secret(parts: Parts) -> bytes:
    fresh, now = os.urandom(_SECRET_BYTES), parts.now()
    known = await parts.ledger.peek(lambda tx: tx.vault.known_key(parts.tenant_id))
    if known is not None:  # whoever only asks waits for nobody who writes
        return known
    return await parts.ledger.write(lambda tx: tx.vault.key(parts.tenant_id, fresh, now))
