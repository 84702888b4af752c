"""Find words that a pattern cannot match without, to skip it quickly.

Looking for a short string in a text is many times cheaper than trying a pattern at each of its letters, and most
patterns match few texts. So a pattern that has such clues is tried only on a text that holds one. A pattern that is
written in a way not understood here has no clues and is always tried: what matches is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

# --- words a pattern cannot match without, read off the pattern itself ------------------------------------------------


_NONE: Final[frozenset[str]] = frozenset()
_SHORTEST: Final = 2
_PARTS: Final = re.compile(
    r"(?P<skipped>\(\?<?[=!])|(?P<group>\((?:\?(?:-i)?:|\?P<\w+>|(?!\?)))|(?P<strange>\()|(?P<end>\))|(?P<bar>\|)"
    r"|(?P<counted>(?:[*+?]|\{\d*(?:,\d*)?\})[?+]?)|(?P<edge>\\[bBAZ]|[$^])|(?P<any>\\[wWdDsS]|\.|\[\^?\]?(?:\\.|[^]\\])*\])"
    r"|\\(?P<escaped>[^\w])|(?P<letter>[^\\])",
    re.DOTALL,
)


@dataclass(slots=True)
class CluedPattern:
    """A compiled pattern that is tried only on a text with one of its clues."""

    pattern: re.Pattern[str]
    clues: tuple[str, ...]
    folds: bool

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match."""
        return self.pattern.search(text) if self.may_match(text) else None

    def match(self, text: str) -> re.Match[str] | None:
        """Return a match at the start."""
        return self.pattern.match(text) if self.may_match(text) else None

    def sub(self, replacement: str, text: str) -> str:
        """Return the text with every match replaced."""
        return self.pattern.sub(replacement, text) if self.may_match(text) else text

    def may_match(self, text: str) -> bool:
        """Return whether a text holds a clue, or the pattern has none."""
        if self.folds:
            if not text.isascii():  # some letters of other scripts count as "i" or "s" where case does not matter
                return True
            text = text.lower()
        return is_possible(text, self.clues)


def is_possible(text: str, clues: tuple[str, ...]) -> bool:
    """Return whether what has these clues can match a text: it holds one of them, or there are none."""
    for clue in clues:  # twice as fast as any() over a generator
        if clue in text:
            return True
    return not clues


def compile_with_clues(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> CluedPattern:
    """Return a pattern, compiled, with its clues."""
    compiled = re.compile(pattern, flags)
    return CluedPattern(compiled, tuple(sorted(clues_of(compiled))), folds=bool(compiled.flags & re.IGNORECASE))


def clues_of(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return strings of which every match holds one or more, in lower case if case does not matter; none if unknown."""
    if pattern.flags & re.VERBOSE:
        return _NONE
    try:
        clues = _Reader(pattern.pattern).read()
    except _Strange:
        return _NONE
    return frozenset(map(str.lower, clues)) if pattern.flags & re.IGNORECASE else clues


class _Strange(Exception):
    """Something in a pattern that is not understood."""


@dataclass(slots=True)
class _Branch:
    """One alternative: the literal text being read, and the clues of what was read before."""

    literal: str = ""
    found: list[frozenset[str]] = field(default_factory=list)

    def close(self) -> None:
        """End the literal text here."""
        if len(self.literal) >= _SHORTEST:
            self.found.append(frozenset({self.literal}))
        self.literal = ""

    def best(self) -> frozenset[str]:
        """Return the most telling clues: those with most letters in the poorest of them, then the fewest."""
        self.close()
        return max(self.found, key=lambda clues: (min(map(_count_letters, clues)), -len(clues)), default=_NONE)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def read(self) -> frozenset[str]:
        clues = self._alternatives()
        if self._at < len(self._pattern):
            raise _Strange
        return clues

    def _next(self) -> tuple[str, str]:
        """Return the kind and text of the next part; ('', '') at the end."""
        if self._at == len(self._pattern):
            return "", ""
        found = _PARTS.match(self._pattern, self._at)
        if found is None:
            raise _Strange
        self._at = found.end()
        kind = found.lastgroup or ""
        return kind, found[kind]

    def _alternatives(self) -> frozenset[str]:
        """Return one clue of each alternative up to the end of the group or pattern, or none at all."""
        branches = [_Branch()]
        while True:
            kind, text = self._next()
            if kind in ("", "end"):
                every = [branch.best() for branch in branches]
                return (
                    frozenset(_drop_redundant_clues({clue for clues in every for clue in clues}))
                    if all(every)
                    else _NONE
                )
            if kind == "bar":
                branches.append(_Branch())
            elif kind in _READ:
                _READ[kind](self, branches[-1], text)
            else:
                raise _Strange

    def _is_optional(self) -> bool | None:
        """Return whether the part just read may be missing; None where nothing counts it."""
        at = self._at
        kind, text = self._next()
        if kind != "counted":
            self._at = at
            return None
        return text[0] in "*?" or text.startswith(("{0", "{,"))

    def letter(self, branch: _Branch, text: str) -> None:
        optional = self._is_optional()
        if optional is None:
            branch.literal += text
            return
        if not optional:
            branch.literal += text
        branch.close()

    def group(self, branch: _Branch, text: str) -> None:
        del text
        branch.close()
        clues = self._alternatives()
        if not self._is_optional() and clues:
            branch.found.append(clues)

    def skip_branch(self, branch: _Branch, text: str) -> None:
        """Skip what is only looked at beside a match: it says nothing of the match, and takes no letter of it."""
        del text
        branch.close()
        self._alternatives()

    def gap(self, branch: _Branch, text: str) -> None:
        """Read a letter that can be many."""
        del text
        self._is_optional()
        branch.close()

    def edge(self, branch: _Branch, text: str) -> None:
        """Read a place between letters: the literal text goes on behind it."""


_READ: Final[dict[str, Callable[[_Reader, _Branch, str], None]]] = {
    "letter": _Reader.letter,
    "escaped": _Reader.letter,
    "group": _Reader.group,
    "skipped": _Reader.skip_branch,
    "any": _Reader.gap,
    "edge": _Reader.edge,
}


def _count_letters(clue: str) -> int:
    return sum(map(str.isalpha, clue))


def _drop_redundant_clues(clues: Iterable[str]) -> list[str]:
    """Remove clues that hold another one."""
    remaining: list[str] = []
    for clue in sorted(set(clues), key=len):
        if not any(shorter in clue for shorter in remaining):
            remaining.append(clue)
    return remaining
