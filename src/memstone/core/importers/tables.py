"""Read databases of an older companion, a gateway, Open WebUI and mem0."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, TypeAlias

from memstone.core.checks.arguments import CALLER_KINDS
from memstone.core.importers.items import (
    Sort,
    SourceItem,
    SourceOwner,
    SourceReader,
    first_time,
    id_of,
    mapping_of,
    parse_time,
    text_of,
    uuid_of,
    word_of,
)
from memstone.model.ids import POOLS
from memstone.model.instant import Instant

# --- lists of memories as other systems write them --------------------------------------------------------------------


_TEXT: Final = ("text", "memory", "content", "fact")
_MEM0_FIELDS: Final = frozenset(
    """actor_id agent_id attributed_to created_at data expiration_date hash id memory_type role run_id text_lemmatized
    updated_at user_id""".split()
)
"""What mem0 itself writes into the payload of a point; the rest is the caller's metadata."""
_ROLES: Final = ("user", "assistant")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def read_mem0(rows: Sequence[Any], into: SourceReader) -> None:
    """Read what ``get_all`` or an export of mem0 gives."""
    for row in _filter_mappings(rows, into):
        categories = row.get("categories")
        metadata = mapping_of(row.get("metadata"))
        metadata |= {"categories": categories} if isinstance(categories, list) and categories else {}
        _add_spoken_item(into, _item_from_row(row, ("memory", "text", "data"), metadata, expires=_end_of_day(row)))


def _end_of_day(row: Mapping[str, Any]) -> object:
    """Return when a memory of mem0 ends: its expiration date is the last day on which it is shown."""
    value = row.get("expiration_date")
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return value
    with suppress(ValueError, OverflowError):
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    return value


def read_gateway(rows: Sequence[Any], into: SourceReader) -> None:
    """Read entries of a gateway: what its list shows, or rows of its table, with names of either style."""
    for row in _filter_mappings(rows, into):
        metadata = _parse_metadata(row.get("metadata"))
        _add_spoken_item(
            into,
            _item_from_row(row, ("content", "text"), metadata, expires=_first_value(row, "expiresAt", "expires_at")),
        )


def read_openwebui(rows: Sequence[Any], into: SourceReader) -> None:
    """Read the memories of Open WebUI."""
    for row in _filter_mappings(rows, into):
        _add_spoken_item(into, _item_from_row(row, ("content",), mapping_of(row.get("metadata") or row.get("meta"))))


def read_facts(rows: Sequence[Any], into: SourceReader) -> None:
    """Read texts, or objects with a text and, if there are any, a time, a speaker and metadata."""
    for row in rows:
        if isinstance(row, str):
            into.add(SourceItem(text_of(row)))
        elif isinstance(row, Mapping):
            _add_spoken_item(
                into, _item_from_row(row, _TEXT, _parse_metadata(row.get("metadata")), expires=row.get("expires_at"))
            )
        else:
            into.skip("not a memory")


def _add_spoken_item(into: SourceReader, item: SourceItem) -> None:
    """Take a row, unless a system or a tool speaks in it."""
    if item.role in _ROLES:
        into.add(item)
    else:
        into.skip("system or tool")


def _filter_mappings(rows: Sequence[Any], into: SourceReader) -> list[Mapping[str, Any]]:
    found = [row for row in rows if isinstance(row, Mapping)]
    into.skip("not a memory", len(rows) - len(found))
    return found


def _item_from_row(
    row: Mapping[str, Any], texts: Sequence[str], metadata: Mapping[str, Any], *, expires: object = None
) -> SourceItem:
    """Return one row: its words, when, by whom, and what was noted beside it."""
    role = row.get("role")
    speaker = _first_value(row, "name", "speaker", "actor_id", "actor")
    kind = _first_value(row, "type", "kind", "memory_type")
    return SourceItem(
        text=next((text for name in texts if (text := text_of(row.get(name)))), ""),
        role="user" if role in (None, "", "human") else str(role),
        name="" if speaker == role else word_of(speaker),
        occurred_at=first_time(
            *(row.get(name) for name in ("occurred_at", "created_at", "createdAt", "timestamp", "date"))
        ),
        kind=str(kind) if kind in CALLER_KINDS else None,
        key=id_of(row.get("key")) or None,
        expires_at=parse_time(expires),
        metadata=metadata,
        owner=SourceOwner(
            id_of(_first_value(row, "user_id", "userId", "apiKeyId", "api_key_id")),
            id_of(_first_value(row, "agent_id", "agentId")),
            id_of(_first_value(row, "run_id", "runId", "sessionId", "session_id")),
        ),
        id=uuid_of(row.get("id")),
    )


def _first_value(row: Mapping[str, Any], *names: str) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _parse_metadata(value: object) -> dict[str, Any]:
    """Return metadata, also where a database keeps it as text; what cannot be read is none."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return mapping_of(value)


# --- databases of other systems, by what their tables hold ------------------------------------------------------------


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
    Shape("mem0_db", "points", frozenset({"id", "point"})),
    Shape("mem0_db", "history", frozenset({"memory_id", "new_memory", "is_deleted"})),
)


def shape_of(columns: Columns) -> Shape | None:
    """Return what a database is; a modern table goes before the one it has replaced."""
    return next((one for one in _SHAPES if one.needs <= columns.get(one.table, frozenset())), None)


def read_database(shape: Shape, columns: Columns, rows: Rows, into: SourceReader) -> None:
    """Read all that a database holds of memories."""
    if shape.name == "companion_db":
        _read_companion(columns, rows, into)
    elif shape.name == "gateway_db":
        read_gateway(list(map(_of_pool, rows(shape.table, ("createdAt", "created_at")))), into)
    elif shape.name == "mem0_db":
        read_mem0(list(_mem0_points(rows) if shape.table == "points" else _mem0_texts(rows)), into)
    else:
        read_openwebui(list(rows(shape.table, ("created_at",))), into)


def _mem0_points(rows: Rows) -> Iterator[Any]:
    """Yield the memories in the embedded vector store of mem0; everything is in the payload of a point."""
    for row in rows("points", ()):
        point = mapping_of(row.get("point"))
        payload = mapping_of(point.get("payload"))
        if not isinstance(payload.get("data"), str):
            yield None
            continue
        metadata = {name: value for name, value in payload.items() if name not in _MEM0_FIELDS}
        kind = {"kind": "procedural"} if payload.get("memory_type") == "procedural_memory" else {}
        yield {**payload, **kind, "id": point.get("id"), "memory": payload["data"], "metadata": metadata}


def _mem0_texts(rows: Rows) -> Iterator[Any]:
    """Yield what is left at the end of mem0's history, which does not say whose it is."""
    last: dict[str, dict[str, Any]] = {}
    for row in rows("history", ("created_at", "updated_at")):
        last[id_of(row.get("memory_id"))] = {**row, "id": row.get("memory_id"), "memory": row.get("new_memory")}
    for one in last.values():
        if not one.get("is_deleted"):
            yield one


def _of_pool(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of a gateway whose owner is a key's pool, as a pool is called here."""
    key = id_of(row.get("api_key_id") or row.get("apiKeyId"))
    return {**row, "user_id": f"{POOLS}{key}"} if key else row


def _read_companion(columns: Columns, rows: Rows, into: SourceReader) -> None:
    """Read profile, edits, summaries and what was said; everything else was derived from these and stays behind."""
    value = {name for name in _PARTS if _CONTENT.get(name, "content") in columns.get(name, frozenset())}
    for row in rows("user_profile", ()) if "user_profile" in value else ():
        when, model = first_time(row.get("generated_at")), word_of(row.get("model"))
        into.add(SourceItem(text_of(row.get("content")), Sort.NARRATIVE, "assistant", occurred_at=when, model=model))
    for row in rows("user_edits", ("created_at", "id")) if "user_edits" in value else ():
        if row.get("deleted_at"):
            into.skip("deleted there")
        else:
            into.add(
                SourceItem(text_of(row.get("content")), Sort.OVERRIDE, occurred_at=first_time(row.get("created_at")))
            )
    summaries = (
        list(rows("conversation_summaries", ("conversation_at", "id"))) if "conversation_summaries" in value else []
    )
    known: dict[str, Mapping[str, Any]] = {
        id_of(row.get("conversation_id")): {"agent_id": row.get("agent_id")} for row in summaries
    }
    known |= {id_of(row.get("id")): row for row in rows("conversations", ())} if "conversations" in columns else {}
    for row in summaries:
        _read_summary(row, known, into)
    for row in (
        rows("conversation_chunks", ("conversation_id", "chunk_index", "id")) if "conversation_chunks" in value else ()
    ):
        _read_chunk(row, known, into)


def _read_summary(row: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], into: SourceReader) -> None:
    if str(row.get("status", "active")) not in _LIVE:
        into.skip("deleted there")
        return
    name = id_of(row.get("conversation_id"))
    into.add(
        SourceItem(
            text_of(row.get("summary")),
            Sort.EPISODE,
            "assistant",
            occurred_at=first_time(row.get("conversation_at"), row.get("created_at")),
            conversation=name,
            title=_conversation_title(known, name),
            owner=SourceOwner(agent_id=id_of(row.get("agent_id")) or id_of(known.get(name, {}).get("agent_id"))),
        )
    )


def _read_chunk(row: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], into: SourceReader) -> None:
    name = id_of(row.get("conversation_id"))
    role = str(row.get("role", "")).lower()
    if role not in ("user", "assistant"):
        into.skip("system or tool")
        return
    conversation = known.get(name, {})
    into.add(
        SourceItem(
            text_of(row.get("content")),
            Sort.TURN,
            role,
            occurred_at=first_time(row.get("created_at"), conversation.get("started_at")),
            conversation=name,
            title=_conversation_title(known, name),
            owner=SourceOwner(agent_id=id_of(row.get("agent_id")) or id_of(conversation.get("agent_id"))),
        )
    )


def _conversation_title(known: Mapping[str, Mapping[str, Any]], name: str) -> str:
    return word_of(known.get(name, {}).get("title"))


# --- notes in Markdown ------------------------------------------------------------------------------------------------


_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_DATE: Final = re.compile(r"^(?:date|created|created_at|updated)[ \t]*:[ \t]*[\"']?([^\"'\n]+)", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)")
_HEADING: Final = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]+(.*)$")
_BOLD: Final = re.compile(r"^[ \t]{0,3}(\*\*|__)([^*_\n]{1,200})\1[ \t]*:?[ \t]*$")
_POINT: Final = re.compile(r"^[ \t>]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_DEEPEST: Final = 7
"""A line in bold stands for a heading below all others."""

_RULE: Final = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$")
_TABLE: Final = re.compile(r"^[ \t]*\|.*\|[ \t]*$")
_DATED: Final = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)\]?[ \t]*(?:[-\u2013\u2014:][ \t]*)+(?=\S)"
)
_UNDATED: Final = re.compile(r"^\[(?:unknown|n/a|no date)[^\]]{0,20}\][ \t]*(?:[-\u2013\u2014:][ \t]*)+", re.IGNORECASE)
_LINK: Final = re.compile(r"(!?)\[([^\]\n]{0,300})\]\(([^()\s]{0,500})(?:[ \t]+\"[^\"\n]{0,200}\")?\)")
_WIKI: Final = re.compile(r"!?\[\[([^\]|\n]{1,200})(?:\|([^\]\n]{1,200}))?\]\]")
_STRESS: Final = re.compile(r"(\*\*\*|\*\*|__|~~)(?=\S)([^*_~\n]{1,500}?)(?<=\S)\1")


def markdown_read(text: str, into: SourceReader, title: str = "") -> None:
    """Read all notes of a text; ``title`` is what the file is called."""
    front = _FRONT.match(text)
    dated = _FRONT_DATE.search(front[1]) if front else None
    since = parse_time(dated[1].strip()) if dated else None
    for headings, block in _split_blocks(text[front.end() :] if front else text, into):
        above = {"heading": " / ".join(headings)} if headings else {}
        into.add(_item_from_note(block, since, title, above))


def _item_from_note(block: str, since: Instant | None, title: str, above: dict[str, str]) -> SourceItem:
    dated = _DATED.match(block)
    words = block[dated.end() :] if dated else _UNDATED.sub("", block, count=1)
    text = (parse_time(dated[1]) if dated else None) or since
    return SourceItem(
        _strip_markdown(words), occurred_at=text, title=title, metadata={**above, **({"title": title} if title else {})}
    )


def _strip_markdown(block: str) -> str:
    """Return a note without the signs of its mark-up."""
    output = _LINK.sub(lambda link: "" if link[1] else link[2], block)
    output = _WIKI.sub(lambda link: link[2] or link[1], output)
    return text_of(_STRESS.sub(r"\2", output))


def _split_blocks(text: str, into: SourceReader) -> Iterator[tuple[list[str], str]]:
    """Yield points and paragraphs with the headings above each."""
    headings: dict[int, str] = {}
    current: list[str] = []
    for line in _prose_lines(text, into):
        heading, point = _HEADING.match(line) or _BOLD.match(line), _POINT.match(line)
        if heading or point or not line.strip():
            if current:
                yield list(headings.values()), "\n".join(current)
            current = [point[1].strip()] if point else []
        else:
            current.append(line.strip().lstrip("> \t"))
        if heading:
            level = len(heading[1]) if heading[1].startswith("#") else _DEEPEST
            headings = {depth: name for depth, name in headings.items() if depth < level}
            headings[level] = _strip_markdown(heading[2].rstrip(" \t").rstrip("#"))
    if current:
        yield list(headings.values()), "\n".join(current)


def _prose_lines(text: str, into: SourceReader) -> Iterator[str]:
    """Yield the lines that are neither code nor a table nor a rule."""
    fence = ""
    for line in [*text.splitlines(), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1][:3]
            into.skip("code")
            yield ""
        elif _TABLE.match(line):
            into.skip("table row")
        elif not _RULE.match(line):
            yield line
