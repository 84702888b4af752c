"""Tools in chat completions: functions, calls beside the content, results as messages of the role ``tool``."""

from __future__ import annotations

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

_CALLED: Final = "tool_calls"
# What services call the thoughts of a model; some refuse the result of a call whose thoughts are missing.
_THOUGHTS: Final = ("reasoning_content", "reasoning", "reasoning_details")
_GROWING: Final = frozenset({"index", "id", "function"})


class ChatTools:
    """See ``memstone.core.dialects.tooling.Tooling``."""

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
        thought = {name: said[name] for name in _THOUGHTS if said.get(name)}
        asked = {"role": "assistant", "content": said.get("content"), **thought, "tool_calls": made}
        told = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]
        return {**body, "messages": [*listed(body.get("messages")), asked, *told]}

    def gathered(self, events: Iterable[Body]) -> Json:
        """The message that the pieces of the first choice make up."""
        text: list[str] = []
        thought: Json = {}
        calls: dict[int, Json] = {}
        usage: Any = None
        for event in events:
            usage = table(event.get("usage")) or usage
            for delta in _deltas(event):
                text.append(delta["content"] if isinstance(delta.get("content"), str) else "")
                thought |= {name: _more(thought.get(name), delta[name]) for name in _THOUGHTS if delta.get(name)}
                for place, piece in _pieces(delta):
                    _grow(calls, place, piece)
        message: Json = {"role": "assistant", "content": "".join(text) or None, **thought}
        message |= {"tool_calls": [calls[at] for at in sorted(calls)]} if calls else {}
        return {"choices": [{"index": 0, "message": message}], "usage": usage}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """The first piece of a call holds the name; a chunk may hold pieces of several."""
        return [(place, _name(one)) for delta in _deltas(event) for place, one in _pieces(delta) if _name(one)]

    def spared(self, reply: Body, name: str) -> Json:
        """The first choice without them; if they were all it called, it has come to its end."""
        message, choices = _message(reply), mappings(reply.get("choices"))
        others = [one for one in mappings(message.get("tool_calls")) if _name(one) != name]
        said = {key: value for key, value in message.items() if key != "tool_calls" or others}
        changed = {**choices[0], "message": said | ({"tool_calls": others} if others else {})}
        return {**reply, "choices": [changed if others else _ended(changed), *choices[1:]]}

    def freed(self, event: Body, ours: Ours) -> Json | None:
        """Chunks without the pieces of these calls, the others counted without them."""
        choices = [_freed(one, ours) if one.get("index", 0) == 0 else one for one in mappings(event.get("choices"))]
        left = [one for one in choices if one is not None]
        if not choices:
            return dict(event)
        return {**event, "choices": left} if left else None

    def carried(self, begun: Begun, events: Sequence[Body], place: int) -> Begun:  # noqa: ARG002 - in no order
        """Chunks follow each other, from whichever answer."""
        return begun

    def resumed(self, event: Body, begun: Begun) -> Json | None:  # noqa: ARG002 - chunks stand in no order
        """Whose message it is was said at its beginning."""
        choices = [_without_role(one) for one in mappings(event.get("choices"))]
        return {**event, "choices": choices} if choices else dict(event)

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


def _pieces(delta: Body) -> list[tuple[int, Json]]:
    """The pieces of calls in a chunk, by the number of the call; who does not number them has them in order."""
    return [(number(one.get("index"), at), one) for at, one in enumerate(mappings(delta.get("tool_calls")))]


def _freed(choice: Json, ours: Ours) -> Json | None:
    """A choice of a chunk without the pieces of our calls; None when there was nothing else in it."""
    ended, delta = _ended(choice) if ours.alone else choice, table(choice.get("delta"))
    if "tool_calls" not in delta:
        return ended
    pieces = [{**one, "index": ours.moved(at)} for at, one in _pieces(delta) if at not in ours.places]
    rest = {name: value for name, value in delta.items() if name != "tool_calls"}
    if not (pieces or rest.get("role") or rest.get("content") or choice.get("finish_reason")):
        return None
    return {**ended, "delta": rest | ({"tool_calls": pieces} if pieces else {})}


def _ended(choice: Json) -> Json:
    """A choice that called nothing but our tool, and so nothing."""
    return {**choice, "finish_reason": "stop"} if choice.get("finish_reason") == _CALLED else choice


def _without_role(choice: Json) -> Json:
    delta = table(choice.get("delta"))
    rest = {name: value for name, value in delta.items() if name != "role"}
    return {**choice, "delta": rest} if "role" in delta else choice


def _more(before: Any, piece: Any) -> Any:
    """Thoughts with another piece of them: texts and lists grow."""
    if isinstance(before, str) and isinstance(piece, str):
        return before + piece
    return [*before, *piece] if isinstance(before, list) and isinstance(piece, list) else piece


def _grow(calls: dict[int, Json], at: int, piece: Body) -> None:
    """Add a piece to its call; what a service says besides it wants to see again."""
    function = table(piece.get("function"))
    call = calls.setdefault(at, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call |= {name: value for name, value in piece.items() if name not in _GROWING and value is not None}
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += str(function.get("arguments") or "")
