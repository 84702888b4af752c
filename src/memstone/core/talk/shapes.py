"""The shapes in which programs have messages at hand, as one: a mapping with role and content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_OTHER_NAMES: Final = {"human": "user", "ai": "assistant", "model": "assistant"}
_ROLES: Final = {**{role: role for role in ROLES}, **_OTHER_NAMES}
_PAIR: Final = 2
_WORDLESS: Final = {"type": "tool_use"}
"""A part of the protocol, in which nobody says anything."""

_FILES: Final = ("inline_data", "inlineData", "file_data", "fileData")
_CALLS: Final = ("functionCall", "function_call", "functionResponse", "function_response", "executableCode")
_STEPS: Final = ("tool-", "dynamic-tool", "step-start", "source-", "data-")


class MessageLike(Protocol):
    """An object of an SDK: with content, and a role or a type."""

    @property
    def content(self) -> Any:
        """What was said."""


def as_mapping(item: object) -> Mapping[str, Any] | None:
    """A message as a mapping: one already, an object of an SDK, anything with role and content, or (role, text)."""
    found = _mapping(item)
    return None if found is None else _with_content(found)


def _mapping(item: object) -> Mapping[str, Any] | None:
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


def _with_content(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message whose words stand in ``parts``, as the AI SDK of Vercel and Gemini write it, with them as content."""
    parts = item.get("parts")
    if item.get("content") or not isinstance(parts, (list, tuple)) or not parts:
        return item
    return {**{name: item[name] for name in item if name != "parts"}, "content": [_part(part) for part in parts]}


def _part(part: Any) -> Any:
    """A part as other services write it; what is not known stays as it is."""
    if not isinstance(part, Mapping):
        return part
    kind = part.get("type")
    if isinstance(kind, str):
        return _WORDLESS if kind.startswith(_STEPS) else {"media_type": part.get("mediaType"), **part}
    if part.get("thought") or any(name in part for name in _CALLS):
        return _WORDLESS
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    held = next((part[name] for name in _FILES if isinstance(part.get(name), Mapping)), None)
    return part if held is None else _file(held)


def _file(held: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about a file, without what it holds."""
    name, url = held.get("displayName") or held.get("display_name"), held.get("fileUri") or held.get("file_uri")
    return {"type": "file", "name": name, "url": url, "media_type": held.get("mimeType") or held.get("mime_type")}
