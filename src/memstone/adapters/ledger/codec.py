"""Rows to records and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from memstone.adapters.ledger.seam import Row
from memstone.errors import Corrupted
from memstone.model.memory import Link, Record
from memstone.model.scope import Scope

RECORD_COLUMNS: Final = tuple(item.name for item in fields(Record))
LINK_COLUMNS: Final = (
    "tenant_id",
    "user_id",
    "agent_id",
    "run_id",
    "created_at",
    "dedupe",
    "origin",
    "use_count",
    "last_used_at",
)
INSERTED: Final = tuple(name for name in RECORD_COLUMNS if name != "seq")
_values: Final = attrgetter(*INSERTED)
_DATA, _METADATA = RECORD_COLUMNS.index("data"), RECORD_COLUMNS.index("metadata")
_ID, _TEXT, _HASH = (RECORD_COLUMNS.index(name) for name in ("id", "text", "hash"))
_WIDTH: Final = len(RECORD_COLUMNS)

INSERT_RECORD: Final = f"INSERT INTO memories ({', '.join(INSERTED)}) VALUES ({', '.join('?' * len(INSERTED))})"
INSERT_NUMBERED: Final = (
    f"INSERT INTO memories ({', '.join(INSERTED)}, seq) VALUES ({', '.join('?' * len(RECORD_COLUMNS))})"
)
SELECT_RECORD: Final = ", ".join(f"m.{name}" for name in RECORD_COLUMNS)
SELECT_LINK: Final = ", ".join(f"l.{name}" for name in LINK_COLUMNS)
# Members of enumerations, stored as plain text: for each value of any other class the driver looks for an adapter.
_NAMES_AT: Final = tuple(map(INSERTED.index, ("origin", "layer", "kind", "status")))
_DATA_AT, _METADATA_AT = INSERTED.index("data"), INSERTED.index("metadata")


_scope: Final = lru_cache(maxsize=256)(Scope)
"""The rows of one answer mostly have one scope; it cannot be changed, so they may share it."""

_decode: Final = json.JSONDecoder().raw_decode
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def dump(value: Any) -> str:
    """Compact JSON with stable key order, so that equal values are equal text."""
    return _encode(value) if value else "{}"


def load(text: str | None) -> dict[str, Any]:
    """A JSON object; anything else reads as empty, so that one bad row never hides the others."""
    if not text or text == "{}":
        return {}
    try:
        value, end = _decode(text)
        if end != len(text):  # blanks may follow; nothing else may
            value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def record_params(record: Record) -> list[Any]:
    """The parameters of ``INSERT_RECORD``."""
    values = list(_values(record))
    for at in _NAMES_AT:
        values[at] = str(values[at])
    values[_DATA_AT] = dump(record.data)
    values[_METADATA_AT] = dump(record.metadata)
    return values


def to_record(row: Row) -> Record:
    """A record from a row that starts with ``SELECT_RECORD``; ``Corrupted`` if its text is not what was stored."""
    refuse_damaged(row[_ID], row[_TEXT], row[_HASH])
    values = (*row[:_DATA], load(row[_DATA]), load(row[_METADATA]), *row[_METADATA + 1 : _WIDTH])
    return Record(*values)


def refuse_damaged(memory_id: str, text: str, stored_hash: str) -> None:
    """Raise ``Corrupted`` if a text is not the one that was stored; where the words are gone, the hash is, too.

    A database notices when its own structure is damaged, not when a character of a text has become another.
    """
    if stored_hash and hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() != stored_hash:
        raise Corrupted(
            f"the memory {memory_id} is damaged: its text is not what was stored",
            hint=f"restore a backup, or remove this one: `memstone erase --memory {memory_id}`",
        )


def to_link(row: Row) -> Link:
    """A link from a row of ``SELECT_LINK``."""
    tenant, user, agent, run, created_at, dedupe, origin, use_count, last_used_at = row
    return Link(_scope(tenant, user, agent, run), created_at, dedupe, origin, use_count, last_used_at)


def link_part(row: Row) -> Row:
    """What follows the record in a row that has both."""
    return row[_WIDTH:]
