"""Where in a conversation a statement was said: evidence or nothing.

A model quotes almost, not exactly: other quotation marks, other white space, other case, dots for what it left out.
Those do not count; everything else does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Final, Literal

from memstone.core.entities.names import names_in, unknown_names
from memstone.core.talk.asked import only_asked
from memstone.core.text.analyze import query_terms, terms
from memstone.model.message import Message

MIN_SHARE: Final = 0.6
"""How much of a statement has to stand in a text that is to support it."""

MIN_QUOTE_WORDS: Final = 3
"""So many words are evidence even when the fact says it in words of its own."""

MAX_SPAN_CHARS: Final = 1_000
_SUBJECTS: Final = ("user", "agent", "assistant")
_MAX_TERMS: Final = 128
_MAX_PLACES: Final = 20

_QUOTES: Final = (
    '"\u00b4`\u00ab\u00bb\u02bc\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a\u300c\u300d\u300e\u300f'
)
_MARKS: Final = str.maketrans(dict.fromkeys(_QUOTES, "'") | dict.fromkeys("\u2010\u2011\u2013\u2014\u2212", "-"))
_WORD: Final = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
_BLACK: Final = re.compile(r"\S+")
_LEFT_OUT: Final = re.compile(r"\s*(?:\.{3,}|…|\[(?:\.{3}|…)\])\s*")
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
        pieces = [words for piece in _LEFT_OUT.split(quote) if (words := _plain(piece))]
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
        while found >= 0 and (_cuts(self._flat, found) or _cuts(self._flat, found + len(words))):
            found = self._flat.find(words, found + 1)
        return found

    def locate(self, wanted: frozenset[str]) -> tuple[int, int] | None:
        """The shortest stretch that holds all of the wanted terms that stand here at all."""
        hits = [(place, found) for place, found in self._positions if found & wanted]
        present = frozenset(term for _, found in hits for term in found & wanted)
        return _shortest(hits, present) if present else None

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of the text in the form in which words are compared."""
        return frozenset(terms(self.text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The whole numbers in the text."""
        return frozenset(_NUMBER.findall(self.text))

    @cached_property
    def _positions(self) -> list[tuple[tuple[int, int], frozenset[str]]]:
        return [(word.span(), frozenset(terms(word[0]))) for word in _WORD.finditer(self.text)]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [word.span() for word in _BLACK.finditer(self.text)]

    @cached_property
    def _flat(self) -> str:
        return " ".join(_folded(self.text[start:end]) for start, end in self._words)

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """Turn number ``turn``, counted from 1, from ``start`` to ``end``; found by a quote or by the fact's own words.

    ``asked`` when it stands nowhere but in questions.
    """

    turn: int
    start: int
    end: int
    found_by: Literal["quote", "words"]
    asked: bool = False


@dataclass(frozen=True)
class Conversation:
    """Turns that facts are held against; system and tool text is never evidence.

    ``before`` is what was said earlier: no evidence either, but it may have named who is meant.
    """

    turns: Sequence[Message]
    worded_roles: tuple[str, ...] = ("user",)
    before: Sequence[Message] = ()

    def evidence(self, fact: str, quote: str, turn: int | None) -> Evidence | None:
        """Where the quote stands and carries the fact; else where the fact's own words stand; a question only last."""
        asked: Evidence | None = None
        for found in chain(self._quoted(fact, quote, turn), self._worded(fact)):
            if not only_asked(self.turns[found.turn - 1].text, found.start, found.end):
                return found
            asked = asked or replace(found, asked=True)
        return asked

    def _quoted(self, fact: str, quote: str, named: int | None) -> Iterator[Evidence]:
        """In the turn that was named, else in one of the user's, else in one of the assistant's."""
        spoken = [*self._numbers("user"), *self._numbers("assistant")]
        for number in sorted(spoken, key=lambda number: number != named):
            for span in islice(self._sources[number].places(quote), _MAX_PLACES):
                if self._carries(number, span, fact):
                    yield Evidence(number, *span, "quote")

    def _carries(self, number: int, span: tuple[int, int], fact: str) -> bool:
        """By a word that quote and fact share, by the quote's length, or as the answer to what stands before it.

        Whatever carries it, a name that nobody has said does not come in.
        """
        turn = self.turns[number - 1].text
        quote = turn[slice(*span)]
        if content_terms(fact, self._subjects) & Source(quote).terms:
            return not unknown_names(fact, self._whole.text, self._subjects)
        if len(quote.split()) >= MIN_QUOTE_WORDS:
            return names_and_numbers_stand(fact, self._whole, self._subjects)
        before = self.turns[number - 2].text if number > 1 else ""
        return supported(fact, Source(f"{before}\n{turn}"), self._subjects)

    def _worded(self, fact: str) -> Iterator[Evidence]:
        wanted = content_terms(fact, self._subjects)
        for number in self._numbers(*self.worded_roles):
            source = self._sources[number]
            span = source.locate(wanted) if supported(fact, source, self._subjects) else None
            if span is not None:
                yield Evidence(number, *span, "words")

    def _numbers(self, *roles: str) -> list[int]:
        return [number for number, turn in enumerate(self.turns, 1) if turn.role in roles]

    @cached_property
    def _sources(self) -> dict[int, Source]:
        return {number: Source(turn.text) for number, turn in enumerate(self.turns, 1)}

    @cached_property
    def _whole(self) -> Source:
        said = [self.turns[number - 1].text for number in self._numbers("user", "assistant")]
        return Source("\n".join([*said, *(message.text for message in self.before)]))

    @cached_property
    def _subjects(self) -> list[str]:
        """Words for those who speak: they stand in the fact and not in what was said."""
        return [*_SUBJECTS, *(turn.name for turn in self.turns if turn.name)]


def _shortest(hits: Sequence[tuple[tuple[int, int], frozenset[str]]], wanted: frozenset[str]) -> tuple[int, int] | None:
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
    ignored = {term for word in leave_out for term in terms(word)}
    return frozenset(query_terms(statement, _MAX_TERMS)) - ignored


def supported(statement: str, source: Source, leave_out: Sequence[str] = ()) -> bool:
    """Whether a text holds most words of a statement, and all its numbers and names."""
    wanted = content_terms(statement, leave_out)
    if not wanted or len(wanted & source.terms) < MIN_SHARE * len(wanted):
        return False
    return names_and_numbers_stand(statement, source, leave_out)


def names_and_numbers_stand(statement: str, source: Source, leave_out: Sequence[str] = ()) -> bool:
    """Whether a text holds every number and every name of a statement."""
    names = {term for name in names_in(statement, leave_out) for term in content_terms(name)}
    return set(_NUMBER.findall(statement)) <= source.numbers and names <= source.terms


def _plain(quote: str) -> str:
    return " ".join(_folded(word) for word in quote.split()).strip(_EDGES)


def _cuts(text: str, at: int) -> bool:
    """Whether a place is inside a word; scripts without blanks can be cut anywhere."""
    around = text[max(0, at - 1) : at + 1]
    return 0 < at < len(text) and around.isalnum() and max(around) < _FIRST_UNSPACED


def _folded(word: str) -> str:
    """One form of quotation marks and case, with as many characters as before."""
    marked = word.translate(_MARKS)
    lowered = marked.lower()
    return lowered if len(lowered) == len(marked) else marked
