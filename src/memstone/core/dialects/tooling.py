"""A tool of ours beside those of a caller: offered, called, and answered without the caller noticing.

Pure. ``ChatTools``, ``MessageTools`` and ``ResponseTools`` know how each dialect writes a tool, a call and its result,
and how a whole answer is put together again from the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

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
class Ours:
    """The calls of our own in an answer that a caller gets: by what name, in which places, and whether alone there."""

    name: str
    places: frozenset[int]
    alone: bool

    def moved(self, place: int) -> int:
        """Where something stands when they are gone."""
        return place - sum(one < place for one in self.places)


@dataclass(slots=True)
class Begun:
    """What a caller has of an answer that goes on in another round: so many blocks or items, and so many events.

    ``items`` are what the end of an answer tells once more, where it does so; ``id`` and ``last`` are by which number
    it began and ended, where it has one.
    """

    places: int = 0
    events: int = 0
    items: list[Json] = field(default_factory=list)
    id: Any = None
    last: Any = None


class Tooling(Protocol):
    """How one dialect speaks of tools."""

    def free(self, body: Body, name: str) -> bool:
        """Whether a tool may be added: the caller has none of that name and leaves the choice to the model."""
        ...

    def offered(self, body: Body, tool: Tool, *, last: bool) -> Json:
        """The request with the tool; in the last round the model has to do without it."""
        ...

    def calls(self, reply: Body, name: str) -> list[Call]:
        """The calls of a tool in a whole answer."""
        ...

    def answered(self, body: Body, reply: Body, results: Sequence[tuple[Call, str]]) -> Json:
        """The request with these calls of an answer, and no others, and what they gave back."""
        ...

    def gathered(self, events: Iterable[Body]) -> Json:
        """The whole answer that the events of a stream tell."""
        ...

    def begins(self, event: Body) -> list[tuple[int, str]]:
        """The places and the names of the tools whose calls begin with this event."""
        ...

    def spared(self, reply: Body, name: str) -> Json:
        """A whole answer without the calls of a tool."""
        ...

    def freed(self, event: Body, ours: Ours) -> Json | None:
        """An event without our calls; None when there is nothing else in it."""
        ...

    def carried(self, begun: Begun, events: Sequence[Body], place: int) -> Begun:
        """What a caller has after a round that ends, for them, at the call in this place."""
        ...

    def resumed(self, event: Body, begun: Begun) -> Json | None:
        """An event of another round as a part of the answer that has begun; None when it has no place there."""
        ...

    def with_usage(self, message: Body, spent: Body) -> Json:
        """A whole answer or an event with what earlier rounds cost added, if it says what it cost."""
        ...


def added(one: Any, other: Any) -> Any:
    """Two accounts of what was used in one: numbers add up, tables by name; else the first that says something."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {name: added(one.get(name), other.get(name)) for name in {**one, **other}}
    if _is_number(one) and _is_number(other):
        return one + other
    return other if one is None else one


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def with_sum(message: Body, spent: Body) -> Json:
    """A message with ``spent`` added to its ``usage``, if it has one."""
    used = message.get("usage")
    return {**message, "usage": added(used, spent)} if spent and isinstance(used, Mapping) else dict(message)


def arguments_of(text: Any) -> Json | None:
    """The arguments of a call, as a model wrote them."""
    try:
        found = json.loads(text) if isinstance(text, str) and text.strip() else (text or {})
    except ValueError:
        return None
    return dict(found) if isinstance(found, Mapping) else None


def listed(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return list(value) if isinstance(value, list) else []


def table(value: Any) -> Json:
    """A table, or an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: Any, other: int = 0) -> int:
    """A whole number, or another one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else other


def mappings(value: Any) -> list[Json]:
    """The tables in a list."""
    return [one for one in listed(value) if isinstance(one, dict)]
