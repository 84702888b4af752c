"""The part of a long text that is shown: the one around what was asked for."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Final

from memstone.core.text.analyze import terms
from memstone.core.text.words import UNSPACED

EXCERPT_CHARS: Final = 220
_BEFORE_MATCH: Final = 60
_START: Final = 2  # so many letters of an English word are those of its stem
_LOOKED: Final = 100_000
"""So many characters of a text are looked through; what it says behind them is found all the same, and not shown."""

_BLANKS: Final = {ord(blank): " " for blank in "\t\n\r\v\f\x1c\x1d\x1e\x1f"}


def excerpt(text: str, match: int = 0, chars: int = EXCERPT_CHARS) -> str:
    """The beginning of a text on one line, or the part around a match that stands further on."""
    short = one_line(text)
    if len(short) <= chars:
        return short
    at = len(one_line(text[:match]))
    if at + _BEFORE_MATCH < chars:
        return f"{short[:chars]}\u2026"
    start = min(at - _BEFORE_MATCH, len(short) - chars)
    end = "\u2026" if start + chars < len(short) else ""
    return f"\u2026{short[start : start + chars]}{end}"


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def place_of(text: str, words: Collection[str]) -> int:
    """Where most of these analysed words stand close together, so that an excerpt shows them; 0 when none is there."""
    if len(text) <= EXCERPT_CHARS or not words:
        return 0
    wanted, near, close = frozenset(words), Counter[str](), deque[tuple[int, str]]()
    best = most = 0
    for at, word in _found(text[:_LOOKED], wanted):
        while close and close[0][0] <= at - (EXCERPT_CHARS - _BEFORE_MATCH):
            left = close.popleft()[1]
            near[left] -= 1
            if not near[left]:
                del near[left]
        close.append((at, word))
        near[word] += 1
        if len(near) > most:
            best, most = close[0][0], len(near)
            if most == len(wanted):
                break
    return best


def _found(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Each place where one of the words stands; of a script without blanks, where one or two characters are one."""
    known: dict[str, list[str]] = {}  # a long text says most of its words many times
    for at, said in (_plain if text.isascii() else _mixed)(text, words):
        here = known.get(said)
        if here is None:  # of something endless an excerpt shows the beginning
            here = known[said] = [term for term in dict.fromkeys(terms(said[:EXCERPT_CHARS])) if term in words]
        for term in here:
            yield at, term


def _plain(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """What stands between blanks and may be one of the words, because it holds how one begins."""
    low, end = text.lower().translate(_BLANKS), 0
    for start in _starts(words).finditer(low):
        if start.start() >= end:
            begin, end = low.rfind(" ", end, start.start()) + 1 or end, low.find(" ", start.start())
            end = len(text) if end < 0 else end
            yield begin, text[begin:end]


def _mixed(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The same of a text beyond ASCII, with all that has an accent; and the pairs of scripts without blanks."""
    letters, starts = frozenset("".join(words)), _starts(words)
    for piece in _pieces(letters).finditer(text):
        at, said = piece.start(), piece[0]
        if said.isascii():
            if starts.search(said.lower()):
                yield at, said
        elif len(said) > 1:
            yield at, said
        elif said in letters:
            yield at, text[at : at + 2]


@lru_cache(maxsize=8)  # one question is looked for in many texts
def _starts(words: frozenset[str]) -> re.Pattern[str]:
    """Finds how one of the words begins."""
    return re.compile("|".join(sorted({re.escape(word[:_START]) for word in words})))


@lru_cache(maxsize=8)
def _pieces(letters: frozenset[str]) -> re.Pattern[str]:
    """For texts beyond ASCII: what stands between blanks and, of the scripts without any, the characters asked for."""
    single = "".join(sorted(letter for letter in letters if not letter.isascii() and _unspaced().match(letter)))
    return re.compile(rf"[{single}]|{_between()}" if single else _between())


@cache
def _unspaced() -> re.Pattern[str]:
    """Compiled when the first text beyond ASCII comes, because that takes a while."""
    return re.compile(f"[{UNSPACED}]")


def _between() -> str:
    return rf"[^\s{UNSPACED}]+"
