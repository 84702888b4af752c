"""Text on a terminal: how wide it is, how it is cut into lines, and what must not get there as it is."""

from __future__ import annotations

import unicodedata
from typing import Final

_NEVER: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They turn the reading direction of everything after them, so that a text could look like another one.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def harmless(text: str) -> str:
    """One line in which control characters are shown instead of obeyed: a memory may hold anything."""
    joined = " ".join(text.split())
    return joined if joined.isascii() and joined.isprintable() else "".join(map(_shown, joined))


def _shown(char: str) -> str:
    if unicodedata.category(char) in _NEVER or char in _TURNING:
        return char.encode("unicode_escape").decode()
    return char


def width(text: str) -> int:
    """How many columns a text takes: two for wide characters, none for those that combine."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """A text filled up with blanks."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, columns: int, most: int | None = None) -> list[str]:
    """Lines of at most so many columns, broken between words where possible; ``most`` lines end with an ellipsis."""
    lines = [""]
    for word in text.split(" "):
        rest = word
        if lines[-1] and width(lines[-1]) + 1 + width(rest) <= columns:
            lines[-1] += " " + rest
            continue
        while width(rest) > columns:
            head = _fitting(rest, columns)
            lines.append(head)
            rest = rest[len(head) :]
        lines.append(rest)
    kept = [line for line in lines if line] or [""]
    if most is None or len(kept) <= most:
        return kept
    return [*kept[: most - 1], _fitting(kept[most - 1], columns - 1) + "…"]


def _fitting(text: str, columns: int) -> str:
    """The longest beginning that fits, at least one character."""
    used = 0
    for at, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return text[: max(1, at)]
    return text
