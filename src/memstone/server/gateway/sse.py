"""Split a stream into server-sent events without changing it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_EVENT_END: Final = re.compile(rb"\n\r?\n|\r\r")  # an empty line, whichever of the line ends a service uses
_LINE_END: Final = re.compile(r"\r\n|\n|\r")  # and no other: a text may hold what else is taken for one
_MARK: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: exactly the bytes that came, its name, and what it holds."""

    raw: bytes
    name: str
    data: str

    @property
    def is_sign_of_life(self) -> bool:
        """Whether it only says that somebody is still there: a comment, or a ping."""
        return self.name == "ping" or not (self.name or self.data)

    def json(self) -> dict[str, Any] | None:
        """Return what it holds, if that is an object."""
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


SIGN_OF_LIFE: Final = SseEvent(b": wait\n\n", "", "")
"""A comment, which every client skips, wherever it stands."""


class SseParser:
    """Collects pieces of a stream and gives whole events; ``rest`` is what an end in the middle leaves over."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Return the events that are complete with the next piece. Every byte is looked at once, however many come."""
        self._buffer += piece
        ends = [found.end() for found in _EVENT_END.finditer(self._buffer, self._searched)]
        starts = [0, *ends]
        all_items = [bytes(self._buffer[start:end]) for start, end in zip(starts, ends, strict=False)]
        del self._buffer[: starts[-1]]
        self._searched = max(0, len(self._buffer) - 3)  # a mark may have begun in the last bytes
        return map(event_of, all_items)

    @property
    def rest(self) -> bytes:
        """What has come of an event that is not complete."""
        return bytes(self._buffer)

    @property
    def last(self) -> SseEvent | None:
        """An event that only lacks its empty line, with that line: whatever comes next stands apart from it.

        Half an event is nothing: clients would not read it either.
        """
        rest = self.rest
        event = event_of(rest)
        if event.json() is None and event.data.strip() != _MARK:
            return None
        return SseEvent(rest + (b"\n" if rest.endswith((b"\n", b"\r")) else b"\n\n"), event.name, event.data)


def event_of(raw: bytes) -> SseEvent:
    """Return the event that these bytes are."""
    name, data = "", []
    for line in _LINE_END.split(raw.decode("utf-8", "replace")):
        field, _, value = line.partition(":")
        if field == "event":
            name = value.strip()
        elif field == "data":
            data.append(value.removeprefix(" "))
    return SseEvent(raw, name, "\n".join(data))


def encode_event(data: str, name: str = "") -> bytes:
    """Return an event of our own."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()
