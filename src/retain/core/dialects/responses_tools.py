"""Tools in the responses API: calls and their outputs are items, of the answer and of the next input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from retain.core.dialects.tooling import Body, Call, Json, Tool, arguments_of, listed, mappings, with_sum


class ResponseTools:
    """See ``retain.core.dialects.tooling.Tooling``.

    The events of one answer number its items and repeat them as a whole at the end, so a round is either all of the
    answer or none of it.
    """

    speaks_early: Final = False

    def free(self, body: Body, name: str) -> bool:
        """Unless the caller forces a choice, or lets the answer be made while nobody waits."""
        taken = any(tool.get("name") == name for tool in mappings(body.get("tools")))
        return body.get("tool_choice") in (None, "auto") and not taken and not body.get("background")

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
        """The input, what the model thought and called, and the outputs."""
        given, ids = body.get("input"), {call.id for call, _ in results}
        before = [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)
        made = [one for one in mappings(reply.get("output")) if _belongs(one, ids)]
        told = [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]
        return {**body, "input": [*before, *made, *told]}

    def gathered(self, events: Iterable[Body]) -> Json:
        """What the last event that holds the answer says."""
        whole = [event["response"] for event in events if isinstance(event.get("response"), Mapping)]
        return dict(whole[-1]) if whole else {}

    def begins(self, event: Body) -> tuple[int, str] | None:
        """An item that calls a function."""
        item = event.get("item")
        if not isinstance(item, Mapping) or item.get("type") != "function_call":
            return None
        return int(event.get("output_index") or 0), str(item.get("name") or "")

    def place(self, event: Body) -> int | None:
        """The number of the item."""
        return int(event["output_index"]) if isinstance(event.get("output_index"), int) else None

    def resumed(self, event: Body, shift: int) -> Json | None:  # noqa: ARG002 - a round stands alone
        """Never asked for: see ``speaks_early``."""
        return dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """It stands at the top of an answer, which an event holds as a whole."""
        inner = message.get("response")
        if isinstance(inner, Mapping):
            return {**message, "response": with_sum(inner, spent)}
        return with_sum(message, spent)


def _belongs(item: Body, ids: set[str]) -> bool:
    """Whether an item of an answer goes with these calls: they themselves, and the thoughts that led to them."""
    return item.get("type") == "reasoning" or (item.get("type") == "function_call" and item.get("call_id") in ids)
