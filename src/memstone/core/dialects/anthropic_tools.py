"""Tools in the messages API: calls are blocks of the content, results blocks of the next user message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.core.dialects.tooling import (
    Begun,
    Body,
    Call,
    Json,
    Ours,
    Tool,
    arguments_of,
    listed,
    mappings,
    number,
    table,
    with_sum,
)

_GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageTools:
    """See ``memstone.core.dialects.tooling.Tooling``."""

    def free(self, body: Body, name: str) -> bool:
        """Unless the caller forces a choice."""
        choice = body.get("tool_choice")
        leaves = choice is None or (isinstance(choice, Mapping) and choice.get("type") == "auto")
        return leaves and all(tool.get("name") != name for tool in mappings(body.get("tools")))

    def offered(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """The tool after those of the caller."""
        own = {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        if not last:
            return {**body, "tools": [*listed(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": {"type": "none"}}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """The blocks that call it."""
        return [
            Call(str(one.get("id") or ""), name, arguments_of(one.get("input")))
            for one in mappings(reply.get("content"))
            if one.get("type") == "tool_use" and one.get("name") == name
        ]

    def answered(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """The answer without the calls of other tools and empty words, and the results as the next message."""
        ids = {call.id for call, _ in results}
        kept = [one for one in mappings(reply.get("content")) if _is_kept(one, ids)]
        told = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
        turns = [{"role": "assistant", "content": kept}, {"role": "user", "content": told}]
        return {**body, "messages": [*listed(body.get("messages")), *turns]}

    def gathered(self, events: Iterable[Body]) -> Json:
        """The message of the first event, with the blocks that follow."""
        message: Json = {"content": [], "usage": {}}
        blocks: dict[int, Json] = {}
        for event in events:
            match event.get("type"):
                case "message_start":
                    message = {**message, **table(event.get("message"))}
                case "content_block_start":
                    blocks[number(event.get("index"))] = dict(table(event.get("content_block")))
                case "content_block_delta":
                    _grow(blocks.setdefault(number(event.get("index")), {}), table(event.get("delta")))
                case "message_delta":
                    message |= table(event.get("delta"))
                    message["usage"] = {**table(message.get("usage")), **table(event.get("usage"))}
        return {**message, "content": [_closed(blocks[at]) for at in sorted(blocks)]}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """A block that calls a tool."""
        block = table(event.get("content_block"))
        return [(number(event.get("index")), str(block.get("name") or ""))] if block.get("type") == "tool_use" else []

    def spared(self, reply: Body, name: str) -> Json:
        """The content without them; if they were all it called, it has come to its end."""
        kept = [one for one in listed(reply.get("content")) if not _calls(one, name)]
        changed = {**reply, "content": kept}
        return changed if any(_calls(one) for one in kept) else _ended(changed)

    def freed(self, event: Body, ours: Ours) -> Json | None:
        """Without these blocks, the others counted without them."""
        if event.get("type") == "message_delta" and ours.alone:
            return {**event, "delta": _ended(table(event.get("delta")))}
        place = event.get("index")
        if not isinstance(place, int):
            return dict(event)
        return None if place in ours.places else {**event, "index": ours.moved(place)}

    def carried(self, begun: Begun, events: Sequence[Body], place: int) -> Begun:  # noqa: ARG002 - blocks are counted
        """So many blocks."""
        return Begun(begun.places + place)

    def resumed(self, event: Body, begun: Begun) -> Json | None:
        """The message has begun already, and its blocks are counted on."""
        if event.get("type") == "message_start":
            return None
        place = event.get("index")
        return {**event, "index": place + begun.places} if isinstance(place, int) else dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """It stands at the top, in whole answers and in the event before the last; at the beginning in the message."""
        inner = message.get("message")
        if isinstance(inner, Mapping):
            return {**message, "message": with_sum(inner, {**spent, "output_tokens": 0})} if spent else dict(message)
        return with_sum(message, _told_again(spent, message) if message.get("type") == "message_delta" else spent)


def _told_again(spent: Body, event: Body) -> Json:
    """What the event before the last counts; the rest was told at the beginning."""
    return {name: value for name, value in spent.items() if name in table(event.get("usage"))}


def _is_kept(block: Body, ids: set[str]) -> bool:
    """Whether a block of an answer can stand in the next request: no text may be empty there."""
    if block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    return block.get("type") != "tool_use" or block.get("id") in ids


def _calls(block: Any, name: str = "") -> bool:
    """Whether a block calls a tool: this one, or any."""
    return isinstance(block, Mapping) and block.get("type") == "tool_use" and (not name or block.get("name") == name)


def _ended(message: Json) -> Json:
    """A message that called nothing but our tool, and so nothing."""
    return {**message, "stop_reason": "end_turn"} if message.get("stop_reason") == "tool_use" else message


def _grow(block: Json, delta: Body) -> None:
    """Add a piece to its block."""
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        before = block["input"] if isinstance(block.get("input"), str) else ""
        block["input"] = before + str(delta.get("partial_json") or "")
    elif (name := _GROWING.get(kind)) is not None:
        block[name] = str(block.get(name) or "") + str(delta.get(name) or "")


def _closed(block: Json) -> Json:
    """A block as a whole answer has it: what a tool is given, whoever runs it, is no text there."""
    given: Any = block.get("input")
    if not isinstance(given, str):
        return block
    try:
        return {**block, "input": json.loads(given or "{}")}
    except ValueError:
        return {**block, "input": {}}
