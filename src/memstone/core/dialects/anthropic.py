"""The messages API: a separate system prompt, and alternating user and assistant messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.core.dialects.base import (
    AnswerProgress,
    Body,
    Call,
    Json,
    OwnCalls,
    OwnEvent,
    ParsedAnswer,
    PromptBlock,
    Tool,
    arguments_of,
    dict_or_empty,
    dicts_in_list,
    int_or_default,
    list_or_empty,
    text_of,
    with_sum,
)
from memstone.core.prompt.inject import Position, SystemRole

# --- tools in the messages API ----------------------------------------------------------------------------------------


_GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageTools:
    """See ``memstone.core.dialects.base.ToolDialect``."""

    def free(self, body: Body, name: str) -> bool:
        """Return whether a tool may be added: not where the caller forces a choice."""
        choice = body.get("tool_choice")
        leaves = choice is None or (isinstance(choice, Mapping) and choice.get("type") == "auto")
        return leaves and all(tool.get("name") != name for tool in dicts_in_list(body.get("tools")))

    def add_tool(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """Return the tool after those of the caller."""
        own = {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        if not last:
            return {**body, "tools": [*list_or_empty(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": {"type": "none"}}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """Return the blocks that call it."""
        return [
            Call(str(one.get("id") or ""), name, arguments_of(one.get("input")))
            for one in dicts_in_list(reply.get("content"))
            if one.get("type") == "tool_use" and one.get("name") == name
        ]

    def add_results(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """Return the answer without the calls of other tools and empty words, and the results as the next message."""
        ids = {call.id for call, _ in results}
        remaining = [one for one in dicts_in_list(reply.get("content")) if _is_kept(one, ids)]
        lines = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
        turns = [{"role": "assistant", "content": remaining}, {"role": "user", "content": lines}]
        return {**body, "messages": [*list_or_empty(body.get("messages")), *turns]}

    def merge_events(self, events: Iterable[Body]) -> Json:
        """Return the message of the first event, with the blocks that follow."""
        message: Json = {"content": [], "usage": {}}
        blocks: dict[int, Json] = {}
        for event in events:
            match event.get("type"):
                case "message_start":
                    message = {**message, **dict_or_empty(event.get("message"))}
                case "content_block_start":
                    blocks[int_or_default(event.get("index"))] = dict(dict_or_empty(event.get("content_block")))
                case "content_block_delta":
                    _append_delta(
                        blocks.setdefault(int_or_default(event.get("index")), {}), dict_or_empty(event.get("delta"))
                    )
                case "message_delta":
                    message |= dict_or_empty(event.get("delta"))
                    message["usage"] = {**dict_or_empty(message.get("usage")), **dict_or_empty(event.get("usage"))}
        return {**message, "content": [_parse_block_input(blocks[at]) for at in sorted(blocks)]}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """Return a block that calls a tool."""
        block = dict_or_empty(event.get("content_block"))
        return (
            [(int_or_default(event.get("index")), str(block.get("name") or ""))]
            if block.get("type") == "tool_use"
            else []
        )

    def remove_calls(self, reply: Body, name: str) -> Json:
        """Return the content without them; if they were all it called, it has come to its end."""
        remaining = [one for one in list_or_empty(reply.get("content")) if not _is_tool_call(one, name)]
        changed = {**reply, "content": remaining}
        return changed if any(_is_tool_call(one) for one in remaining) else _replace_tool_stop_reason(changed)

    def remove_own_calls(self, event: Body, ours: OwnCalls) -> Json | None:
        """Return an event without these blocks, the others counted without them."""
        if event.get("type") == "message_delta" and ours.alone:
            return {**event, "delta": _replace_tool_stop_reason(dict_or_empty(event.get("delta")))}
        place = event.get("index")
        if not isinstance(place, int):
            return dict(event)
        return None if place in ours.places else {**event, "index": ours.shift_place(place)}

    def advance_progress(self, begun: AnswerProgress, events: Sequence[Body], place: int) -> AnswerProgress:  # noqa: ARG002 - blocks are counted
        """Return the progress after so many blocks more."""
        return AnswerProgress(begun.places + place)

    def continue_event(self, event: Body, begun: AnswerProgress) -> Json | None:
        """Count the blocks of an event on, as the message has begun already."""
        if event.get("type") == "message_start":
            return None
        place = event.get("index")
        return {**event, "index": place + begun.places} if isinstance(place, int) else dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """Add to the usage at the top, in whole answers and the event before the last.

        At the beginning in the message.
        """
        inner = message.get("message")
        if isinstance(inner, Mapping):
            return {**message, "message": with_sum(inner, {**spent, "output_tokens": 0})} if spent else dict(message)
        return with_sum(message, _told_again(spent, message) if message.get("type") == "message_delta" else spent)


def _told_again(spent: Body, event: Body) -> Json:
    """Return what the event before the last counts; the rest was told at the beginning."""
    return {name: value for name, value in spent.items() if name in dict_or_empty(event.get("usage"))}


def _is_kept(block: Body, ids: set[str]) -> bool:
    """Return whether a block of an answer can be in the next request: no text may be empty there."""
    if block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    return block.get("type") != "tool_use" or block.get("id") in ids


def _is_tool_call(block: Any, name: str = "") -> bool:
    """Return whether a block calls a tool: this one, or any."""
    return isinstance(block, Mapping) and block.get("type") == "tool_use" and (not name or block.get("name") == name)


def _replace_tool_stop_reason(message: Json) -> Json:
    """Return a message that called nothing but our tool, and so nothing."""
    return {**message, "stop_reason": "end_turn"} if message.get("stop_reason") == "tool_use" else message


def _append_delta(block: Json, delta: Body) -> None:
    """Add a piece to its block."""
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        before = block["input"] if isinstance(block.get("input"), str) else ""
        block["input"] = before + str(delta.get("partial_json") or "")
    elif (name := _GROWING.get(kind)) is not None:
        block[name] = str(block.get(name) or "") + str(delta.get(name) or "")


def _parse_block_input(block: Json) -> Json:
    """Return a block as a whole answer has it: what a tool is given, whoever runs it, is no text there."""
    value: Any = block.get("input")
    if not isinstance(value, str):
        return block
    try:
        return {**block, "input": json.loads(value or "{}")}
    except ValueError:
        return {**block, "input": {}}


# --- the messages API -------------------------------------------------------------------------------------------------


# Coding agents put notes of their own among the words of the user, in these marks.
_NOTE, _NOTE_END = "<system-reminder>", "</system-reminder>"


class Messages:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/messages"
    tool_dialect: Final = MessageTools()

    def get_messages(self, body: Body) -> Any:
        """Return the messages."""
        return body.get("messages")

    def question(self, body: Body) -> str:
        """Return the words of the last user message.

        Results of tools are in one too and are not words of the user.
        """
        at = _last_user(body)
        return "" if at is None else text_of(_user_content(body["messages"][at].get("content"))).strip()

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """Return the last user message, without the results of tools and the notes of an agent."""
        at = _last_user(body)
        content = None if at is None else _user_content(body["messages"][at].get("content"))
        return [{"role": "user", "content": content}] if content else []

    def goes_on(self, body: Body) -> bool:
        """Return whether results of tools are in a message after the last words of the user."""
        at = _last_user(body)
        since = [] if at is None else body["messages"][at + 1 :]
        parts = (part for one in since if isinstance(one, Mapping) for part in list_or_empty(one.get("content")))
        return any(isinstance(part, Mapping) and _is_tool(part) for part in parts)

    def with_memory(self, body: Body, block: PromptBlock) -> dict[str, Any]:
        """Put what is stable in front of the system prompt, and what changes before the last words of the user."""
        if not isinstance(body.get("messages"), list) or not block.full_text:
            return dict(body)
        if block.system is SystemRole.NO or not isinstance(body.get("system"), str | list | None):
            return _no_system(body, block)
        match block.position:
            case Position.SYSTEM_FIRST:
                return {**body, "system": _add_to_system(body.get("system"), block.full_text, first=True)}
            case Position.SYSTEM_MERGE:
                return {**body, "system": _add_to_system(body.get("system"), block.full_text, first=False)}
            case Position.PREFIX_LAST_USER:
                return _prefix_last_user(body, block.full_text)
            case _:
                changed = _prefix_last_user(body, block.volatile)
                if block.stable:
                    changed["system"] = _add_to_system(body.get("system"), block.stable, first=True)
                return changed

    def parse_reply(self, reply: Body) -> ParsedAnswer:
        """Return the text blocks of an answer."""
        return ParsedAnswer([text_of(reply.get("content"))], dict(dict_or_empty(reply.get("usage"))), finished=True)

    def piece(self, answer: ParsedAnswer, event: Body) -> None:
        """Take the next event."""
        kind = event.get("type")
        if kind == "content_block_delta":
            answer.text.append(text_of(dict_or_empty(event.get("delta")).get("text")))
        elif kind in ("message_start", "message_delta"):
            answer.usage.update(dict_or_empty(event.get("usage") or dict_or_empty(event.get("message")).get("usage")))
        elif kind == "message_stop":
            answer.finished = True

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """Return whether it is the event at the end of a stream."""
        return name == "message_stop"

    def closes(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """Return whether it holds the last changes to the message, or its end."""
        return name in {"message_delta", "message_stop"}

    def make_memories_event(self, memories: list[dict[str, Any]], closing: Body) -> OwnEvent:  # noqa: ARG002 - it says nothing yet
        """Return a change to the message that changes nothing else: the upstream's own comes after it, and holds.

        Clients take an event of a name they do not know for a beginning, or drop it.
        """
        nothing = {"delta": {"stop_reason": None, "stop_sequence": None}, "usage": {"output_tokens": 0}}
        return "message_delta", {"type": "message_delta", **nothing, "memories": memories}

    def make_error_event(self, message: str, error: Body) -> OwnEvent:
        """Return an error."""
        return "error", {"type": "error", "error": {"type": "api_error", "message": message, **error}}


def _last_user(body: Body) -> int | None:
    value = body.get("messages")
    if not isinstance(value, list):
        return None
    places = range(len(value) - 1, -1, -1)
    return next((at for at in places if _has_user_words(value[at])), None)


def _has_user_words(message: Any) -> bool:
    return (
        isinstance(message, Mapping) and message.get("role") == "user" and bool(_user_content(message.get("content")))
    )


def _user_content(content: Any) -> Any:
    """Return what of a user message the user said."""
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
    text = _user_content(part.get("text"))
    return {**part, "text": text} if text else None


def _is_tool(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "tool_result"


def _no_system(body: Body, block: PromptBlock) -> dict[str, Any]:
    """Return it for a model without a system prompt: what would stand there is the first message of the user."""
    lead, beside = block.among_the_users()
    changed = _prefix_last_user(body, beside)
    return {**changed, "messages": [{"role": "user", "content": lead}, *changed["messages"]]} if lead else changed


def _prefix_last_user(body: Body, text: str) -> dict[str, Any]:
    at = _last_user(body)
    if at is None or not text:
        return dict(body)
    items = list(body["messages"])
    items[at] = {**items[at], "content": _insert_text(items[at].get("content"), text)}
    return {**body, "messages": items}


def _insert_text(content: Any, text: str) -> Any:
    """Return content with a text before its words; what tools gave back has to stay in front.

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


def _add_to_system(value: Any, text: str, *, first: bool) -> Any:
    if isinstance(value, list):
        part = {"type": "text", "text": text}
        return [part, *value] if first else [*value, part]
    if not value:
        return text
    return f"{text}\n\n{value}" if first else f"{value}\n\n{text}"
