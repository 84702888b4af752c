"""What there is under an id that a caller gives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")
_UUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


async def under_id(look: Callable[[str, str], Awaitable[T]], tenant_id: str, memory_id: str) -> T:
    """What ``look`` finds; a UUID in capitals, as some languages write them, is then looked for as Retain writes it."""
    found = await look(tenant_id, memory_id)
    lower = memory_id.lower()
    if found or lower == memory_id or not _UUID.fullmatch(lower):
        return found
    return await look(tenant_id, lower)
