"""The part of a long text that is shown: the one around what was asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from retain.core.text.analyze import terms
from retain.core.text.words import UNSPACED

EXCERPT_CHARS: Final = 220
_BEFORE_MATCH: Final = 60
_START: Final = 2  # so many letters of an English word are those of its stem
_SPACED: Final = re.compile(r"\S+")


def excerpt(text: str, match: int = 0) -> str:
    """The beginning of a text on one line, or the part around a match that stands further on."""
    short = one_line(text)
    if len(short) <= EXCERPT_CHARS:
        return short
    at = len(one_line(text[:match]))
    if at + _BEFORE_MATCH < EXCERPT_CHARS:
        return f"{short[:EXCERPT_CHARS]}\u2026"
    start = min(at - _BEFORE_MATCH, len(short) - EXCERPT_CHARS)
    end = "\u2026" if start + EXCERPT_CHARS < len(short) else ""
    return f"\u2026{short[start : start + EXCERPT_CHARS]}{end}"


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def place_of(text: str, words: Collection[str]) -> int:
    """Where most of these analysed words stand close together, so that an excerpt shows them; 0 when none is there."""
    if len(text) <= EXCERPT_CHARS:
        return 0
    found = list(_found(text, frozenset(words)))
    near: Counter[str] = Counter()
    best = most = end = different = 0
    for start, word in found:
        while end < len(found) and found[end][0] < start + EXCERPT_CHARS - _BEFORE_MATCH:
            different += not near[found[end][1]]
            near[found[end][1]] += 1
            end += 1
        if different > most:
            best, most = start, different
        near[word] -= 1
        different -= not near[word]
    return best


def _found(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Each place where one of the words stands; of a script without blanks, where one or two characters are one."""
    letters, starts = frozenset("".join(words)), {word[:_START] for word in words}
    for piece in (_SPACED if text.isascii() else _pieces()).finditer(text):
        at, said = piece.start(), piece[0]
        if said.isascii():
            low = said.lower()
            if not any(start in low for start in starts):  # spares most words the analysis
                continue
        elif len(said) == 1:
            said = text[at : at + 2] if said in letters else ""
        yield from ((at, term) for term in terms(said) if term in words)


@cache
def _pieces() -> re.Pattern[str]:
    """For texts beyond ASCII; compiled when the first one comes, because that takes a while."""
    return re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
