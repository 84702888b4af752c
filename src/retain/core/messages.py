"""From the shapes callers use to checked messages.

A string is one user message. Content may be text or a list of parts; pictures and files are kept by name, never
dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from retain.core.attached import is_protocol, reference
from retain.core.check import checked_text
from retain.errors import InvalidInput, TooLarge
from retain.model.message import Attachment, Message
from retain.model.policy import Limits

MessagesInput: TypeAlias = "str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]"

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
STORED_ROLES: Final = ("user", "assistant")
_FIELDS: Final = frozenset({"role", "content", "name"})
# Fields of the chat protocol that carry no words of a person: accepted and not stored.
_PROTOCOL_FIELDS: Final = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations", "id", "type", "status"}
)
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
_NAME_CHARS: Final = 256


def read_messages(given: MessagesInput, limits: Limits) -> list[Message]:
    """Checked messages, in order; ``InvalidInput`` says which one is wrong and how."""
    items = [given] if isinstance(given, (str, Mapping)) else given
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
    return [read_message(item, f"messages[{at}]", limits) for at, item in enumerate(items)]


def stored_messages(messages: Sequence[Message]) -> list[Message]:
    """What a person or the assistant said; system and tool text is never a memory."""
    return [message for message in messages if message.role in STORED_ROLES and message.text]


def read_message(item: object, where: str, limits: Limits) -> Message:
    """One checked message; ``where`` is what an error calls it."""
    if isinstance(item, str):
        return Message("user", checked_text(item, where, limits.text_chars, "limits.text_chars"))
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where} must be a message, not {type(item).__name__}")
    unknown = set(item) - _FIELDS - _PROTOCOL_FIELDS
    if unknown:
        raise InvalidInput(f"{where} has an unknown field: {', '.join(sorted(map(str, unknown)))}")
    role = item.get("role", "user")
    if role not in ROLES:
        raise InvalidInput(f"{where}.role is {role!r}", hint="one of " + ", ".join(ROLES))
    held: list[Attachment] = []
    text = _content(item, role, where, limits, held)
    return Message(role, text, _name(item.get("name"), where), tuple(held))


def _content(item: Mapping[str, Any], role: str, where: str, limits: Limits, held: list[Attachment]) -> str:
    content = item.get("content")
    if role not in STORED_ROLES:
        return ""  # never stored, so it is neither too long nor unfit
    if content in (None, "") and set(item) & _PROTOCOL_FIELDS:
        return ""  # a tool call has no words of its own
    if isinstance(content, (list, tuple)):
        if content and all(is_protocol(part) for part in content):
            return ""  # neither has one that is written as a part
        shown = (_part(part, f"{where}.content[{at}]", held) for at, part in enumerate(content))
        content = "\n".join(part for part in shown if part is not None)
    return checked_text(content, f"{where}.content", limits.text_chars, "limits.text_chars")


def _part(part: object, where: str, held: list[Attachment]) -> str | None:
    if isinstance(part, str):
        return part
    if is_protocol(part):
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput(f"{where} must be a part with a type")
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
