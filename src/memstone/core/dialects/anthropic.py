"""The messages API: the system prompt apart, user and assistant in turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.core.dialects.anthropic_tools import MessageTools
from memstone.core.dialects.base import Block, Body, Heard, Said, text_of
from memstone.core.dialects.tooling import listed, table
from memstone.core.showing.capability import SystemRole
from memstone.core.showing.inject import Position

# Coding agents put notes of their own among the words of the user, in these marks.
_NOTE, _NOTE_END = "<system-reminder>", "</system-reminder>"


class Messages:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/messages"
    tooling: Final = MessageTools()

    def spoken(self, body: Body) -> Any:
        """The messages."""
        return body.get("messages")

    def question(self, body: Body) -> str:
        """The words of the last user message; results of tools stand in one too and are not words of the user."""
        at = _last_user(body)
        return "" if at is None else text_of(_own(body["messages"][at].get("content"))).strip()

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """The last user message, without the results of tools and the notes of an agent."""
        at = _last_user(body)
        content = None if at is None else _own(body["messages"][at].get("content"))
        return [{"role": "user", "content": content}] if content else []

    def goes_on(self, body: Body) -> bool:
        """Results of tools in a message after the last words of the user."""
        at = _last_user(body)
        since = [] if at is None else body["messages"][at + 1 :]
        parts = (part for one in since if isinstance(one, Mapping) for part in listed(one.get("content")))
        return any(isinstance(part, Mapping) and _is_tool(part) for part in parts)

    def with_memory(self, body: Body, block: Block) -> dict[str, Any]:
        """What is stable in front of the system prompt, what changes before the words of the last user message."""
        if not isinstance(body.get("messages"), list) or not block.whole:
            return dict(body)
        if block.system is SystemRole.NO or not isinstance(body.get("system"), str | list | None):
            return _no_system(body, block)
        match block.position:
            case Position.SYSTEM_FIRST:
                return {**body, "system": _system(body.get("system"), block.whole, first=True)}
            case Position.SYSTEM_MERGE:
                return {**body, "system": _system(body.get("system"), block.whole, first=False)}
            case Position.PREFIX_LAST_USER:
                return _prefixed(body, block.whole)
            case _:
                changed = _prefixed(body, block.volatile)
                if block.stable:
                    changed["system"] = _system(body.get("system"), block.stable, first=True)
                return changed

    def whole(self, reply: Body) -> Heard:
        """The text blocks of an answer."""
        return Heard([text_of(reply.get("content"))], dict(table(reply.get("usage"))), finished=True)

    def piece(self, heard: Heard, event: Body) -> None:
        """Take the next event."""
        kind = event.get("type")
        if kind == "content_block_delta":
            heard.text.append(text_of(table(event.get("delta")).get("text")))
        elif kind in ("message_start", "message_delta"):
            heard.usage.update(table(event.get("usage") or table(event.get("message")).get("usage")))
        elif kind == "message_stop":
            heard.finished = True

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """The event at the end of a stream."""
        return name == "message_stop"

    def closes(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """The last changes to the message, and its end."""
        return name in {"message_delta", "message_stop"}

    def shown(self, memories: list[dict[str, Any]], closing: Body) -> Said:  # noqa: ARG002 - it says nothing yet
        """A change to the message that changes nothing else: the upstream's own comes after it, and holds.

        Clients take an event of a name they do not know for a beginning, or drop it.
        """
        nothing = {"delta": {"stop_reason": None, "stop_sequence": None}, "usage": {"output_tokens": 0}}
        return "message_delta", {"type": "message_delta", **nothing, "memories": memories}

    def broken(self, message: str, error: Body) -> Said:
        """An error."""
        return "error", {"type": "error", "error": {"type": "api_error", "message": message, **error}}


def _last_user(body: Body) -> int | None:
    given = body.get("messages")
    if not isinstance(given, list):
        return None
    places = range(len(given) - 1, -1, -1)
    return next((at for at in places if _speaks(given[at])), None)


def _speaks(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "user" and bool(_own(message.get("content")))


def _own(content: Any) -> Any:
    """What of a user message the user said."""
    if isinstance(content, str):
        return _without_notes(content)
    if not isinstance(content, list):
        return content
    parts = [part for part in content if part and not (isinstance(part, Mapping) and _is_tool(part))]
    return [own for part in parts if (own := _own_part(part))]


def _without_notes(text: str) -> str:
    """Return a text without the notes in it; it is read once, however many of them are left open."""
    left: list[str] = []
    at = 0
    while (start := text.find(_NOTE, at)) >= 0 and (end := text.find(_NOTE_END, start)) >= 0:
        left.append(text[at:start])
        at = end + len(_NOTE_END)
    return "".join([*left, text[at:]]).strip() if left else text


def _own_part(part: Any) -> Any:
    if not isinstance(part, Mapping) or part.get("type") != "text":
        return part
    text = _own(part.get("text"))
    return {**part, "text": text} if text else None


def _is_tool(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "tool_result"


def _no_system(body: Body, block: Block) -> dict[str, Any]:
    """For a model without a system prompt: what would stand there is the first message of the user."""
    lead, beside = block.among_the_users()
    changed = _prefixed(body, beside)
    return {**changed, "messages": [{"role": "user", "content": lead}, *changed["messages"]]} if lead else changed


def _prefixed(body: Body, text: str) -> dict[str, Any]:
    at = _last_user(body)
    if at is None or not text:
        return dict(body)
    given = list(body["messages"])
    given[at] = {**given[at], "content": _with(given[at].get("content"), text)}
    return {**body, "messages": given}


def _with(content: Any, text: str) -> Any:
    """Content with a text before its words; what tools gave back has to stay in front.

    So has what the caller marks as the end of what is cached: the next request has to begin with the same, and this
    text will not stand there any more.
    """
    if not isinstance(content, list):
        return f"{text}\n\n{content or ''}"
    ahead = [part for part in content if isinstance(part, Mapping) and _is_tool(part)]
    rest = [part for part in content if not (isinstance(part, Mapping) and _is_tool(part))]
    marked = [at for at, part in enumerate(rest, 1) if isinstance(part, Mapping) and part.get("cache_control")]
    at = marked[-1] if marked else 0
    return [*ahead, *rest[:at], {"type": "text", "text": text}, *rest[at:]]


def _system(given: Any, text: str, *, first: bool) -> Any:
    if isinstance(given, list):
        part = {"type": "text", "text": text}
        return [part, *given] if first else [*given, part]
    if not given:
        return text
    return f"{text}\n\n{given}" if first else f"{given}\n\n{text}"
