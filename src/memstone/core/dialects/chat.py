"""Chat completions: a list of messages with roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
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
    is_chore,
    list_or_empty,
    text_of,
    with_sum,
)
from memstone.core.prompt.inject import (
    INSTRUCTING,
    Position,
    SystemRole,
    insert_block,
    instruction_message,
    last_user,
    prefix_last_user,
)

# --- tools in chat completions ----------------------------------------------------------------------------------------


_CALLED: Final = "tool_calls"
# What services call the thoughts of a model; some refuse the result of a call whose thoughts are missing.
_THOUGHTS: Final = ("reasoning_content", "reasoning", "reasoning_details")
_GROWING: Final = frozenset({"index", "id", "function"})


class ChatTools:
    """See ``memstone.core.dialects.base.ToolDialect``."""

    def free(self, body: Body, name: str) -> bool:
        """Return whether a tool may be added.

        Not where the caller forces a choice, wants several answers, or mentions functions in the old way.
        """
        named = (tool.get("function") or {} for tool in dicts_in_list(body.get("tools")))
        taken = any(isinstance(one, Mapping) and one.get("name") == name for one in named)
        odd = body.get("functions") or body.get("n") not in (None, 1)
        return body.get("tool_choice") in (None, "auto") and not taken and not odd

    def add_tool(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """Return the function after those of the caller."""
        own = {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        if not last:
            return {**body, "tools": [*list_or_empty(body.get("tools")), own]}
        return dict(body) if body.get("tools") else {**body, "tools": [own], "tool_choice": "none"}

    def calls(self, reply: Body, name: str) -> list[Call]:
        """Return the calls of the first choice."""
        return [
            Call(str(one.get("id") or ""), name, arguments_of(one["function"].get("arguments")))
            for one in dicts_in_list(_first_message(reply).get("tool_calls"))
            if _function_name(one) == name
        ]

    def add_results(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """Return a message of the assistant with these calls, and one message for each result."""
        texts, ids = _first_message(reply), {call.id for call, _ in results}
        made = [one for one in dicts_in_list(texts.get("tool_calls")) if one.get("id") in ids]
        thought = {name: texts[name] for name in _THOUGHTS if texts.get(name)}
        asked = {"role": "assistant", "content": texts.get("content"), **thought, "tool_calls": made}
        lines = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]
        return {**body, "messages": [*list_or_empty(body.get("messages")), asked, *lines]}

    def merge_events(self, events: Iterable[Body]) -> Json:
        """Return the message that the pieces of the first choice make up."""
        text: list[str] = []
        thought: Json = {}
        calls: dict[int, Json] = {}
        usage: Any = None
        for event in events:
            usage = dict_or_empty(event.get("usage")) or usage
            for delta in _first_choice_deltas(event):
                text.append(delta["content"] if isinstance(delta.get("content"), str) else "")
                thought |= {
                    name: _append_thoughts(thought.get(name), delta[name]) for name in _THOUGHTS if delta.get(name)
                }
                for place, piece in _call_pieces(delta):
                    _append_call_piece(calls, place, piece)
        message: Json = {"role": "assistant", "content": "".join(text) or None, **thought}
        message |= {"tool_calls": [calls[at] for at in sorted(calls)]} if calls else {}
        return {"choices": [{"index": 0, "message": message}], "usage": usage}

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """Return the calls that begin here: the first piece holds the name, and a chunk may hold pieces of several."""
        return [
            (place, _function_name(one))
            for delta in _first_choice_deltas(event)
            for place, one in _call_pieces(delta)
            if _function_name(one)
        ]

    def remove_calls(self, reply: Body, name: str) -> Json:
        """Return the first choice without them; if they were all it called, it has come to its end."""
        message, choices = _first_message(reply), dicts_in_list(reply.get("choices"))
        others = [one for one in dicts_in_list(message.get("tool_calls")) if _function_name(one) != name]
        texts = {key: value for key, value in message.items() if key != "tool_calls" or others}
        changed = {**choices[0], "message": texts | ({"tool_calls": others} if others else {})}
        return {**reply, "choices": [changed if others else _replace_tool_finish_reason(changed), *choices[1:]]}

    def remove_own_calls(self, event: Body, ours: OwnCalls) -> Json | None:
        """Return a chunk without the pieces of these calls, the others counted without them."""
        choices = [
            _remove_our_calls(one, ours) if one.get("index", 0) == 0 else one
            for one in dicts_in_list(event.get("choices"))
        ]
        left = [one for one in choices if one is not None]
        if not choices:
            return dict(event)
        return {**event, "choices": left} if left else None

    def advance_progress(self, begun: AnswerProgress, events: Sequence[Body], place: int) -> AnswerProgress:  # noqa: ARG002 - in no order
        """Return the progress as it is: chunks follow each other, from whichever answer."""
        return begun

    def continue_event(self, event: Body, begun: AnswerProgress) -> Json | None:  # noqa: ARG002 - chunks are in no order
        """Return a chunk without its role: whose message it is was said at its beginning."""
        choices = [_without_role(one) for one in dicts_in_list(event.get("choices"))]
        return {**event, "choices": choices} if choices else dict(event)

    def with_usage(self, message: Body, spent: Body) -> Json:
        """Add to the usage at the top, in whole answers and in the last chunk."""
        return with_sum(message, spent)


def _first_message(reply: Body) -> Mapping[str, Any]:
    choices = dicts_in_list(reply.get("choices"))
    message = choices[0].get("message") if choices else None
    return message if isinstance(message, Mapping) else {}


def _first_choice_deltas(event: Body) -> list[Json]:
    first = (one for one in dicts_in_list(event.get("choices")) if one.get("index", 0) == 0)
    return [delta for one in first if isinstance(delta := one.get("delta"), dict)]


def _function_name(call: Body) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, Mapping) else ""


def _call_pieces(delta: Body) -> list[tuple[int, Json]]:
    """Return the pieces of calls in a chunk, by the number of the call; who does not number them has them in order."""
    return [
        (int_or_default(one.get("index"), at), one) for at, one in enumerate(dicts_in_list(delta.get("tool_calls")))
    ]


def _remove_our_calls(choice: Json, ours: OwnCalls) -> Json | None:
    """Return a choice of a chunk without the pieces of our calls; None when there was nothing else in it."""
    ended, delta = _replace_tool_finish_reason(choice) if ours.alone else choice, dict_or_empty(choice.get("delta"))
    if "tool_calls" not in delta:
        return ended
    pieces = [{**one, "index": ours.shift_place(at)} for at, one in _call_pieces(delta) if at not in ours.places]
    rest = {name: value for name, value in delta.items() if name != "tool_calls"}
    if not (pieces or rest.get("role") or rest.get("content") or choice.get("finish_reason")):
        return None
    return {**ended, "delta": rest | ({"tool_calls": pieces} if pieces else {})}


def _replace_tool_finish_reason(choice: Json) -> Json:
    """Return a choice that called nothing but our tool, and so nothing."""
    return {**choice, "finish_reason": "stop"} if choice.get("finish_reason") == _CALLED else choice


def _without_role(choice: Json) -> Json:
    delta = dict_or_empty(choice.get("delta"))
    rest = {name: value for name, value in delta.items() if name != "role"}
    return {**choice, "delta": rest} if "role" in delta else choice


def _append_thoughts(before: Any, piece: Any) -> Any:
    """Return thoughts with another piece of them: texts and lists grow."""
    if isinstance(before, str) and isinstance(piece, str):
        return before + piece
    return [*before, *piece] if isinstance(before, list) and isinstance(piece, list) else piece


def _append_call_piece(calls: dict[int, Json], at: int, piece: Body) -> None:
    """Add a piece to its call; what a service says besides it wants to see again."""
    function = dict_or_empty(piece.get("function"))
    call = calls.setdefault(at, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call |= {name: value for name, value in piece.items() if name not in _GROWING and value is not None}
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += str(function.get("arguments") or "")


# --- chat completions -------------------------------------------------------------------------------------------------


_MARK: Final = "[DONE]"


class Chat:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/chat/completions"
    tool_dialect: Final = ChatTools()

    def get_messages(self, body: Body) -> Any:
        """Return the messages."""
        return body.get("messages")

    def question(self, body: Body) -> str:
        """Return the words of the last user message."""
        last = self._last(body)
        return "" if last is None else text_of(last.get("content")).strip()

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """Return the last user message, if it is not a chore of the application."""
        last = self._last(body)
        if last is None or not last.get("content"):
            return []
        return [{"role": "user", "content": last["content"]}]

    def goes_on(self, body: Body) -> bool:
        """Return whether a message of the role ``tool``, or the old ``function``, follows the user's last one."""
        roles = (one.get("role") for one in reversed(dicts_in_list(body.get("messages"))))
        return any(role in ("tool", "function") for role in takewhile(lambda role: role != "user", roles))

    def _last(self, body: Body) -> Mapping[str, Any] | None:
        value = body.get("messages")
        if not isinstance(value, list):
            return None
        users = (one for one in reversed(value) if isinstance(one, Mapping) and one.get("role") == "user")
        last = next(users, None)
        return None if last is None or is_chore(text_of(last.get("content"))) else last

    def with_memory(self, body: Body, block: PromptBlock) -> dict[str, Any]:
        """Return the messages with the block in its place, as far as the model takes system messages."""
        value = body.get("messages")
        if not isinstance(value, list) or not block.full_text:
            return dict(body)
        return {**body, "messages": _insert_block(value, block)}

    def parse_reply(self, reply: Body) -> ParsedAnswer:
        """Return the first choice's words."""
        answer = ParsedAnswer(usage=dict(dict_or_empty(reply.get("usage"))), finished=True)
        for choice in dicts_in_list(reply.get("choices"))[:1]:
            answer.text.append(text_of(dict_or_empty(choice.get("message")).get("content")))
        return answer

    def piece(self, answer: ParsedAnswer, event: Body) -> None:
        """Take the next chunk."""
        answer.usage = dict(dict_or_empty(event.get("usage")) or answer.usage)
        for choice in dicts_in_list(event.get("choices")):
            if choice.get("index", 0) == 0:
                answer.text.append(text_of(dict_or_empty(choice.get("delta")).get("content")))
                answer.finished = answer.finished or bool(choice.get("finish_reason"))

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by the name
        """Return whether it is the mark at the end of a stream."""
        return data.strip() == _MARK

    closes = ends

    def make_memories_event(self, memories: list[dict[str, Any]], closing: Body) -> OwnEvent:  # noqa: ARG002 - a mark holds nothing
        """Return a chunk without choices, as the one that tells the usage."""
        return "", {"id": "memstone", "object": "chat.completion.chunk", "choices": [], "memories": memories}

    def make_error_event(self, message: str, error: Body) -> OwnEvent:
        """Return a chunk with an error."""
        return "", {"error": {"message": message, "type": "upstream_error", "code": "upstream_cut", **error}}


def _insert_block(messages: list[Any], block: PromptBlock) -> list[Any]:
    match block.system:
        case SystemRole.YES:
            return insert_block(messages, (block.full_text, block.stable, block.volatile), block.position)
        case SystemRole.NO:
            return _no_system(messages, block)
        case _:
            return _first_only(messages, block)


def _no_system(messages: list[Any], block: PromptBlock) -> list[Any]:
    """Return what would be in a system message is the first message of the user."""
    lead, beside = block.among_the_users() if last_user(messages) is not None else (block.full_text, "")
    moved = prefix_last_user(messages, beside) if beside else list(messages)
    return [{"role": "user", "content": lead}, *moved] if lead else moved


def _first_only(messages: list[Any], block: PromptBlock) -> list[Any]:
    """Put what is stable at the front of the one system message, and what changes before the last words of the user."""
    if block.position in (Position.SYSTEM_FIRST, Position.SYSTEM_MERGE) or last_user(messages) is None:
        return _prepend_system_text(messages, block.full_text)
    if block.position is Position.PREFIX_LAST_USER:
        return prefix_last_user(messages, block.full_text)
    moved = prefix_last_user(messages, block.volatile) if block.volatile else list(messages)
    return _prepend_system_text(moved, block.stable) if block.stable else moved


def _prepend_system_text(messages: list[Any], text: str) -> list[Any]:
    first = messages[0] if messages and isinstance(messages[0], Mapping) else {}
    if first.get("role") not in INSTRUCTING:
        return [instruction_message(text, messages), *messages]
    content = first.get("content")
    joined = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text}\n\n{content or ''}"
    return [{**first, "content": joined}, *messages[1:]]
