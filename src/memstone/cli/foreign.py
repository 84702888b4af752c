"""Whether a file is what another system exported, or a list of facts that is read line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memstone.cli.lines import ARRAY_HINT, Line
from memstone.core.importers import FACTS, recognised, unwrapped
from memstone.errors import InvalidInput

_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06", b"SQLite format 3\0")
_NOTES: Final = (".md", ".markdown")
_HEAD: Final = 65_536


def is_foreign(file: str) -> bool:
    """Whether a file is anything but a list of facts; standard input is read once, so it is a list."""
    if file == "-":
        return False
    path = Path(file)
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if head.startswith(_MAGIC) or path.suffix.lower() in _NOTES:
        return True
    found = _document(path, head)
    return found is not None and recognised(unwrapped(found)) not in (None, FACTS)


def objects(file: str) -> Iterator[Line] | None:
    """The objects of a JSON array as if each stood on a line; None when the file is no array."""
    if file == "-":
        return None
    path = Path(file)
    with path.open("rb") as stream:
        found = _document(path, stream.read(_HEAD))
    given = unwrapped(found) if found is not None else None
    return None if given is None else iter([_line(at, one) for at, one in enumerate(given, start=1)])


def _line(number: int, value: Any) -> Line:
    if isinstance(value, dict):
        return Line(number, value)
    return Line(number, {}, InvalidInput(f"not an object but {type(value).__name__}", hint=ARRAY_HINT))


def _document(path: Path, head: bytes) -> Any:
    """The one JSON document a file is; None when it is lines, or no JSON at all."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = _read(start.partition(b"\n")[0])
    if not start.startswith((b"[", b"{")) or (isinstance(first, dict) and _is_row(first)):
        return None
    return _read(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))


def _is_row(first: Mapping[str, Any]) -> bool:
    """Whether the object on the first line is one of many, and not what holds them all."""
    return unwrapped(first) == [first] and recognised([first]) not in ("chatgpt", "claude")


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
