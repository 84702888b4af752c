"""Server-sent events: cut out of a stream of bytes without changing a byte of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_LINE_END: Final = re.compile(r"\r\n|\n|\r")  # and no other: a text may hold what else is taken for one
_MARK: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: exactly the bytes that came, its name, and what it holds."""

    raw: bytes
    name: str
    data: str

    def json(self) -> dict[str, Any] | None:
        """What it holds, if that is an object."""
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


class Events:
    """Collects pieces of a stream and gives whole events; ``rest`` is what an end in the middle leaves over."""

    def __init__(self) -> None:
        self._buffer = b""
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are complete with the next piece."""
        self._buffer += piece
        while (end := _end(self._buffer, self._searched)) is not None:
            raw, self._buffer, self._searched = self._buffer[:end], self._buffer[end:], 0
            yield event_of(raw)
        self._searched = max(0, len(self._buffer) - 3)  # a mark may have begun in the last bytes

    @property
    def rest(self) -> bytes:
        """What has come of an event that is not complete."""
        return self._buffer

    @property
    def last(self) -> Event | None:
        """An event that only lacks its empty line, with that line: whatever comes next stands apart from it.

        Half an event is nothing: clients would not read it either.
        """
        event = event_of(self._buffer)
        if event.json() is None and event.data.strip() != _MARK:
            return None
        return Event(
            self._buffer + (b"\n" if self._buffer.endswith((b"\n", b"\r")) else b"\n\n"), event.name, event.data
        )


def _end(buffer: bytes, start: int) -> int | None:
    """Where the first event ends, with its empty line: whichever of the line ends a service uses."""
    found = [(at, len(mark)) for mark in (b"\n\n", b"\n\r\n", b"\r\r") if (at := buffer.find(mark, start)) >= 0]
    return None if not found else min(at + length for at, length in found)


def event_of(raw: bytes) -> Event:
    """The event that these bytes are."""
    name, data = "", []
    for line in _LINE_END.split(raw.decode("utf-8", "replace")):
        field, _, value = line.partition(":")
        if field == "event":
            name = value.strip()
        elif field == "data":
            data.append(value.removeprefix(" "))
    return Event(raw, name, "\n".join(data))


def written(data: str, name: str = "") -> bytes:
    """An event of our own."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()
