"""The responses API: instructions, and an input of text or items."""

from __future__ import annotations

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

# --- tools in the responses API ---------------------------------------------------------------------------------------


_BEGINS: Final = frozenset({"response.created", "response.queued", "response.in_progress"})


class ResponseTools:
    """See ``memstone.core.dialects.base.ToolDialect``.

    The events of one answer number its items and tell them once more at the end, with the id of its beginning.
    """

    def free(self, body: Body, name: str) -> bool:
        """Return whether a tool may be added.

        Not where the caller forces a choice, or the service makes the answer alone or writes down what was said.
        """
        taken = any(tool.get("name") == name for tool in dicts_in_list(body.get("tools")))
        elsewhere = body.get("background") or body.get("conversation")
        return body.get("tool_choice") in (None, "auto") and not taken and not elsewhere

    def add_tool(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """Return the function after the tools of the caller."""
        own = {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.schema),
            "strict": False,
        }
        if not last:
            return {**body, "tools": [*list_or_empty(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": "none"}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """Return the items that call it."""
        return [
            Call(str(one.get("call_id") or ""), name, arguments_of(one.get("arguments")))
            for one in dicts_in_list(reply.get("output"))
            if one.get("type") == "function_call" and one.get("name") == name
        ]

    def add_results(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """Return the input, what the model thought, said and called, and the outputs."""
        value, ids = body.get("input"), {call.id for call, _ in results}
        before = [{"role": "user", "content": value}] if isinstance(value, str) else list_or_empty(value)
        unkept = body.get("store") is False
        made = [one for one in dicts_in_list(reply.get("output")) if _is_item_of_calls(one, ids, unkept=unkept)]
        lines = [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]
        return {**body, "input": [*before, *made, *lines]}

    def merge_events(self, events: Iterable[Body]) -> Json:
        """Return what the last event that holds the answer says."""
        all_items = [event["response"] for event in events if isinstance(event.get("response"), Mapping)]
        return dict(all_items[-1]) if all_items else {}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """Return an item that calls a function."""
        item = dict_or_empty(event.get("item"))
        calls = item.get("type") == "function_call"
        return [(int_or_default(event.get("output_index")), str(item.get("name") or ""))] if calls else []

    def remove_calls(self, reply: Body, name: str) -> Json:
        """Return the output without them."""
        return {**reply, "output": [one for one in list_or_empty(reply.get("output")) if not _is_call_of(one, name)]}

    def remove_own_calls(self, event: Body, ours: OwnCalls) -> Json | None:
        """Return an event without these items, the others counted without them."""
        if isinstance(event.get("response"), Mapping):
            return {**event, "response": self.remove_calls(event["response"], ours.name)}
        place = event.get("output_index")
        if not isinstance(place, int):
            return dict(event)
        return None if place in ours.places else {**event, "output_index": ours.shift_place(place)}

    def advance_progress(self, begun: AnswerProgress, events: Sequence[Body], place: int) -> AnswerProgress:
        """Return the progress after so many items and events, and what the end will tell of them."""
        full = self.merge_events(events)
        calls = next((int_or_default(event.get("sequence_number")) for event in events if self.begins(event)), 0)
        items = [*begun.items, *dicts_in_list(full.get("output"))[:place]]
        return AnswerProgress(begun.places + place, begun.events or calls, items, begun.id or full.get("id"))

    def continue_event(self, event: Body, begun: AnswerProgress) -> Json | None:
        """Count an event on, as the answer has begun already; the end is told with what came before."""
        if event.get("type") in _BEGINS:
            return None
        answer = {**event, "sequence_number": begun.events}
        begun.events += 1
        if isinstance(place := event.get("output_index"), int):
            answer["output_index"] = place + begun.places
        if isinstance(full := event.get("response"), Mapping):
            begun.last = full.get("id")
            answer["response"] = {**full, "id": begun.id, "output": [*begun.items, *list_or_empty(full.get("output"))]}
        return answer

    def with_usage(self, message: Body, spent: Body) -> Json:
        """Add to the usage at the top of an answer, which an event holds as a whole."""
        inner = message.get("response")
        if isinstance(inner, Mapping):
            return {**message, "response": with_sum(inner, spent)}
        return with_sum(message, spent)


def _is_call_of(item: object, name: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "function_call" and item.get("name") == name


def _is_item_of_calls(item: Body, ids: set[str], *, unkept: bool) -> bool:
    """Return whether an item of an answer goes with these calls.

    So do they themselves, and the thoughts and words before them.

    A service that keeps nothing knows a thought only by what it holds, and refuses one that is only a number.
    """
    kind = item.get("type")
    if kind == "reasoning":
        return bool(item.get("encrypted_content")) or not unkept
    return kind == "message" or (kind == "function_call" and item.get("call_id") in ids)


# --- the responses API ------------------------------------------------------------------------------------------------


_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})


class Responses:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/responses"
    tool_dialect: Final = ResponseTools()

    def get_messages(self, body: Body) -> Any:
        """Return the input; a text is one message."""
        value = body.get("input")
        return [value] if isinstance(value, str) else value

    def question(self, body: Body) -> str:
        """Return the newest words of the user; calls of tools, what they gave back and reasoning are skipped."""
        value = body.get("input")
        if isinstance(value, str):
            return value.strip()
        at = _last_user(value)
        return "" if at is None else text_of(value[at].get("content")).strip()  # type: ignore[index]  # it has a place

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """Return what the user said last."""
        value = body.get("input")
        if isinstance(value, str):
            return [{"role": "user", "content": value}] if value.strip() else []
        at = _last_user(value)
        content = None if at is None else value[at].get("content")  # type: ignore[index]  # it has a place
        return [{"role": "user", "content": content}] if content else []

    def goes_on(self, body: Body) -> bool:
        """Return whether a tool gave something back after the last words of the user."""
        value = body.get("input")
        at = _last_user(value)
        since = dicts_in_list(list_or_empty(value)[0 if at is None else at + 1 :])
        return any(str(one.get("type")).endswith("_output") for one in since)

    def with_memory(self, body: Body, block: PromptBlock) -> dict[str, Any]:
        """Return what is stable in the instructions, what changes before the last words of the user."""
        if not block.full_text:
            return dict(body)
        if block.system is SystemRole.NO or not isinstance(body.get("instructions"), str | None):
            return _no_system(body, block)
        if block.position in (Position.SYSTEM_FIRST, Position.SYSTEM_MERGE):
            first = block.position is Position.SYSTEM_FIRST
            return {**body, "instructions": _join_instructions(body.get("instructions"), block.full_text, first=first)}
        stable = "" if block.position is Position.PREFIX_LAST_USER else block.stable
        volatile = block.full_text if block.position is Position.PREFIX_LAST_USER else block.volatile
        changed = {**body, "input": _prefix_last_user(body.get("input"), volatile)} if volatile else dict(body)
        if stable:
            changed["instructions"] = _join_instructions(body.get("instructions"), stable, first=True)
        return changed

    def parse_reply(self, reply: Body) -> ParsedAnswer:
        """Return the text of an answer's messages."""
        answer = ParsedAnswer(
            usage=dict(dict_or_empty(reply.get("usage"))), finished=True, id=str(reply.get("id") or "")
        )
        for item in dicts_in_list(reply.get("output")):
            if item.get("type") == "message":
                answer.text.append(text_of(item.get("content")))
        return answer

    def piece(self, answer: ParsedAnswer, event: Body) -> None:
        """Take the next event."""
        kind = str(event.get("type") or "")
        if kind == "response.output_text.delta":
            answer.text.append(text_of(event.get("delta")))
        elif kind in _ENDS:
            full = dict_or_empty(event.get("response"))
            answer.finished, answer.id = kind == "response.completed", str(full.get("id") or "")
            answer.usage = dict(dict_or_empty(full.get("usage")))

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """Return whether it is the event at the end of a stream."""
        return name in _ENDS

    closes = ends

    def make_memories_event(self, memories: list[dict[str, Any]], closing: Body) -> OwnEvent:
        """Return an event with a name of our own, and the number of the one it stands before."""
        number = closing.get("sequence_number", 0)
        return "memstone.memories", {"type": "memstone.memories", "sequence_number": number, "memories": memories}

    def make_error_event(self, message: str, error: Body) -> OwnEvent:
        """Return an error, whose type is a word for the event."""
        answer = {"code": "upstream_cut", "message": message, "param": None, **error}
        return "error", {**answer, "type": "error", "sequence_number": 0}


def _no_system(body: Body, block: PromptBlock) -> dict[str, Any]:
    """Return it for a model without instructions: what would stand there is the first item of the user."""
    lead, beside = block.among_the_users()
    value = _prefix_last_user(body.get("input"), beside) if beside else body.get("input")
    if lead:
        items = value if isinstance(value, list) else [{"role": "user", "content": value or ""}]
        value = [{"role": "user", "content": lead}, *items]
    return {**body, "input": value}


def _last_user(value: Any) -> int | None:
    if not isinstance(value, list):
        return None
    places = range(len(value) - 1, -1, -1)
    return next((at for at in places if isinstance(value[at], Mapping) and value[at].get("role") == "user"), None)


def _prefix_last_user(value: Any, text: str) -> Any:
    if not isinstance(value, list):
        return f"{text}\n\n{value or ''}"
    at = _last_user(value)
    if at is None:
        return [{"role": "user", "content": text}, *value]
    content = value[at].get("content")
    part = {"type": "input_text", "text": text}
    joined = [part, *content] if isinstance(content, list) else f"{text}\n\n{content or ''}"
    return [*value[:at], {**value[at], "content": joined}, *value[at + 1 :]]


def _join_instructions(value: str | None, text: str, *, first: bool) -> str:
    sentence = value or ""
    return "\n\n".join(part for part in ((text, sentence) if first else (sentence, text)) if part)
