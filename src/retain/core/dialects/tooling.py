"""A tool of ours beside those of a caller: offered, called, and answered without the caller noticing.

Pure. ``ChatTools``, ``MessageTools`` and ``ResponseTools`` know how each dialect writes a tool, a call and its result,
and how a whole answer is put together again from the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


class Tooling(Protocol):
    """How one dialect speaks of tools."""

    @property
    def speaks_early(self) -> bool:
        """Whether an answer that has begun to speak may go on in another round."""
        ...

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

    def begins(self, event: Body) -> tuple[int, str] | None:
        """The place and the name of the tool whose call begins with this event."""
        ...

    def place(self, event: Body) -> int | None:
        """The place of the call that this event goes on with."""
        ...

    def resumed(self, event: Body, shift: int) -> Json | None:
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


def mappings(value: Any) -> list[Json]:
    """The tables in a list."""
    return [one for one in listed(value) if isinstance(one, dict)]
