"""Check a fact against its conversation: verified, doubtful, or unrelated.

The quote is looked for in the turns that the model names, then in those beside them, then everywhere, and a typo that
the model has mended does no harm. What is found counts unless something speaks against it: a number that nobody said,
the opposite of what was said, somebody else's affairs, a name out of nothing. All of it works in any language; where a
list of words is needed, it holds those of several, and what it does not know speaks for the model.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from memstone.language.language import Language
from memstone.language.text.dates import TimeRef
from memstone.language.text.numbers import unsaid_numbers
from memstone.language.text.statements import (
    DENIALS,
    begins_in_another,
    clause_at,
    is_denied,
    is_of_the_speaker,
    parts_of,
)
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.message import Message

# --- whether a conversation supports what a model says of it ---------------------------------------------------------


NUMBER: Final = "it has a number that nobody said"
OPPOSITE: Final = "the opposite was said"
SOMEBODY_ELSE: Final = "it was said of somebody else"
NAME: Final = "it has a name that nobody said"
NO_QUOTE: Final = "its quote is not in the conversation"
NOTHING: Final = "it shares nothing with the conversation"

_SPOKEN: Final = ("user", "assistant")
_SUBJECTS: Final = ("user", "agent", "assistant", "users")
_ALIKE: Final = 0.7
"""So much of a quote has to stand together to be found."""

_LONG: Final = 6
"""A quote of fewer characters is found letter by letter or not at all."""

_MOST: Final = 0.5
"""So many words of a statement without a quote have to be in a turn that is to show it."""

_SAME: Final = 0.8
"""A sentence that has so many words of a statement mentions the same."""

_MIN_SHARED_WORDS: Final = 0.6
"""So many words of a new wording have to be in what it is made of."""

_PREFIX: Final = 4
_KINDRED: Final = 0.6


@dataclass(frozen=True, slots=True)
class Support:
    """Where a statement was said: turn (from 1), ``start`` and ``end``; ``doubt`` is what speaks against it."""

    turn: int
    start: int
    end: int
    doubt: str = ""


@dataclass(frozen=True)
class Conversation:
    """The turns that an answer is checked against; system and tool text is never evidence.

    ``before`` was said earlier and ``known`` is remembered: neither is where a statement was said, but names and
    numbers may come from there. ``now`` is when the conversation took place.
    """

    turns: Sequence[Message]
    before: Sequence[Message] = ()
    known: Sequence[str] = ()
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    withheld: Sequence[str] = ()
    language: Language = field(kw_only=True)

    def support(self, fact: str, quote: str, named: Sequence[int] = (), *, about_user: bool = True) -> Support | None:
        """Return where a statement was said, and what speaks against it.

        None: it shares nothing with the conversation.
        """
        place = self.place(fact, quote, named)
        if place is None:
            if not self._shares(fact):
                return None
            at = self.carrier(named)
            return Support(at, 0, len(self.turns[at - 1].text), NO_QUOTE) if at else None
        number, start, end = place
        return Support(number, start, end, self._doubt(fact, place, named, about_user=about_user))

    def is_withheld(self, fact: str) -> bool:
        """Return whether a statement has words that occur only in text withheld from the model."""
        hidden = (
            frozenset(term for text in self.withheld for term in document_terms(text)) if self.withheld else frozenset()
        )
        return any(
            one in hidden and not _is_term_in(one, self._all.terms) for one in content_terms(fact, self._subjects)
        )

    def place(self, fact: str, quote: str, named: Sequence[int] = ()) -> tuple[int, int, int] | None:
        """Return the turn and the position of the quote, or of the statement's own words."""
        return self._find_quote(quote, named) or self._find_by_words(fact, named)

    def carrier(self, named: Sequence[int]) -> int:
        """Return the turn to which a statement is attributed; 0 if nobody spoke."""
        near = [one for one in self._near(named) if one in named]
        users = [one for one in self._spoken_turn_numbers if self.turns[one - 1].role == "user"]
        return next(iter([*near, *reversed(users), *reversed(self._spoken_turn_numbers)]), 0)

    def bears_out(self, text: str, *more: str) -> bool:
        """Return whether a new wording contains only what is known, what was said, and ``more``."""
        source = Source("\n".join([*more, self._all.text]))
        wanted = content_terms(text, self._subjects)
        texts = [one for one in wanted if _is_term_in(one, source.terms)]
        if self._unsaid_numbers(text, source.text, self._spoken_source.text or source.text):
            return False
        return not wanted or len(texts) >= _MIN_SHARED_WORDS * len(wanted)

    # --- where it is ----------------------------------------------------------------------------------------------

    def _find_quote(self, quote: str, named: Sequence[int]) -> tuple[int, int, int] | None:
        """Return the quote in a named turn, in its neighbours, or in any turn.

        What was said before a turn stands in for it.
        """
        near = self._near(named)
        for numbers in (near, [one for one in self._spoken_turn_numbers if one not in near]):
            found = self._exactly(quote, numbers) or self._almost(quote, numbers)
            if found is not None:
                return found
        earlier = Source("\n".join(message.text for message in self.before))
        at = self.carrier(named)
        if at and _is_in(quote, earlier):
            return at, 0, len(self.turns[at - 1].text)
        return None

    def _exactly(self, quote: str, numbers: Iterable[int]) -> tuple[int, int, int] | None:
        for number in numbers:
            span = self._sources[number].find(quote)
            if span is not None:
                return number, *span
        return None

    def _almost(self, quote: str, numbers: Iterable[int]) -> tuple[int, int, int] | None:
        if len(quote) < _LONG:
            return None
        found = [(*self._sources[number].nearest(quote), number) for number in numbers]
        score, start, end, number = max(found, key=lambda one: one[0], default=(0.0, 0, 0, 0))
        return (number, start, end) if score >= _ALIKE else None

    def _find_by_words(self, fact: str, named: Sequence[int]) -> tuple[int, int, int] | None:
        """Return the turn that shares most words with a statement, if it shares enough."""
        wanted = content_terms(fact, self._subjects)
        near = self._near(named)
        best: tuple[float, int] = (0.0, 0)
        for number in [*near, *(one for one in self._spoken_turn_numbers if one not in near)]:
            share = _matched_share(wanted, self._sources[number].terms)
            if share > best[0]:
                best = share, number
        if best[0] < _MOST:
            return None
        span = self._sources[best[1]].locate(wanted) or (0, len(self.turns[best[1] - 1].text))
        return best[1], *span

    def _near(self, named: Sequence[int]) -> list[int]:
        """Return the named turns, then their neighbours.

        What the user said comes before the assistant's words.
        """
        spoken = set(self._spoken_turn_numbers)
        own = [one for one in named if one in spoken]
        own.sort(key=lambda one: self.turns[one - 1].role != "user")
        beside = [at for one in own for at in (one - 1, one + 1) if at in spoken]
        return list(dict.fromkeys([*own, *beside]))

    # --- what speaks against it ---------------------------------------------------------------------------------------

    def _doubt(self, fact: str, place: tuple[int, int, int], named: Sequence[int], *, about_user: bool) -> str:
        number, start, end = place
        turn = self.turns[number - 1].text
        clause = clause_at(turn, start, end)
        if self._unsaid_numbers(fact, self._all.text, "\n".join(self._words_near(number, named))):
            return NUMBER
        if self._is_opposite(fact, clause):
            return OPPOSITE
        if about_user and self._is_of_another(fact, clause, self.turns[number - 1].role):
            return SOMEBODY_ELSE
        return NAME if self.language.names.list_unsaid(fact, self._all.text, self._subjects) else ""

    def _is_of_another(self, fact: str, clause: str, role: str) -> bool:
        texts = self._closest(fact, clause)
        if role == "assistant":
            return any(map(is_of_the_speaker, texts))
        return all(begins_in_another(fact, part, clause) for part in texts)

    def _closest(self, fact: str, clause: str) -> list[str]:
        """Return the parts of a text that share most words with a statement."""
        wanted = content_terms(fact, [*self._subjects, *DENIALS])
        shares = [(part, _matched_share(wanted, frozenset(document_terms(part)))) for part in parts_of(clause)]
        most = max((share for _, share in shares), default=0.0)
        return [part for part, share in shares if share == most > 0] or [clause]

    def _words_near(self, number: int, named: Sequence[int]) -> Iterator[str]:
        return (self.turns[one - 1].text for one in self._near([number, *named]))

    def _is_opposite(self, fact: str, clause: str) -> bool:
        """Return whether a clause denies what is stated, or states what is denied."""
        wanted = content_terms(fact, [*self._subjects, *DENIALS])
        if not wanted or _matched_share(wanted, frozenset(document_terms(clause))) < _SAME:
            return False
        own = {is_denied(part) for part in parts_of(fact)}
        return len(own) == 1 and own != {any(map(is_denied, self._closest(fact, clause)))}

    def _shares(self, fact: str) -> bool:
        wanted = content_terms(fact, self._subjects)
        return any(_is_term_in(one, self._spoken_source.terms) for one in wanted)

    def _unsaid_numbers(self, text: str, sentence: str, near: str) -> list[str]:
        def resolve(answer_text: str) -> list[TimeRef]:
            return self.language.dates.find(answer_text, self.now, UTC)

        return unsaid_numbers(text, sentence, self.now, resolve, near, knows_words=self.language.reads(sentence))

    # --- what was said ------------------------------------------------------------------------------------------------

    @cached_property
    def _spoken_turn_numbers(self) -> list[int]:
        answer = ((at, turn) for at, turn in enumerate(self.turns, 1) if turn.role in _SPOKEN and turn.text.strip())
        return [at for at, _ in sorted(answer, key=lambda one: one[1].role != "user")]

    @cached_property
    def _sources(self) -> dict[int, Source]:
        return {at: Source(self.turns[at - 1].text) for at in self._spoken_turn_numbers}

    @cached_property
    def _spoken_source(self) -> Source:
        texts = [self.turns[at - 1].text for at in self._spoken_turn_numbers]
        return Source("\n".join([*texts, *(message.text for message in self.before)]))

    @cached_property
    def _all(self) -> Source:
        names = [message.name for message in (*self.turns, *self.before) if message.name]
        return Source("\n".join([self._spoken_source.text, *self.known, *names]))

    @cached_property
    def _subjects(self) -> list[str]:
        """Words for the speakers, which are in the fact but not in what was said."""
        return [*_SUBJECTS, *(turn.name for turn in self.turns if turn.name)]


def is_comparable(text: str, sentence: str) -> bool:
    """Return whether a text shares anything with the conversation.

    In another script nobody can tell, and it may.
    """
    wanted, answer = content_terms(text, _SUBJECTS), Source(sentence).terms
    if any(_is_term_in(one, answer) for one in wanted):
        return True
    return not wanted or (bool(answer) and _is_latin(wanted) != _is_latin(answer))


def _is_latin(words: Iterable[str]) -> bool:
    letters = [char for word in words for char in word if char.isalpha()]
    return sum(char < _GREEK for char in letters) * 2 > len(letters)


_GREEK: Final = "\u0370"


def _is_in(quote: str, source: Source) -> bool:
    return source.find(quote) is not None or (len(quote) >= _LONG and source.nearest(quote)[0] >= _ALIKE)


def _matched_share(wanted: frozenset[str], words: frozenset[str]) -> float:
    return sum(_is_term_in(one, words) for one in wanted) / len(wanted) if wanted else 0.0


def _is_term_in(term: str, words: frozenset[str]) -> bool:
    """Return whether a word was said, in any form with the same stem."""
    if term in words:
        return True
    if len(term) < _PREFIX or not term[0].isalpha():
        return False
    stem = term[:_PREFIX]
    return any(one.startswith(stem) and _is_kindred(term, one) for one in words)


def _is_kindred(one: str, other: str) -> bool:
    shared = 0
    for own, others in zip(one, other, strict=False):
        if own != others:
            break
        shared += 1
    return shared >= _KINDRED * min(len(one), len(other))


# --- where a quote is in what was said, letter by letter or nearly so ---------------------------------------------


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
    """A text in which statements are looked for; results are cached."""

    text: str

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the first position of the quoted words.

        Several pieces with dots between them have to follow one another.
        """
        return next(self.places(quote), None)

    def places(self, quote: str) -> Iterator[tuple[int, int]]:
        """Yield every position of the quoted words, in order."""
        pieces = [words for piece in _LEFT_OUT.split(quote) if (words := _normalize_quote(piece))]
        start = self._find_whole_words(pieces[0], 0) if pieces else -1
        while start >= 0:
            end = start + len(pieces[0])
            for words in pieces[1:]:
                found = self._find_whole_words(words, end)
                if found < 0:
                    return
                end = found + len(words)
            yield self._place(start), self._place(end - 1) + 1
            start = self._find_whole_words(pieces[0], start + 1)

    def _find_whole_words(self, words: str, at: int) -> int:
        """Return the position of whole words: "tea" is not in "steak"."""
        found = self._flat.find(words, at)
        while found >= 0 and (_is_inside_word(self._flat, found) or _is_inside_word(self._flat, found + len(words))):
            found = self._flat.find(words, found + 1)
        return found

    def nearest(self, quote: str) -> tuple[float, int, int]:
        """Return how much of a quote is found here, from 0 to 1, and its position.

        Pairs of characters are counted in a window as long as the quote, so that a typo costs little in any script. The
        time taken grows with the length of the text and not faster.
        """
        wanted = _character_pairs(_normalize_quote(quote))
        text = self._flat
        if not wanted or len(text) < _SHORTEST_TERM:
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
        """Return a passage without partial words at its edges."""
        first, last = start, end
        while first < last and (_is_inside_word(self._flat, first) or self._flat[first].isspace()):
            first += 1
        while last > first and (_is_inside_word(self._flat, last) or self._flat[last - 1].isspace()):
            last -= 1
        return (first, last) if last > first else (start, end)

    def locate(self, wanted: frozenset[str]) -> tuple[int, int] | None:
        """Return the shortest passage with all wanted terms that occur here."""
        hits = [(place, found) for place, found in self._positions if found & wanted]
        present = frozenset(term for _, found in hits for term in found & wanted)
        return _shortest_span(hits, present) if present else None

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of the text, in comparable form."""
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
        """Return the position in the text for a position in its folded form."""
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
    """Return the significant words of a statement, in comparable form.

    ``leave_out`` are words that do not count.
    """
    ignored = {term for word in leave_out for term in document_terms(word)}
    return frozenset(query_terms(statement, _MAX_TERMS)) - ignored


_SHORTEST_TERM: Final = 2


def _character_pairs(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(len(text) - 1)]


def _normalize_quote(quote: str) -> str:
    return " ".join(_fold_word(word) for word in quote.split()).strip(_EDGES)


def _is_inside_word(text: str, at: int) -> bool:
    """Return whether a position is inside a word; scripts without spaces can be cut anywhere."""
    around = text[max(0, at - 1) : at + 1]
    return 0 < at < len(text) and around.isalnum() and max(around) < _FIRST_UNSPACED


def _fold_word(word: str) -> str:
    """Fold quotation marks and case, without changing the number of characters."""
    marked = word.translate(_MARKS)
    lowered = marked.lower()
    return lowered if len(lowered) == len(marked) else marked
