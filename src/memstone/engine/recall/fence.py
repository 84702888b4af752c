"""Make the fence of a tenant from its secret."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Final

from memstone.core.prompt.fence import Fence
from memstone.engine.runtime import Runtime
from memstone.errors import StorageError

_SECRET_BYTES: Final = 32
_PROVISIONAL: Final = os.urandom(_SECRET_BYTES)
"""Stands in while a store has no secret and cannot be written: it lasts as long as the process, and nobody knows it."""


async def fence_of(runtime: Runtime) -> Fence:
    """Return the fence; while a store cannot be written, one of this process."""
    known = runtime.fences.get(runtime.tenant_id)
    if known is not None:
        return known
    try:
        made, lasts = Fence(await _read_secret(runtime)), True
    except StorageError as error:
        made, lasts = Fence(_provisional_secret(runtime.tenant_id)), not error.retryable
    if lasts:  # a store that is only busy has a secret the next time
        runtime.fences[runtime.tenant_id] = made
    return made


def _provisional_secret(tenant_id: str) -> bytes:
    return hmac.new(_PROVISIONAL, tenant_id.encode(), hashlib.sha256).digest()


async def _read_secret(runtime: Runtime) -> bytes:
    fresh, now = os.urandom(_SECRET_BYTES), runtime.now()
    known = await runtime.ledger.peek(lambda tx: tx.vault.known_key(runtime.tenant_id))
    if known is not None:  # whoever only asks waits for nobody who writes
        return known
    return await runtime.ledger.write(lambda tx: tx.vault.key(runtime.tenant_id, fresh, now))
