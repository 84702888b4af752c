"""Where a quote stands in what was said, letter by letter or nearly so, and which words say a statement."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from memstone.language.text.tokens import document_terms, query_terms

MAX_SPAN_CHARS: Final = 1_000
_MAX_TERMS: Final = 128

_QUOTES: Final = (
    '"\u00b4`\u00ab\u00bb\u02bc\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a\u300c\u300d\u300e\u300f'
)
_MARKS: Final = str.maketrans(dict.fromkeys(_QUOTES, "'") | dict.fromkeys("\u2010\u2011\u2013\u2014\u2212", "-"))
_WORD: Final = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
_BLACK: Final = re.compile(r"\S+")
_LEFT_OUT: Final = re.compile(r"(?:(?<!\s)\s++)?(?:\.{3,}+|…|\[(?:\.{3}|…)\])\s*+")
_NUMBER: Final = re.compile(r"\d+")
_EDGES: Final = " '.,;:!?…-()[]*_"
_FIRST_UNSPACED: Final = "\u0e00"  # Thai; then come the scripts of South-East and East Asia


@dataclass(frozen=True)
class Source:
    """A text that statements are looked for in; what is worked out about it is kept."""

    text: str

    def find(self, quote: str) -> tuple[int, int] | None:
        """Where the quoted words stand first; several pieces with dots between them have to follow one another."""
        return next(self.places(quote), None)

    def places(self, quote: str) -> Iterator[tuple[int, int]]:
        """Everywhere the quoted words stand, in order."""
        pieces = [words for piece in _LEFT_OUT.split(quote) if (words := _normalize_quote(piece))]
        start = self._whole(pieces[0], 0) if pieces else -1
        while start >= 0:
            end = start + len(pieces[0])
            for words in pieces[1:]:
                found = self._whole(words, end)
                if found < 0:
                    return
                end = found + len(words)
            yield self._place(start), self._place(end - 1) + 1
            start = self._whole(pieces[0], start + 1)

    def _whole(self, words: str, at: int) -> int:
        """Where the words stand as words: "tea" does not stand in "steak"."""
        found = self._flat.find(words, at)
        while found >= 0 and (_is_inside_word(self._flat, found) or _is_inside_word(self._flat, found + len(words))):
            found = self._flat.find(words, found + 1)
        return found

    def nearest(self, quote: str) -> tuple[float, int, int]:
        """Return how much of a quote stands together here, from 0 to 1, and from where to where.

        Pairs of characters are counted in a window as long as the quote, so that a typo costs little in any script. The
        time taken grows with the length of the text and not faster.
        """
        wanted = _character_pairs(_normalize_quote(quote))
        text = self._flat
        if not wanted or len(text) < _SHORTEST:
            return 0.0, 0, 0
        width = min(len(wanted), len(text) - 1)
        left, hits, best, at = Counter(wanted), 0, -1, 0
        for end, pair in enumerate(_character_pairs(text)):
            hits += left[pair] > 0
            left[pair] -= 1
            if end >= width:
                gone = text[end - width : end - width + 2]
                left[gone] += 1
                hits -= left[gone] > 0
            if hits > best:
                best, at = hits, max(0, end - width + 1)
        start, stop = self._whole_words(at, min(at + width + 1, len(text)))
        return best / len(wanted), self._place(start), self._place(stop - 1) + 1

    def _whole_words(self, start: int, end: int) -> tuple[int, int]:
        """The stretch without what is left of words that it cuts off at its edges, unless nothing else is in it."""
        first, last = start, end
        while first < last and (_is_inside_word(self._flat, first) or self._flat[first].isspace()):
            first += 1
        while last > first and (_is_inside_word(self._flat, last) or self._flat[last - 1].isspace()):
            last -= 1
        return (first, last) if last > first else (start, end)

    def locate(self, wanted: frozenset[str]) -> tuple[int, int] | None:
        """The shortest stretch that holds all of the wanted terms that stand here at all."""
        hits = [(place, found) for place, found in self._positions if found & wanted]
        present = frozenset(term for _, found in hits for term in found & wanted)
        return _shortest_span(hits, present) if present else None

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of the text in the form in which words are compared."""
        return frozenset(document_terms(self.text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The whole numbers in the text."""
        return frozenset(_NUMBER.findall(self.text))

    @cached_property
    def _positions(self) -> list[tuple[tuple[int, int], frozenset[str]]]:
        return [(word.span(), frozenset(document_terms(word[0]))) for word in _WORD.finditer(self.text)]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [word.span() for word in _BLACK.finditer(self.text)]

    @cached_property
    def _flat(self) -> str:
        return " ".join(_fold_word(self.text[start:end]) for start, end in self._words)

    @cached_property
    def _flat_starts(self) -> list[int]:
        starts, at = [], 0
        for start, end in self._words:
            starts.append(at)
            at += end - start + 1
        return starts

    def _place(self, at: int) -> int:
        """The place in the text of a place in its flat form."""
        number = bisect_right(self._flat_starts, at) - 1
        return self._words[number][0] + at - self._flat_starts[number]


def _shortest_span(
    hits: Sequence[tuple[tuple[int, int], frozenset[str]]], wanted: frozenset[str]
) -> tuple[int, int] | None:
    seen: Counter[str] = Counter()
    best: tuple[int, int] | None = None
    first = 0
    for (_, end), found in hits:
        seen.update(found & wanted)
        while len(seen) == len(wanted):
            start = hits[first][0][0]
            if best is None or end - start < best[1] - best[0]:
                best = (start, end)
            seen -= Counter(dict.fromkeys(hits[first][1] & wanted, 1))
            first += 1
    return best if best is not None and best[1] - best[0] <= MAX_SPAN_CHARS else None


def content_terms(statement: str, leave_out: Iterable[str] = ()) -> frozenset[str]:
    """What a statement is about, in the form in which words are compared; ``leave_out`` are words that do not count."""
    ignored = {term for word in leave_out for term in document_terms(word)}
    return frozenset(query_terms(statement, _MAX_TERMS)) - ignored


_SHORTEST: Final = 2


def _character_pairs(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(len(text) - 1)]


def _normalize_quote(quote: str) -> str:
    return " ".join(_fold_word(word) for word in quote.split()).strip(_EDGES)


def _is_inside_word(text: str, at: int) -> bool:
    """Whether a place is inside a word; scripts without blanks can be cut anywhere."""
    around = text[max(0, at - 1) : at + 1]
    return 0 < at < len(text) and around.isalnum() and max(around) < _FIRST_UNSPACED


def _fold_word(word: str) -> str:
    """One form of quotation marks and case, with as many characters as before."""
    marked = word.translate(_MARKS)
    lowered = marked.lower()
    return lowered if len(lowered) == len(marked) else marked
