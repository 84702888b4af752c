"""From the shapes callers use to checked messages.

A string is one user message; mappings, objects of SDKs and (role, text) pairs are messages as well. Content may be
text or a list of parts; pictures and files are kept by name, never dropped in silence, and neither is a field that a
message does not have here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Final, TypeAlias

from memstone.core.checks.values import checked_text
from memstone.core.talk.attached import is_protocol, reference
from memstone.core.talk.shapes import ROLES, MessageLike, as_mapping, role_of
from memstone.errors import InvalidInput, TooLarge
from memstone.model.message import Attachment, Message
from memstone.model.policy import Limits

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
_CALLS: Final = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_TIMES: Final = frozenset({"occurred_at", "timestamp", "created_at"})
_FORMS: Final = 'text, {"role": ..., "content": ..., "name": ...}, an object with role and content, or (role, text)'
_SHOWN: Final = 10
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
_NAME_CHARS: Final = 256


def read_messages(given: MessagesInput, limits: Limits, warnings: list[str] | None = None) -> list[Message]:
    """Checked messages, in order; ``InvalidInput`` says which one is wrong and how.

    ``warnings`` is told of fields that were left out.
    """
    items = [given] if isinstance(given, str) or _is_one(given) else given
    if not isinstance(items, Sequence) or isinstance(items, (bytes, bytearray)):
        raise InvalidInput(
            f"messages must be text, a message or a list of messages, not {type(given).__name__}",
            hint='for example [{"role": "user", "content": "I live in Oslo"}]',
        )
    if not items:
        raise InvalidInput("messages is empty", hint="give at least one; a call about nothing can be left out")
    if len(items) > limits.messages:
        raise TooLarge(
            f"{len(items)} messages at once, the limit is {limits.messages}", hint="add them in several calls"
        )
    unread: set[str] = set()
    messages = [read_message(item, f"messages[{at}]", limits, unread) for at, item in enumerate(items)]
    if unread and warnings is not None:
        warnings.append(left_out("messages", unread))
    return messages


def _is_one(given: object) -> bool:
    return (isinstance(given, tuple) or not isinstance(given, Sequence)) and as_mapping(given) is not None


def left_out(where: str, unread: set[str]) -> str:
    """A warning that names fields nothing is done with."""
    names = [name[:_NAME_CHARS] for name in sorted(unread)]
    more = ", ..." if len(names) > _SHOWN else ""
    said = "; occurred_at of the call says when it was said, and ingest reads times" if unread & _TIMES else ""
    return f"{where}: {', '.join(names[:_SHOWN])}{more} was ignored: a message has role, content and name{said}"


def stored_messages(messages: Sequence[Message]) -> list[Message]:
    """What a person or the assistant said; system and tool text is never a memory."""
    return [message for message in messages if message.role in STORED_ROLES and message.text]


def read_message(item: object, where: str, limits: Limits, unread: set[str]) -> Message:
    """One checked message; ``where`` is what an error calls it, ``unread`` takes the names of fields left out."""
    if isinstance(item, str):
        return Message("user", checked_text(item, where, limits.text_chars, "limits.text_chars"))
    given = as_mapping(item)
    if given is None:
        raise InvalidInput(f"{where} must be a message, not {type(item).__name__}", hint=_FORMS)
    role = role_of(given)
    if role not in ROLES:
        raise InvalidInput(f"{where}.role is {role!r}", hint="one of " + ", ".join(ROLES))
    held: list[Attachment] = []
    text = _content(given, str(role), where, limits, held)
    if role in STORED_ROLES:
        unread |= unknown_fields(given)
    return Message(str(role), text, _name(given.get("name"), where), tuple(held))


def unknown_fields(given: Mapping[str, Any]) -> set[str]:
    """Fields with something in them that no message has here."""
    return {str(name) for name, value in given.items() if name not in _KNOWN and not _is_nothing(value)}


def _is_nothing(value: object) -> bool:
    return value is None or value is False or (isinstance(value, Sized) and not len(value))


def _content(item: Mapping[str, Any], role: str, where: str, limits: Limits, held: list[Attachment]) -> str:
    content = item.get("content")
    if role not in STORED_ROLES:
        return ""  # never stored, so it is neither too long nor unfit
    if content in (None, "", []) and _is_wordless(item):
        return ""  # a tool call has no words of its own
    if content is None:
        others = ", ".join(sorted(unknown_fields(item))[:_SHOWN])
        hint = f"the words stand in content, not in {others}" if others else "leave the message out, or say something"
        raise InvalidInput(f"{where}.content is missing", hint=hint)
    if isinstance(content, (list, tuple)):
        if content and all(is_protocol(part) for part in content):
            return ""  # neither has one that is written as a part
        shown = (_part(part, f"{where}.content[{at}]", held) for at, part in enumerate(content))
        content = "\n".join(part for part in shown if part is not None)
    return checked_text(content, f"{where}.content", limits.text_chars, "limits.text_chars")


def _is_wordless(item: Mapping[str, Any]) -> bool:
    """Whether it is of the protocol and says nothing: its words do not stand somewhere else."""
    return any(item.get(name) for name in _CALLS) or bool(set(item) & _PROTOCOL_FIELDS and not unknown_fields(item))


def _part(part: object, where: str, held: list[Attachment]) -> str | None:
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
    one = reference(part)
    held.append(one)
    return f"[{one.kind}: {one.name}]"


def _name(value: object, where: str) -> str:
    if value is None:
        return ""
    return checked_text(value, f"{where}.name", _NAME_CHARS).strip()
