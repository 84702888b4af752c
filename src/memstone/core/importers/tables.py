"""Databases of other systems, by what their tables hold: an older companion, a gateway, Open WebUI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from memstone.core.importers.items import Item, Reading, Sort, Whose, id_of, text_of, word_of
from memstone.core.importers.rows import read_gateway, read_openwebui
from memstone.core.importers.times import first
from memstone.model.ids import POOLS

Columns: TypeAlias = Mapping[str, frozenset[str]]
"""The columns of every table."""

Rows: TypeAlias = Callable[[str, Sequence[str]], Iterable[Mapping[str, Any]]]
"""The rows of a table, ordered by columns."""

_LIVE: Final = ("active", "", "None")
_PARTS: Final = ("user_profile", "user_edits", "conversation_summaries", "conversation_chunks")
_CONTENT: Final = {"conversation_summaries": "summary"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a database is recognised, and which of its tables hold memories."""

    name: str
    table: str
    needs: frozenset[str]


_SHAPES: Final = (
    Shape("companion_db", "conversation_chunks", frozenset({"conversation_id", "role", "content"})),
    Shape("companion_db", "conversation_summaries", frozenset({"conversation_id", "summary"})),
    Shape("companion_db", "user_edits", frozenset({"content", "deleted_at"})),
    Shape("gateway_db", "memories", frozenset({"api_key_id", "content"})),
    Shape("gateway_db", "memory", frozenset({"apiKeyId", "content"})),
    Shape("openwebui_db", "memory", frozenset({"user_id", "content"})),
)


def shape_of(columns: Columns) -> Shape | None:
    """What a database is; a modern table goes before the one it has replaced."""
    return next((one for one in _SHAPES if one.needs <= columns.get(one.table, frozenset())), None)


def read(shape: Shape, columns: Columns, rows: Rows, into: Reading) -> None:
    """All that a database holds of memories."""
    if shape.name == "companion_db":
        _companion(columns, rows, into)
    elif shape.name == "gateway_db":
        read_gateway(list(map(_of_pool, rows(shape.table, ("createdAt", "created_at")))), into)
    else:
        read_openwebui(list(rows(shape.table, ("created_at",))), into)


def _of_pool(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of a gateway whose owner is a key's pool, as a pool is called here."""
    key = id_of(row.get("api_key_id") or row.get("apiKeyId"))
    return {**row, "user_id": f"{POOLS}{key}"} if key else row


def _companion(columns: Columns, rows: Rows, into: Reading) -> None:
    """Profile, edits, summaries and what was said; everything else was derived from these and stays behind."""
    given = {name for name in _PARTS if _CONTENT.get(name, "content") in columns.get(name, frozenset())}
    for row in rows("user_profile", ()) if "user_profile" in given else ():
        when, model = first(row.get("generated_at")), word_of(row.get("model"))
        into.add(Item(text_of(row.get("content")), Sort.NARRATIVE, "assistant", occurred_at=when, model=model))
    for row in rows("user_edits", ("created_at", "id")) if "user_edits" in given else ():
        if row.get("deleted_at"):
            into.skip("deleted there")
        else:
            into.add(Item(text_of(row.get("content")), Sort.OVERRIDE, occurred_at=first(row.get("created_at"))))
    summaries = (
        list(rows("conversation_summaries", ("conversation_at", "id"))) if "conversation_summaries" in given else []
    )
    known: dict[str, Mapping[str, Any]] = {
        id_of(row.get("conversation_id")): {"agent_id": row.get("agent_id")} for row in summaries
    }
    known |= {id_of(row.get("id")): row for row in rows("conversations", ())} if "conversations" in columns else {}
    for row in summaries:
        _summary(row, known, into)
    for row in (
        rows("conversation_chunks", ("conversation_id", "chunk_index", "id")) if "conversation_chunks" in given else ()
    ):
        _chunk(row, known, into)


def _summary(row: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], into: Reading) -> None:
    if str(row.get("status", "active")) not in _LIVE:
        into.skip("deleted there")
        return
    name = id_of(row.get("conversation_id"))
    into.add(
        Item(
            text_of(row.get("summary")),
            Sort.EPISODE,
            "assistant",
            occurred_at=first(row.get("conversation_at"), row.get("created_at")),
            conversation=name,
            title=_title(known, name),
            whose=Whose(agent_id=id_of(row.get("agent_id")) or id_of(known.get(name, {}).get("agent_id"))),
        )
    )


def _chunk(row: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], into: Reading) -> None:
    name = id_of(row.get("conversation_id"))
    role = str(row.get("role", "")).lower()
    if role not in ("user", "assistant"):
        into.skip("system or tool")
        return
    conversation = known.get(name, {})
    into.add(
        Item(
            text_of(row.get("content")),
            Sort.TURN,
            role,
            occurred_at=first(row.get("created_at"), conversation.get("started_at")),
            conversation=name,
            title=_title(known, name),
            whose=Whose(agent_id=id_of(row.get("agent_id")) or id_of(conversation.get("agent_id"))),
        )
    )


def _title(known: Mapping[str, Mapping[str, Any]], name: str) -> str:
    return word_of(known.get(name, {}).get("title"))
