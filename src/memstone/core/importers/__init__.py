"""Read exports of other systems into items, without storing anything.

A format is recognised by what a source holds, never by what it is called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from memstone.core.importers import chat_exports, tables
from memstone.core.importers import chat_exports as importers_chat_exports
from memstone.core.importers import tables as importers_tables
from memstone.core.importers.items import SourceReader
from memstone.errors import InvalidInput
from memstone.model.former_name import formats_of

AUTO: Final = "auto"
DATABASES: Final = ("companion_db", "gateway_db", "openwebui_db", "mem0_db")
MARKDOWN: Final = "markdown"
FACTS: Final = "facts"

Reader: TypeAlias = Callable[[Sequence[Any], SourceReader], None]
_READERS: Final[dict[str, Reader]] = {
    "mem0": importers_tables.read_mem0,
    "gateway": importers_tables.read_gateway,
    "chatgpt": chat_exports.read_chatgpt,
    "claude": importers_chat_exports.claude_read,
    "openwebui": importers_tables.read_openwebui,
    FACTS: importers_tables.read_facts,
}
FORMATS: Final = (AUTO, *_READERS, MARKDOWN, *DATABASES)

_WRAPPERS: Final = ("results", "memories", "data", "entries", "items", "conversations", "facts")
_LOOKED_AT: Final = 50
_OURS: Final = formats_of("export")


def checked_format(name: object) -> str:
    """Return the name of a format, or ``InvalidInput``."""
    if name not in FORMATS:
        raise InvalidInput(f"unknown format {name!r}", hint="one of " + ", ".join(FORMATS))
    return str(name)


def read_text(raw: bytes, wanted: str, into: SourceReader, title: str = "") -> None:
    """Read what a file of JSON, of JSON lines or of Markdown holds."""
    text = _decode_text(raw)
    if not text.strip():
        raise InvalidInput("the file is empty")
    if wanted == MARKDOWN:
        into.format = MARKDOWN
        tables.markdown_read(text, into, title)
        return
    value = _parse_json(text, into)
    if value is None and wanted == AUTO and not text.lstrip().startswith(("{", "[")):
        read_text(raw, MARKDOWN, into, title)
        return
    if value is None:
        raise InvalidInput("this is not JSON", hint="expected a JSON document, or one JSON object per line")
    read_json(value, wanted, into)


def read_json(value: Any, wanted: str, into: SourceReader) -> None:
    """Read what a JSON document holds."""
    items = unwrap_list(value)
    if any(isinstance(one, Mapping) and one.get("format") in _OURS for one in items[:1]):
        raise InvalidInput("this is a Memstone export", hint="use load, which restores ids and history")
    into.format = (detect_format(items) or "") if wanted == AUTO else wanted
    if into.format not in _READERS:
        raise InvalidInput("the format was not recognised", hint="set format=...; see the import guide")
    _READERS[into.format](items, into)


def _decode_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("the file is not UTF-8 text", hint="convert it to UTF-8") from error


def _parse_json(text: str, into: SourceReader) -> Any:
    """Return one document, or one object a line; None when it is neither. Lines that are broken are counted."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InvalidInput("the JSON is nested too deeply") from error
    except ValueError:
        pass
    lines = [line for line in text.split("\n") if line.strip()]  # others may be in a text
    found = [value for line in lines if (value := _parse_json_line(line)) is not None]
    if not found or not isinstance(_parse_json_line(lines[0]), (dict, str)):
        return None
    into.skip("not JSON", len(lines) - len(found))
    return found


def _parse_json_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def unwrap_list(value: Any) -> list[Any]:
    """Return the list in a document: itself, a field that holds it, or one object alone."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return [value]
    named = next((value[name] for name in _WRAPPERS if isinstance(value.get(name), list)), None)
    return [value] if named is None else named


def detect_format(items: Sequence[Any]) -> str | None:
    """Return the format of a list, by what its first objects hold; None when nothing is known of it."""
    objects = [one for one in items[:_LOOKED_AT] if isinstance(one, Mapping)]
    if not objects:
        return FACTS if not items or any(isinstance(one, str) for one in items[:_LOOKED_AT]) else None
    return next((name for name, holds in _SIGNS if any(map(holds, objects))), None)


def _has_text(one: Mapping[str, Any], *names: str) -> bool:
    return any(isinstance(one.get(name), str) for name in names)


def _is_gateway(one: Mapping[str, Any]) -> bool:
    keys = {"apiKeyId", "api_key_id", "sessionId", "createdAt"}
    return _has_text(one, "content") and bool(one.keys() & keys or {"type", "key"} <= one.keys())


def _is_openwebui(one: Mapping[str, Any]) -> bool:
    stamped = isinstance(one.get("created_at"), int) or isinstance(one.get("updated_at"), int)
    return _has_text(one, "content") and "user_id" in one and stamped


_SIGNS: Final[tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...]] = (
    ("chatgpt", lambda one: isinstance(one.get("mapping"), Mapping)),
    ("claude", lambda one: isinstance(one.get("chat_messages"), list) or importers_chat_exports.is_memories(one)),
    ("mem0", lambda one: _has_text(one, "memory") and not one.keys().isdisjoint({"hash", "id", "user_id", "metadata"})),
    ("gateway", _is_gateway),
    ("openwebui", _is_openwebui),
    (FACTS, lambda one: _has_text(one, "text", "memory", "content", "fact")),
)
