"""The shapes in which programs have messages at hand, as one: a mapping with role and content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_OTHER_NAMES: Final = {"human": "user", "ai": "assistant", "model": "assistant"}
_ROLES: Final = {**{role: role for role in ROLES}, **_OTHER_NAMES}
_PAIR: Final = 2


class MessageLike(Protocol):
    """An object of an SDK: with content, and a role or a type."""

    @property
    def content(self) -> Any:
        """What was said."""


def as_mapping(item: object) -> Mapping[str, Any] | None:
    """A message as a mapping: one already, an object of an SDK, anything with role and content, or (role, text)."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple):
        return {"role": item[0], "content": item[1]} if len(item) == _PAIR and role_named(item[0]) else None
    dump = getattr(item, "model_dump", None)
    dumped = dump() if callable(dump) and not isinstance(item, type) else None
    if isinstance(dumped, Mapping):
        return dumped
    role = getattr(item, "role", None) or getattr(item, "type", None)
    if role is None or not hasattr(item, "content"):
        return None
    name = getattr(item, "name", None)
    return {"role": role, "content": item.content, "name": name if isinstance(name, str) else None}


def role_of(item: Mapping[str, Any]) -> object:
    """The role that a message names, some by its type; a user's when it names none. What is no role stays as it is."""
    given = item.get("role")
    if given is not None:
        return role_named(given) or given
    return role_named(item.get("type")) or "user"


def role_named(value: object) -> str | None:
    """The role of that name, None where there is none."""
    return _ROLES.get(value) if isinstance(value, str) else None
