"""Common parts of the dialects of chat APIs.

A dialect knows where in a request the user's words stand, where a block of memory goes, and how an answer is read,
whole or in pieces. It never changes what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from memstone.core.prompt.inject import Position, SystemRole

# --- a tool of ours beside those of a caller --------------------------------------------------------------------------


Body: TypeAlias = Mapping[str, Any]
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model is told about a tool."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool; ``arguments`` is None when they cannot be read."""

    id: str
    name: str
    arguments: Json | None


@dataclass(frozen=True, slots=True)
class OwnCalls:
    """The calls of our own in an answer that a caller gets: by what name, in which places, and whether alone there."""

    name: str
    places: frozenset[int]
    alone: bool

    def shift_place(self, place: int) -> int:
        """Return where something stands when they are gone."""
        return place - sum(one < place for one in self.places)


@dataclass(slots=True)
class AnswerProgress:
    """What a caller has of an answer that goes on in another round: so many blocks or items, and so many events.

    ``items`` are what the end of an answer tells once more, where it does so; ``id`` and ``last`` are by which number
    it began and ended, where it has one.
    """

    places: int = 0
    events: int = 0
    items: list[Json] = field(default_factory=list)
    id: Any = None
    last: Any = None


class ToolDialect(Protocol):
    """How one dialect mentions tools."""

    def free(self, body: Body, name: str) -> bool:
        """Return whether a tool may be added: the caller has none of that name and leaves the choice to the model."""
        ...

    def add_tool(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """Return the request with the tool; in the last round the model has to do without it."""
        ...

    def calls(self, reply: Body, name: str) -> list[Call]:
        """Return the calls of a tool in a whole answer."""
        ...

    def add_results(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """Return the request with these calls of an answer, and no others, and what they gave back."""
        ...

    def merge_events(self, events: Iterable[Body]) -> Json:
        """Return the whole answer that the events of a stream tell."""
        ...

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """Return the places and the names of the tools whose calls begin with this event."""
        ...

    def remove_calls(self, reply: Body, name: str) -> Json:
        """Return a whole answer without the calls of a tool."""
        ...

    def remove_own_calls(self, event: Body, ours: OwnCalls) -> Json | None:
        """Return an event without our calls; None when there is nothing else in it."""
        ...

    def advance_progress(self, begun: AnswerProgress, events: Sequence[Body], place: int) -> AnswerProgress:
        """Return what a caller has after a round that ends, for them, at the call in this place."""
        ...

    def continue_event(self, event: Body, begun: AnswerProgress) -> Json | None:
        """Return an event of another round as a part of the answer that has begun; None when it has no place there."""
        ...

    def with_usage(self, message: Body, spent: Body) -> Json:
        """Return a whole answer or an event with what earlier rounds cost added, if it says what it cost."""
        ...


def add_usage(one: Any, other: Any) -> Any:
    """Add up two accounts of what was used.

    Numbers add up, tables by name; else the first that says something counts.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {name: add_usage(one.get(name), other.get(name)) for name in {**one, **other}}
    if _is_number(one) and _is_number(other):
        return one + other
    return other if one is None else one


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def with_sum(message: Body, spent: Body) -> Json:
    """Return a message with ``spent`` added to its ``usage``, if it has one."""
    used = message.get("usage")
    return {**message, "usage": add_usage(used, spent)} if spent and isinstance(used, Mapping) else dict(message)


def arguments_of(text: Any) -> Json | None:
    """Return the arguments of a call, as a model wrote them."""
    try:
        found = json.loads(text) if isinstance(text, str) and text.strip() else (text or {})
    except ValueError:
        return None
    return dict(found) if isinstance(found, Mapping) else None


def list_or_empty(value: Any) -> list[Any]:
    """Return a list, or an empty one."""
    return list(value) if isinstance(value, list) else []


def dict_or_empty(value: Any) -> Json:
    """Return a table, or an empty one."""
    return value if isinstance(value, dict) else {}


def int_or_default(value: Any, other: int = 0) -> int:
    """Return a whole number, or another one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else other


def dicts_in_list(value: Any) -> list[Json]:
    """Return the tables in a list."""
    return [one for one in list_or_empty(value) if isinstance(one, dict)]


# --- what the ways to talk to a model have in common ------------------------------------------------------------------


OwnEvent: TypeAlias = tuple[str, Body]
"""An event of our own: its name ('' where events have none) and what it holds."""

_CHAT, _CHAT_END = "<chat_history>", "</chat_history>"


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """What a model is to be shown, and where.

    ``whole`` is everything under one fence, for where it is in one message; ``stable`` and ``volatile`` are the
    same in two, for where it is in two.
    """

    full_text: str = ""
    stable: str = ""
    volatile: str = ""
    position: Position = Position.SPLIT
    system: SystemRole = SystemRole.YES

    def among_the_users(self) -> tuple[str, str]:
        """Return what leads as words of the user, and what goes before the last: no instructions are taken."""
        match self.position:
            case Position.SYSTEM_FIRST:
                return self.full_text, ""
            case Position.SPLIT:
                return self.stable, self.volatile
            case _:
                return "", self.full_text


@dataclass(slots=True)
class ParsedAnswer:
    """What was understood of an answer, so far; ``id`` is by what it can be continued, where it can."""

    text: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    finished: bool = False
    id: str = ""

    @property
    def full_text(self) -> str:
        """The words of the answer."""
        return str(repair_surrogates("".join(self.text)))


class Dialect(Protocol):
    """One way to talk to a model."""

    @property
    def path(self) -> str:
        """Where an upstream is asked, after its base address."""
        ...

    @property
    def tool_dialect(self) -> ToolDialect:
        """How it mentions tools."""
        ...

    def get_messages(self, body: Body) -> Any:
        """Return what stands where the messages of a request are, whatever it is."""
        ...

    def question(self, body: Body) -> str:
        """Return the newest words of the user; '' when there are none."""
        ...

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """Return what the user said last, in the form ``Memory.add`` takes.

        It is empty when it was nobody's turn but a tool's.
        """
        ...

    def goes_on(self, body: Body) -> bool:
        """Return whether a tool has answered since the user spoke.

        Then those words have come before, in another request.
        """
        ...

    def with_memory(self, body: Body, block: PromptBlock) -> dict[str, Any]:
        """Return the request with a block in its place."""
        ...

    def parse_reply(self, reply: Body) -> ParsedAnswer:
        """Return what an answer says that came in one piece."""
        ...

    def piece(self, answer: ParsedAnswer, event: Body) -> None:
        """Take the next event of a stream."""
        ...

    def ends(self, name: str, data: str) -> bool:
        """Return whether an event is the last one of a stream."""
        ...

    def closes(self, name: str, data: str) -> bool:
        """Return whether an event belongs to the end of a stream.

        Something of our own stands before the first such one.
        """
        ...

    def make_memories_event(self, memories: list[dict[str, Any]], closing: Body) -> OwnEvent:
        """Return an event that says what was shown, before the one that closes.

        Every client has to be able to read on.
        """
        ...

    def make_error_event(self, message: str, error: Body) -> OwnEvent:
        """Return an event that says that the answer ends here, and why.

        ``error`` is what an upstream said about it itself.
        """
        ...


def is_chore(text: str) -> bool:
    """Return whether an application asks on its own account.

    It wants a title, tags or a next question to a chat that it quotes.

    Open WebUI sends such requests under the user's name after every chat.
    """
    begins = text.find(_CHAT)
    return begins >= 0 and text.find(_CHAT_END, begins) >= 0


def repair_surrogates(value: Any) -> Any:
    """Return text, or what holds it, in whole characters.

    Halves of one that came one after the other are joined; half a character alone becomes the sign for what cannot be
    read.
    """
    if isinstance(value, str):
        return value if _is_whole(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [repair_surrogates(one) for one in value]
    return {name: repair_surrogates(one) for name, one in value.items()} if isinstance(value, dict) else value


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def text_of(content: Any) -> str:
    """Return the words in a message's content, whichever form it has."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part if isinstance(part, str) else _part_text(part) for part in content)
    return " ".join(text for text in texts if text)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping) or part.get("type") not in (None, "text", "input_text", "output_text"):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""
