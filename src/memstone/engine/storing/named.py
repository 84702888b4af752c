"""What there is under an id that a caller gives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from memstone.core.checks.arguments import IDS
from memstone.errors import InvalidInput

T = TypeVar("T")
_NO_NUL: Final = "not every database can look for one"
_UUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


def as_text(memory_id: Any) -> Any:
    """An id as Memstone writes it, where it is given as a UUID; anything else as it is."""
    from uuid import UUID  # whoever has one has loaded it

    return str(memory_id) if isinstance(memory_id, UUID) else memory_id


def checked_id(given: Any, name: str = "memory_id") -> str:
    """An id as callers give it: text, or the UUID that some have of it."""
    (what, hint), value = IDS[name], as_text(given)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be the id of {what}, not {value!r}", hint=hint)
    return without_nul(value.strip(), name)


def without_nul(value: str, name: str) -> str:
    """The same text, which every database can look for."""
    if "\0" in value:
        raise InvalidInput(f"{name} holds a NUL character", hint=_NO_NUL)
    return value


async def under_id(look: Callable[[str, str], Awaitable[T]], tenant_id: str, memory_id: str) -> T:
    """What ``look`` finds; a UUID in capitals, as some languages write them, is then looked for in our spelling."""
    found = await look(tenant_id, without_nul(memory_id, "memory_id"))
    lower = memory_id.lower()
    if found or lower == memory_id or not _UUID.fullmatch(lower):
        return found
    return await look(tenant_id, lower)
