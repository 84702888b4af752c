"""Tools in the messages API: calls are blocks of the content, results blocks of the next user message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from retain.core.dialects.tooling import Body, Call, Json, Tool, arguments_of, listed, mappings, with_sum

_GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessageTools:
    """See ``retain.core.dialects.tooling.Tooling``."""

    speaks_early: Final = True

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
        """The answer without the calls of other tools, and the results as the next message."""
        ids = {call.id for call, _ in results}
        kept = [one for one in mappings(reply.get("content")) if one.get("type") != "tool_use" or one.get("id") in ids]
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
                    message = {**message, **(event.get("message") or {})}
                case "content_block_start":
                    blocks[int(event.get("index") or 0)] = dict(event.get("content_block") or {})
                case "content_block_delta":
                    _grow(blocks.setdefault(int(event.get("index") or 0), {}), event.get("delta") or {})
                case "message_delta":
                    message |= event.get("delta") or {}
                    message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
        return {**message, "content": [_closed(blocks[at]) for at in sorted(blocks)]}

    def begins(self, event: Body) -> tuple[int, str] | None:
        """A block that calls a tool."""
        block = event.get("content_block")
        if not isinstance(block, Mapping) or block.get("type") != "tool_use":
            return None
        return int(event.get("index") or 0), str(block.get("name") or "")

    def place(self, event: Body) -> int | None:
        """The number of the block."""
        return int(event["index"]) if isinstance(event.get("index"), int) else None

    def resumed(self, event: Body, shift: int) -> Json | None:
        """The message has begun already, and its blocks are counted on."""
        if event.get("type") == "message_start":
            return None
        return {**event, "index": event["index"] + shift} if isinstance(event.get("index"), int) else dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """It stands at the top, in whole answers and in the event before the last; at the beginning in the message."""
        inner = message.get("message")
        if isinstance(inner, Mapping):
            return {**message, "message": with_sum(inner, {**spent, "output_tokens": 0})} if spent else dict(message)
        return with_sum(message, _told_again(spent, message) if message.get("type") == "message_delta" else spent)


def _told_again(spent: Body, event: Body) -> Json:
    """What the event before the last counts; the rest was told at the beginning."""
    return {name: value for name, value in spent.items() if name in (event.get("usage") or {})}


def _grow(block: Json, delta: Body) -> None:
    """Add a piece to its block."""
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        block["input"] = (block["input"] if isinstance(block.get("input"), str) else "") + str(delta["partial_json"])
    elif (name := _GROWING.get(kind)) is not None:
        block[name] = str(block.get(name) or "") + str(delta.get(name) or "")


def _closed(block: Json) -> Json:
    """A block as a whole answer has it: what a tool is given is no text there."""
    given: Any = block.get("input")
    if block.get("type") != "tool_use" or not isinstance(given, str):
        return block
    try:
        return {**block, "input": json.loads(given or "{}")}
    except ValueError:
        return {**block, "input": {}}
