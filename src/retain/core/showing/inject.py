"""Where a block of memory goes in a list of chat messages. The list that is given is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from retain.errors import InvalidInput
from retain.model.context import ContextPack

Messages: TypeAlias = list[dict[str, Any]]


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
        return injected(messages, pack.stable, pack.volatile, Position(position))
    except ValueError as error:
        raise InvalidInput(f"unknown position {position!r}", hint="one of " + ", ".join(Position)) from error


def injected(messages: Sequence[Mapping[str, Any]], stable: str, volatile: str, position: Position) -> Messages:
    """The messages with a block of memory in its place; as they were when there is nothing to put in."""
    given = [dict(message) if isinstance(message, Mapping) else message for message in messages]
    whole = "\n".join(part for part in (stable, volatile) if part)
    if not whole:
        return given
    match position:
        case Position.SYSTEM_FIRST:
            return [_system(whole), *given]
        case Position.SYSTEM_MERGE:
            return _merged(given, whole)
        case Position.PREFIX_LAST_USER:
            return _prefixed(given, whole)
        case _:
            return _split(given, stable, volatile)


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _split(messages: Messages, stable: str, volatile: str) -> Messages:
    at = _last_user(messages)
    place = len(messages) if at is None else at
    before = [_system(stable)] if stable else []
    beside = [_system(volatile)] if volatile else []
    return [*before, *messages[:place], *beside, *messages[place:]]


def _merged(messages: Messages, text: str) -> Messages:
    if not messages or _role(messages[0]) != "system":
        return [_system(text), *messages]
    return [{**messages[0], "content": _joined(messages[0].get("content"), text, first=False)}, *messages[1:]]


def _prefixed(messages: Messages, text: str) -> Messages:
    at = _last_user(messages)
    if at is None:
        return [_system(text), *messages]
    changed = {**messages[at], "content": _joined(messages[at].get("content"), text, first=True)}
    return [*messages[:at], changed, *messages[at + 1 :]]


def _joined(content: Any, text: str, *, first: bool) -> Any:
    """A message's content with a text beside it, in whichever form the content has."""
    if isinstance(content, list):
        part = {"type": "text", "text": text}
        return [part, *content] if first else [*content, part]
    said = "" if content is None else str(content)
    return "\n\n".join(part for part in ((text, said) if first else (said, text)) if part)


def _last_user(messages: Messages) -> int | None:
    places = (at for at in range(len(messages) - 1, -1, -1) if _role(messages[at]) == "user")
    return next(places, None)


def _role(message: Any) -> Any:
    """Whose message it is; something else may stand in a list too, and is for somebody else to judge."""
    return message.get("role") if isinstance(message, Mapping) else None
