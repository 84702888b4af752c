"""Tools in chat completions: functions, calls beside the content, results as messages of the role ``tool``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from retain.core.dialects.tooling import Body, Call, Json, Tool, arguments_of, listed, mappings, with_sum


class ChatTools:
    """See ``retain.core.dialects.tooling.Tooling``."""

    speaks_early: Final = True

    def free(self, body: Body, name: str) -> bool:
        """Unless the caller forces a choice, wants several answers, or speaks of functions in the old way."""
        named = (tool.get("function") or {} for tool in mappings(body.get("tools")))
        taken = any(isinstance(one, Mapping) and one.get("name") == name for one in named)
        odd = body.get("functions") or body.get("n") not in (None, 1)
        return body.get("tool_choice") in (None, "auto") and not taken and not odd

    def offered(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """The function after those of the caller."""
        own = {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        if not last:
            return {**body, "tools": [*listed(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": "none"}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """Those of the first choice."""
        return [
            Call(str(one.get("id") or ""), name, arguments_of(one["function"].get("arguments")))
            for one in mappings(_message(reply).get("tool_calls"))
            if _name(one) == name
        ]

    def answered(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """A message of the assistant with these calls, and one message for each result."""
        said, ids = _message(reply), {call.id for call, _ in results}
        made = [one for one in mappings(said.get("tool_calls")) if one.get("id") in ids]
        asked = {"role": "assistant", "content": said.get("content"), "tool_calls": made}
        told = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]
        return {**body, "messages": [*listed(body.get("messages")), asked, *told]}

    def gathered(self, events: Iterable[Body]) -> Json:
        """The message that the pieces of the first choice make up."""
        text: list[str] = []
        calls: dict[int, Json] = {}
        usage: Any = None
        for event in events:
            usage = event.get("usage") or usage
            for delta in _deltas(event):
                text.append(delta["content"] if isinstance(delta.get("content"), str) else "")
                for piece in mappings(delta.get("tool_calls")):
                    _grow(calls, piece)
        message: Json = {"role": "assistant", "content": "".join(text) or None}
        message |= {"tool_calls": [calls[at] for at in sorted(calls)]} if calls else {}
        return {"choices": [{"index": 0, "message": message}], "usage": usage}

    def begins(self, event: Body) -> tuple[int, str] | None:
        """The first piece of a call holds the name."""
        pieces = [piece for delta in _deltas(event) for piece in mappings(delta.get("tool_calls"))]
        return next(((int(one.get("index") or 0), _name(one)) for one in pieces if _name(one)), None)

    def place(self, event: Body) -> int | None:
        """The number of the call."""
        pieces = [piece for delta in _deltas(event) for piece in mappings(delta.get("tool_calls"))]
        return int(pieces[0].get("index") or 0) if pieces else None

    def resumed(self, event: Body, shift: int) -> Json | None:  # noqa: ARG002 - chunks stand in no order
        """Chunks follow each other, from whichever answer."""
        return dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """It stands at the top, in whole answers and in the last chunk."""
        return with_sum(message, spent)


def _message(reply: Body) -> Mapping[str, Any]:
    choices = mappings(reply.get("choices"))
    message = choices[0].get("message") if choices else None
    return message if isinstance(message, Mapping) else {}


def _deltas(event: Body) -> list[Json]:
    first = (one for one in mappings(event.get("choices")) if one.get("index", 0) == 0)
    return [delta for one in first if isinstance(delta := one.get("delta"), dict)]


def _name(call: Body) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, Mapping) else ""


def _grow(calls: dict[int, Json], piece: Body) -> None:
    """Add a piece to its call."""
    at, function = int(piece.get("index") or 0), piece.get("function") or {}
    call = calls.setdefault(at, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += function.get("arguments") or ""
