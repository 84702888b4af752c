"""What there is under an id that a caller gives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from retain.errors import InvalidInput

T = TypeVar("T")
_UUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


def as_text(memory_id: Any) -> Any:
    """An id as Retain writes it, where it is given as a UUID; anything else as it is."""
    from uuid import UUID  # whoever has one has loaded it

    return str(memory_id) if isinstance(memory_id, UUID) else memory_id


async def under_id(look: Callable[[str, str], Awaitable[T]], tenant_id: str, memory_id: str) -> T:
    """What ``look`` finds; a UUID in capitals, as some languages write them, is then looked for as Retain writes it."""
    if "\0" in memory_id:
        raise InvalidInput("an id holds a NUL character", hint="not every database can look for one")
    found = await look(tenant_id, memory_id)
    lower = memory_id.lower()
    if found or lower == memory_id or not _UUID.fullmatch(lower):
        return found
    return await look(tenant_id, lower)
