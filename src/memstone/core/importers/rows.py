"""Lists of memories as other systems write them: mem0, a gateway, Open WebUI, and plain lists of facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from memstone.core.checks.values import CALLER_KINDS
from memstone.core.importers.items import Item, Reading, Whose, id_of, mapping_of, text_of, uuid_of, word_of
from memstone.core.importers.times import first, when

_TEXT: Final = ("text", "memory", "content", "fact")
_ROLES: Final = ("user", "assistant")


def read_mem0(rows: Sequence[Any], into: Reading) -> None:
    """What ``get_all`` or an export of mem0 gives."""
    for row in _mappings(rows, into):
        categories = row.get("categories")
        metadata = mapping_of(row.get("metadata"))
        metadata |= {"categories": categories} if isinstance(categories, list) and categories else {}
        _take(into, _item(row, ("memory", "text", "data"), metadata, expires=row.get("expiration_date")))


def read_gateway(rows: Sequence[Any], into: Reading) -> None:
    """Entries of a gateway: what its list shows, or rows of its table, with names of either style."""
    for row in _mappings(rows, into):
        metadata = _metadata(row.get("metadata"))
        _take(into, _item(row, ("content", "text"), metadata, expires=_either(row, "expiresAt", "expires_at")))


def read_openwebui(rows: Sequence[Any], into: Reading) -> None:
    """The memories of Open WebUI."""
    for row in _mappings(rows, into):
        _take(into, _item(row, ("content",), mapping_of(row.get("metadata") or row.get("meta"))))


def read_facts(rows: Sequence[Any], into: Reading) -> None:
    """Texts, or objects with a text and, if there are any, a time, a speaker and metadata."""
    for row in rows:
        if isinstance(row, str):
            into.add(Item(text_of(row)))
        elif isinstance(row, Mapping):
            _take(into, _item(row, _TEXT, _metadata(row.get("metadata")), expires=row.get("expires_at")))
        else:
            into.skip("not a memory")


def _take(into: Reading, item: Item) -> None:
    """Take a row, unless a system or a tool speaks in it."""
    if item.role in _ROLES:
        into.add(item)
    else:
        into.skip("system or tool")


def _mappings(rows: Sequence[Any], into: Reading) -> list[Mapping[str, Any]]:
    found = [row for row in rows if isinstance(row, Mapping)]
    into.skip("not a memory", len(rows) - len(found))
    return found


def _item(row: Mapping[str, Any], texts: Sequence[str], metadata: Mapping[str, Any], *, expires: object = None) -> Item:
    """One row: its words, when, by whom, and what was noted beside it."""
    role = row.get("role")
    speaker = _either(row, "name", "speaker", "actor_id", "actor")
    kind = _either(row, "type", "kind", "memory_type")
    return Item(
        text=next((text for name in texts if (text := text_of(row.get(name)))), ""),
        role="user" if role in (None, "", "human") else str(role),
        name="" if speaker == role else word_of(speaker),
        occurred_at=first(*(row.get(name) for name in ("occurred_at", "created_at", "createdAt", "timestamp", "date"))),
        kind=str(kind) if kind in CALLER_KINDS else None,
        key=id_of(row.get("key")) or None,
        expires_at=when(expires),
        metadata=metadata,
        whose=Whose(
            id_of(_either(row, "user_id", "userId", "apiKeyId", "api_key_id")),
            id_of(_either(row, "agent_id", "agentId")),
            id_of(_either(row, "run_id", "runId", "sessionId", "session_id")),
        ),
        id=uuid_of(row.get("id")),
    )


def _either(row: Mapping[str, Any], *names: str) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _metadata(value: object) -> dict[str, Any]:
    """Metadata, also where a database keeps it as text; what cannot be read is none."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return mapping_of(value)
