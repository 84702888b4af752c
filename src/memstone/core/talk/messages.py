"""Convert messages of all accepted forms to checked ones.

A string is one user message; mappings, objects of SDKs and (role, text) pairs are messages as well. Content may be
text or a list of parts; pictures and files are kept by name, never dropped in silence, and neither is a field that a
message does not have here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from memstone.core.checks.arguments import checked_text
from memstone.errors import InvalidInput, TooLarge
from memstone.model.message import Attachment, Message
from memstone.model.policy import Limits

# --- parts of a message that are no words -----------------------------------------------------------------------------


_NAMES: Final = ("filename", "file_name", "name", "title", "url", "file_id", "image_url", "media_type", "format")
_NAME_CHARS: Final = 200
_WEB: Final = ("http://", "https://")
_PROTOCOL: Final = frozenset(
    {"tool_use", "tool_result", "server_tool_use", "thinking", "redacted_thinking", "reasoning", "refusal"}
)
"""Calls of tools and their results, and what a model thinks: no words of a person, as in messages of that kind."""


def is_protocol(part: object) -> bool:
    """Return whether a part belongs to the protocol and holds nothing that anybody said."""
    return isinstance(part, Mapping) and part.get("type") in _PROTOCOL


def attachment_from_part(part: Mapping[str, Any]) -> Attachment:
    """Return a picture, a sound or a file by what it is called, where it is, or what type of data it holds."""
    kind: str = part["type"]
    places = list(_attachment_mappings(part, kind))
    name = next(
        (_display_name(place[key]) for place in places for key in _NAMES if _is_text(place.get(key))), "unnamed"
    )
    inner = part.get(kind)
    if isinstance(inner, str):
        name = _display_name(inner)
    return Attachment(
        kind.removesuffix("_url").removeprefix("input_"),
        name[:_NAME_CHARS],
        _media_type(places, inner),
        _find_web_url(places),
    )


def _attachment_mappings(part: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield where protocols put what they say about a file, the most telling first."""
    inner, source = part.get(kind), part.get("source")
    for place in (inner, {key: value for key, value in part.items() if key != "type"}, source):
        if isinstance(place, Mapping):
            yield place


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _display_name(value: str) -> str:
    if value.startswith("data:"):
        return value.partition(",")[0].partition(";")[0]
    return _strip_url_secrets(value) if value.startswith(_WEB) else value


def _strip_url_secrets(url: str) -> str:
    """Return where something can be fetched, without what may be a secret: who asks, and what follows the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "unnamed"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _media_type(places: list[Mapping[str, Any]], inner: object) -> str:
    for place in places:
        for key in ("media_type", "mime_type"):
            if _is_text(place.get(key)):
                return str(place[key])[:_NAME_CHARS]
    current = [inner, *(place.get(key) for place in places for key in ("url", "image_url", "file_data"))]
    data = next((one for one in current if isinstance(one, str) and one.startswith("data:")), "")
    return _display_name(data).removeprefix("data:")[:_NAME_CHARS]


def _find_web_url(places: list[Mapping[str, Any]]) -> str:
    found = (place.get(key) for place in places for key in ("url", "image_url"))
    return next((_strip_url_secrets(one) for one in found if isinstance(one, str) and one.startswith(_WEB)), "")


# --- the shapes in which programs have messages at hand, as one -------------------------------------------------------


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
    """Return a message as a mapping.

    It is one already, an object of an SDK, anything with role and content, or (role, text).
    """
    found = _raw_mapping(item)
    return None if found is None else _with_content(found)


def _raw_mapping(item: object) -> Mapping[str, Any] | None:
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
    """Return the role that a message names, some by its type; a user's when it names none.

    What is no role stays as it is.
    """
    value = item.get("role")
    if value is not None:
        return role_named(value) or value
    return role_named(item.get("type")) or "user"


def role_named(value: object) -> str | None:
    """Return the role of that name, None where there is none."""
    return _ROLES.get(value) if isinstance(value, str) else None


def _with_content(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with its ``parts`` as content, which is how the AI SDK of Vercel and Gemini write its words."""
    parts = item.get("parts")
    if item.get("content") or not isinstance(parts, (list, tuple)) or not parts:
        return item
    return {
        **{name: item[name] for name in item if name != "parts"},
        "content": [_normalize_part(part) for part in parts],
    }


def _normalize_part(part: Any) -> Any:
    """Return a part as other services write it; what is not known stays as it is."""
    if not isinstance(part, Mapping):
        return part
    kind = part.get("type")
    if isinstance(kind, str):
        return _WORDLESS if kind.startswith(_STEPS) else {"media_type": part.get("mediaType"), **part}
    if part.get("thought") or any(name in part for name in _CALLS):
        return _WORDLESS
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    current = next((part[name] for name in _FILES if isinstance(part.get(name), Mapping)), None)
    return part if current is None else _file_part(current)


def _file_part(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said about a file, without what it holds."""
    name, url = stored.get("displayName") or stored.get("display_name"), stored.get("fileUri") or stored.get("file_uri")
    return {"type": "file", "name": name, "url": url, "media_type": stored.get("mimeType") or stored.get("mime_type")}


# --- from the shapes callers use to checked messages ------------------------------------------------------------------


MessagesInput: TypeAlias = (
    "str | Mapping[str, Any] | MessageLike | Sequence[str | Mapping[str, Any] | MessageLike | tuple[str, Any]]"
)

STORED_ROLES: Final = ("user", "assistant")
_FIELDS: Final = frozenset({"role", "content", "name"})
# Fields of the chat protocol that carry no words of a person: accepted and not stored.
_PROTOCOL_FIELDS: Final = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations", "id", "type", "status"}
)
_KNOWN: Final = _FIELDS | _PROTOCOL_FIELDS
_MESSAGES_CALLS: Final = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_TIMES: Final = frozenset({"occurred_at", "timestamp", "created_at"})
_FORMS: Final = 'text, {"role": ..., "content": ..., "name": ...}, an object with role and content, or (role, text)'
_MAX_LISTED: Final = 10
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
_MESSAGES_NAME_CHARS: Final = 256


def read_messages(messages_input: MessagesInput, limits: Limits, warnings: list[str] | None = None) -> list[Message]:
    """Return checked messages, in order; ``InvalidInput`` says which one is wrong and how.

    ``warnings`` is told of fields that were left out.
    """
    items = [messages_input] if isinstance(messages_input, str) or _is_one(messages_input) else messages_input
    if not isinstance(items, Sequence) or isinstance(items, (bytes, bytearray)):
        raise InvalidInput(
            f"messages must be text, a message or a list of messages, not {type(messages_input).__name__}",
            hint='for example [{"role": "user", "content": "I live in Oslo"}]',
        )
    if not items:
        raise InvalidInput("messages is empty", hint="give at least one message")
    if len(items) > limits.messages:
        raise TooLarge(
            f"{len(items)} messages at once, the limit is {limits.messages}", hint="add them in several calls"
        )
    unread: set[str] = set()
    messages = [read_message(item, f"messages[{at}]", limits, unread) for at, item in enumerate(items)]
    if unread and warnings is not None:
        warnings.append(left_out("messages", unread))
    return messages


def _is_one(value: object) -> bool:
    return (isinstance(value, tuple) or not isinstance(value, Sequence)) and as_mapping(value) is not None


def left_out(where: str, unread: set[str]) -> str:
    """Return a warning that names fields nothing is done with."""
    names = [name[:_MESSAGES_NAME_CHARS] for name in sorted(unread)]
    more = ", ..." if len(names) > _MAX_LISTED else ""
    text = "; use occurred_at of the call for the time, or ingest, which reads times" if unread & _TIMES else ""
    return f"{where}: {', '.join(names[:_MAX_LISTED])}{more} was ignored: a message has role, content and name{text}"


def stored_messages(messages: Sequence[Message]) -> list[Message]:
    """Return what a person or the assistant said; system and tool text is never a memory."""
    return [message for message in messages if message.role in STORED_ROLES and message.text]


def read_message(item: object, where: str, limits: Limits, unread: set[str]) -> Message:
    """Return one checked message.

    ``where`` is what an error calls it, ``unread`` takes the names of fields left out.
    """
    if isinstance(item, str):
        return Message("user", checked_text(item, where, limits.text_chars, "limits.text_chars"))
    values = as_mapping(item)
    if values is None:
        raise InvalidInput(f"{where} must be a message, not {type(item).__name__}", hint=_FORMS)
    role = role_of(values)
    if role not in ROLES:
        raise InvalidInput(f"{where}.role is {role!r}", hint="one of " + ", ".join(ROLES))
    attachments: list[Attachment] = []
    text = _read_content(values, str(role), where, limits, attachments)
    if role in STORED_ROLES:
        unread |= unknown_fields(values)
    return Message(str(role), text, _read_name(values.get("name"), where), tuple(attachments))


def unknown_fields(values: Mapping[str, Any]) -> set[str]:
    """Return fields with something in them that no message has here."""
    return {str(name) for name, value in values.items() if name not in _KNOWN and not _is_nothing(value)}


def _is_nothing(value: object) -> bool:
    return value is None or value is False or (isinstance(value, Sized) and not len(value))


def _read_content(item: Mapping[str, Any], role: str, where: str, limits: Limits, attachments: list[Attachment]) -> str:
    content = item.get("content")
    if role not in STORED_ROLES:
        return ""  # never stored, so it is neither too long nor unfit
    if content in (None, "", []) and _is_wordless(item):
        return ""  # a tool call has no words of its own
    if content is None:
        others = ", ".join(sorted(unknown_fields(item))[:_MAX_LISTED])
        hint = f"put the text in content, not in {others}" if others else "leave out the message, or give it content"
        raise InvalidInput(f"{where}.content is missing", hint=hint)
    if isinstance(content, (list, tuple)):
        if content and all(is_protocol(part) for part in content):
            return ""  # neither has one that is written as a part
        visible = (_messages_part(part, f"{where}.content[{at}]", attachments) for at, part in enumerate(content))
        content = "\n".join(part for part in visible if part is not None)
    return checked_text(content, f"{where}.content", limits.text_chars, "limits.text_chars")


def _is_wordless(item: Mapping[str, Any]) -> bool:
    """Return whether it is of the protocol and says nothing: its words do not stand somewhere else."""
    return any(item.get(name) for name in _MESSAGES_CALLS) or bool(
        set(item) & _PROTOCOL_FIELDS and not unknown_fields(item)
    )


def _messages_part(part: object, where: str, attachments: list[Attachment]) -> str | None:
    if isinstance(part, str):
        return part
    if is_protocol(part):
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput(f"{where} must be a part with a type", hint='for example {"type": "text", "text": "..."}')
    kind = part["type"]
    if kind in _TEXT_PARTS:
        text = part.get("text")
        if not isinstance(text, str):
            raise InvalidInput(f"{where}.text must be text")
        return text
    one = attachment_from_part(part)
    attachments.append(one)
    return f"[{one.kind}: {one.name}]"


def _read_name(value: object, where: str) -> str:
    if value is None:
        return ""
    return checked_text(value, f"{where}.name", _MESSAGES_NAME_CHARS).strip()
