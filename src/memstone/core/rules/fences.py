"""Where code, marked-up blocks and quotations stand in a message.

Each is found by its opening mark and then by its closing one. What has no closing mark is remembered, so that a message
full of opening marks is still read once and not once for each of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

FENCE_MARKS: Final = ("```", "~~~", "---", "</", '"""')
"""A message without any of these has no fence."""

QUOTE_MARKS: Final = ('"', "“", "'")
"""A message without any of these quotes nobody."""

_RULE: Final = re.compile(r"^-{3,}\s*$", re.MULTILINE)
_FENCE: Final = re.compile(rf"```|\"\"\"|~~~|{_RULE.pattern}|<(?=\w)", re.MULTILINE)
_TAG: Final = re.compile(r"<(\w{1,30})[^>]{0,200}>")
_CLOSING_TAG: Final = re.compile(r"</(\w{1,30})>")
_ATTRIBUTES: Final = 200
_ELEMENT: Final = 4_000
"""Characters of one marked-up element."""


def fences(message: str) -> Iterator[tuple[int, int]]:
    """Fenced code, blocks between rules, and elements of mark-up; what is left open goes on to the end."""
    tags = _closing_tags(message)
    at = 0
    while found := _FENCE.search(message, at):
        end = _element_end(message, found.start(), tags) if found[0] == "<" else _fence_end(message, found)
        if end:
            yield found.start(), end
        at = end or found.end()


def _fence_end(message: str, opening: re.Match[str]) -> int:
    mark = opening[0]
    if mark.startswith("-"):
        closing = _RULE.search(message, opening.end())
        return closing.end() if closing else len(message)
    end = message.find(mark, opening.end())
    return len(message) if end < 0 else end + len(mark)


def _closing_tags(message: str) -> dict[str, list[int]]:
    """Where each closing tag stands, by its name."""
    places: dict[str, list[int]] = {}
    for tag in _CLOSING_TAG.finditer(message):
        places.setdefault(tag[1], []).append(tag.start())
    return places


def _element_end(message: str, start: int, tags: dict[str, list[int]]) -> int:
    """Where the element that begins here ends; 0 for a tag that nothing closes. A name may be closed by its beginning."""
    opening = _TAG.match(message, start) if tags else None
    if opening is None:
        return 0
    name, inside = opening[1], opening.end()
    for size in range(len(name), max(0, inside - start - _ATTRIBUTES - 3), -1):
        places = tags.get(name[:size], [])
        at = bisect_left(places, inside)
        if at < len(places) and places[at] - inside <= _ELEMENT:
            return places[at] + size + 3
    return 0


_OPENS: Final = re.compile(r"[\"“]|(?<![\w'])'(?=[A-Z])")
_CLOSES: Final = {
    '"': re.compile(r"[\"\n]"),
    "“": re.compile(r"[”\n]"),
    "'": re.compile(r"'(?!\w)|\n"),
}
_LONG_QUOTE: Final = 12
"""So long is what somebody says; a shorter quotation is a title or a word."""


def quotes(message: str) -> Iterator[tuple[int, int]]:
    """Quotations within a line; a short one in double quotes only where a colon announces it."""
    open_until = dict.fromkeys(QUOTE_MARKS, 0)
    at = 0
    while found := _OPENS.search(message, at):
        mark, at = found[0], found.end()
        if found.start() < open_until[mark]:
            continue
        closing = _CLOSES[mark].search(message, at + (mark == "'"))
        if closing is None or closing[0] == "\n":
            open_until[mark] = closing.end() if closing else len(message)
        elif mark == "'" or _is_said(message, found.start(), closing.start()):
            at = closing.end()
            yield found.start(), at


def _is_said(message: str, start: int, end: int) -> bool:
    size = end - start - 1
    return size >= _LONG_QUOTE or (size > 0 and message[start] == '"' and message.endswith(": ", 0, start))
