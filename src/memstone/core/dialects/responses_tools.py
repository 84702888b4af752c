"""Tools in the responses API: calls and their outputs are items, of the answer and of the next input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

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

_BEGINS: Final = frozenset({"response.created", "response.queued", "response.in_progress"})


class ResponseTools:
    """See ``memstone.core.dialects.tooling.Tooling``.

    The events of one answer number its items and tell them once more at the end, with the id of its beginning.
    """

    def free(self, body: Body, name: str) -> bool:
        """Unless the caller forces a choice, or the service makes the answer alone or writes down what was said."""
        taken = any(tool.get("name") == name for tool in mappings(body.get("tools")))
        elsewhere = body.get("background") or body.get("conversation")
        return body.get("tool_choice") in (None, "auto") and not taken and not elsewhere

    def offered(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """The function after the tools of the caller."""
        own = {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.schema),
            "strict": False,
        }
        if not last:
            return {**body, "tools": [*listed(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": "none"}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """The items that call it."""
        return [
            Call(str(one.get("call_id") or ""), name, arguments_of(one.get("arguments")))
            for one in mappings(reply.get("output"))
            if one.get("type") == "function_call" and one.get("name") == name
        ]

    def answered(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """The input, what the model thought, said and called, and the outputs."""
        given, ids = body.get("input"), {call.id for call, _ in results}
        before = [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)
        unkept = body.get("store") is False
        made = [one for one in mappings(reply.get("output")) if _belongs(one, ids, unkept=unkept)]
        told = [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]
        return {**body, "input": [*before, *made, *told]}

    def gathered(self, events: Iterable[Body]) -> Json:
        """What the last event that holds the answer says."""
        whole = [event["response"] for event in events if isinstance(event.get("response"), Mapping)]
        return dict(whole[-1]) if whole else {}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """An item that calls a function."""
        item = table(event.get("item"))
        calls = item.get("type") == "function_call"
        return [(number(event.get("output_index")), str(item.get("name") or ""))] if calls else []

    def spared(self, reply: Body, name: str) -> Json:
        """The output without them."""
        return {**reply, "output": [one for one in listed(reply.get("output")) if not _calls(one, name)]}

    def freed(self, event: Body, ours: Ours) -> Json | None:
        """Without these items, the others counted without them."""
        if isinstance(event.get("response"), Mapping):
            return {**event, "response": self.spared(event["response"], ours.name)}
        place = event.get("output_index")
        if not isinstance(place, int):
            return dict(event)
        return None if place in ours.places else {**event, "output_index": ours.moved(place)}

    def carried(self, begun: Begun, events: Sequence[Body], place: int) -> Begun:
        """So many items and events, and what the end will tell of them."""
        whole = self.gathered(events)
        calls = next((number(event.get("sequence_number")) for event in events if self.begins(event)), 0)
        items = [*begun.items, *mappings(whole.get("output"))[:place]]
        return Begun(begun.places + place, begun.events or calls, items, begun.id or whole.get("id"))

    def resumed(self, event: Body, begun: Begun) -> Json | None:
        """The answer has begun already: what follows is counted on, and told at the end with what came before."""
        if event.get("type") in _BEGINS:
            return None
        told = {**event, "sequence_number": begun.events}
        begun.events += 1
        if isinstance(place := event.get("output_index"), int):
            told["output_index"] = place + begun.places
        if isinstance(whole := event.get("response"), Mapping):
            begun.last = whole.get("id")
            told["response"] = {**whole, "id": begun.id, "output": [*begun.items, *listed(whole.get("output"))]}
        return told

    def with_usage(self, message: Body, spent: Body) -> Json:
        """It stands at the top of an answer, which an event holds as a whole."""
        inner = message.get("response")
        if isinstance(inner, Mapping):
            return {**message, "response": with_sum(inner, spent)}
        return with_sum(message, spent)


def _calls(item: object, name: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "function_call" and item.get("name") == name


def _belongs(item: Body, ids: set[str], *, unkept: bool) -> bool:
    """Whether an item of an answer goes with these calls: they themselves, and the thoughts and words before them.

    A service that keeps nothing knows a thought only by what it holds, and refuses one that is only a number.
    """
    kind = item.get("type")
    if kind == "reasoning":
        return bool(item.get("encrypted_content")) or not unkept
    return kind == "message" or (kind == "function_call" and item.get("call_id") in ids)
