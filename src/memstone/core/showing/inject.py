"""Where a block of memory goes in a list of chat messages. The list that is given is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

from memstone.errors import InvalidInput
from memstone.model.context import ContextPack

Messages: TypeAlias = list[dict[str, Any]]

# Two names of one role. Who writes the newer one must not find the older beside it.
_NEWER: Final = "developer"
INSTRUCTING: Final = frozenset({"system", _NEWER})


class Position(StrEnum):
    """Where a block goes.

    ``split``: what stays the same first, what belongs to the question right before the last user message, so that
    prompt caches keep hitting. ``system_first``: all of it in front. ``system_merge``: in the leading system message.
    ``prefix_last_user``: before the words of the last user message, in the same message.
    """

    SPLIT = "split"
    SYSTEM_FIRST = "system_first"
    SYSTEM_MERGE = "system_merge"
    PREFIX_LAST_USER = "prefix_last_user"


def inject(messages: Sequence[Mapping[str, Any]], pack: ContextPack, position: str = Position.SPLIT) -> Messages:
    """Chat messages with what ``Memory.context`` gave in its place; the list that is given stays as it is."""
    try:
        return injected(messages, (pack.text, pack.stable, pack.volatile), Position(position))
    except ValueError as error:
        raise InvalidInput(f"unknown position {position!r}", hint="one of " + ", ".join(Position)) from error


def injected(messages: Sequence[Mapping[str, Any]], block: tuple[str, str, str], position: Position) -> Messages:
    """The messages with a block of memory in its place; as they were when there is nothing to put in.

    A block is everything under one fence, and the same in two parts: no message holds more than one fence.
    """
    given = [dict(message) if isinstance(message, Mapping) else message for message in messages]
    whole, stable, volatile = block
    if not whole:
        return given
    match position:
        case Position.SYSTEM_FIRST:
            return [instruction(whole, given), *given]
        case Position.SYSTEM_MERGE:
            return _merged(given, whole)
        case Position.PREFIX_LAST_USER:
            return prefixed(given, whole)
        case _:
            return _split(given, stable, volatile)


def instruction(text: str, messages: Sequence[Any]) -> dict[str, Any]:
    """A system message for a list, in the words of that list."""
    newer = any(_role(message) == _NEWER for message in messages)
    return {"role": _NEWER if newer else "system", "content": text}


def _split(messages: Messages, stable: str, volatile: str) -> Messages:
    at = last_user(messages)
    place = len(messages) if at is None else at
    before = [instruction(stable, messages)] if stable else []
    beside = [instruction(volatile, messages)] if volatile else []
    return [*before, *messages[:place], *beside, *messages[place:]]


def _merged(messages: Messages, text: str) -> Messages:
    if not messages or _role(messages[0]) not in INSTRUCTING:
        return [instruction(text, messages), *messages]
    return [{**messages[0], "content": _joined(messages[0].get("content"), text, first=False)}, *messages[1:]]


def prefixed(messages: Messages, text: str) -> Messages:
    """The messages with a text before the words of the last user message, or in front where there is none."""
    at = last_user(messages)
    if at is None:
        return [instruction(text, messages), *messages]
    changed = {**messages[at], "content": _joined(messages[at].get("content"), text, first=True)}
    return [*messages[:at], changed, *messages[at + 1 :]]


def _joined(content: Any, text: str, *, first: bool) -> Any:
    """A message's content with a text beside it, in whichever form the content has."""
    if isinstance(content, list):
        part = {"type": "text", "text": text}
        place = sum(map(_is_result, content)) if first else len(content)  # results of tools stand first, or are refused
        return [*content[:place], part, *content[place:]]
    said = "" if content is None else str(content)
    return "\n\n".join(part for part in ((text, said) if first else (said, text)) if part)


def last_user(messages: Messages) -> int | None:
    """Where the last message stands in which the user speaks; None if there is none."""
    places = (at for at in range(len(messages) - 1, -1, -1) if _speaks(messages[at]))
    return next(places, None)


def _speaks(message: Any) -> bool:
    """Whether it is a message of the user, and not only what tools gave in the user's place."""
    if _role(message) != "user":
        return False
    content = message.get("content")
    return not (isinstance(content, list) and content and all(map(_is_result, content)))


def _is_result(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "tool_result"


def _role(message: Any) -> Any:
    """Whose message it is; something else may stand in a list too, and is for somebody else to judge."""
    return message.get("role") if isinstance(message, Mapping) else None
