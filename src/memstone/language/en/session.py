"""Read a session sentence by sentence, and rate how informative each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstone.language.en.fact_text import strip_filler
from memstone.language.en.facts import KEEP
from memstone.language.en.names import names_in
from memstone.language.en.own_prose import is_english, own_sentences
from memstone.language.en.pieces import Piece, read_pieces
from memstone.language.en.sentences import expand_contractions, is_question
from memstone.language.en.verbs import finite_at, is_verb
from memstone.language.text.tokens import query_terms
from memstone.model.curator import Curator
from memstone.model.fact import Span
from memstone.model.message import Message

_SPOKEN: Final = ("user", "assistant")
_MOST_SENTENCES: Final = 2_000

_MOST_READ: Final = 60
"""So many turns of a session are read by the curator, the last ones."""

_MOST_WORDS: Final = 60
_LEAST_TERMS: Final = 3
_LEAST_WORDS: Final = 4

_SURELY_NOT: Final = 0.02
"""What is so little likely to be worth remembering is not, whatever else it may be."""

_FILLER: Final = frozenset({"mood", "smalltalk"})
_UNMEANT: Final = frozenset({"joke", "hypothetical"})

_MANY_TERMS: Final = 5
"""What says so much is told even where it may be a joke: the curator takes some news for one."""

_ORDERS: Final = frozenset({"task", "pasted"})

_LIGHT: Final = 0.5
"""So much counts what happened and is not worth keeping by itself, against what is."""

_IDLE_TERMS: Final = 8
_FRAGMENT_WORDS: Final = 12
_SUBJECTS: Final = frozenset("i we you he she it they".split())
_ORDINAL: Final = re.compile(r"(?<!\d)\d{1,2}\.$")
_TOLD_UNREAL: Final = re.compile(r"(?:if|imagine|suppose|pretend|what if|i wish)\b", re.IGNORECASE)


_STATEMENT_WORDS: Final = 3
_TO_SOMEBODY: Final = frozenset("please thanks thank let lets can could would ok okay sorry".split())
"""How something begins that is said to whoever listens."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it was said; ``terms`` are the words it is about."""

    text: str
    role: str
    name: str
    turn: int
    start: int
    end: int
    at: int
    terms: frozenset[str]
    names: frozenset[str]
    asks: bool = False
    weight: float = 1.0
    """How much it tells; what keeps the talk going, or only asks for something, tells nothing."""

    is_worth_keeping: bool = False
    """Whether the curator finds it worth remembering."""

    why: str = ""
    """What it is otherwise, as the curator has it; '' where nobody has read it."""

    @property
    def empty(self) -> bool:
        """Whether it tells nothing by itself."""
        return not self.weight

    @property
    def requests(self) -> bool:
        """Whether the user asks for something in it."""
        enough = self.role == "user" and len(self.text.split()) >= _LEAST_WORDS
        return enough and (self.why in _ORDERS or (self.asks and self.why in ("", "question")))

    @property
    def states(self) -> bool:
        """Whether it is a statement, worth keeping or not: somebody or something does what its verb says."""
        words = expand_contractions(self.text).lower().split()
        if self.asks or len(words) < _STATEMENT_WORDS or words[0].strip(".,!") in _TO_SOMEBODY or "you" in words:
            return False
        return words[0] in _SUBJECTS or finite_at(words) > 0

    @property
    def speaker(self) -> str:
        """Whose words these are."""
        return self.name or self.role.capitalize()

    @property
    def line(self) -> str:
        """The sentence with its speaker before it."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Talk:
    """The turns of a session, with what the curator says of each that it has read."""

    turns: Sequence[Message]
    speakers: Sequence[str]
    pieces: dict[int, list[Piece]] = field(default_factory=dict)


def read_session_sentences(turns: Sequence[Message], curator: Curator | None = None) -> list[Sentence]:
    """Return the sentences of a session, in order; code, quotes and what was pasted are left out."""
    return _build_sentences(
        _Talk(turns, [turn.name.casefold() for turn in turns if turn.name], _read_turn_pieces(turns, curator))
    )


def _build_sentences(talk: _Talk) -> list[Sentence]:
    found: list[Sentence] = []
    for number, turn in enumerate(talk.turns):
        if turn.role not in _SPOKEN or len(found) > _MOST_SENTENCES:
            continue
        for span in _join_fragments(turn.text, own_sentences(turn.text)):
            if any(letter.isalnum() for letter in span.text):
                found.append(_told_sentence(talk, span, number, len(found)))
    return found


def is_idle(message: Message, before: str, curator: Curator) -> bool:
    """Return whether the curator finds nothing to remember in a short message, and nothing that happened.

    A longer question or task often tells something on the way, and a message in two languages is hardly read.
    """
    if not message.text.isascii() or len(query_terms(message.text)) > _IDLE_TERMS:
        return False
    if not is_english(message.text):
        return False
    pieces = read_pieces(curator, message.text, before)
    if pieces and all(one.keep < _SURELY_NOT for one in pieces):
        return True
    sentences = _build_sentences(_Talk([message], (), {0: pieces}))
    return bool(sentences) and all(one.why and one.empty and not one.is_worth_keeping for one in sentences)


def _read_turn_pieces(turns: Sequence[Message], curator: Curator | None) -> dict[int, list[Piece]]:
    """Return what the curator says of the turns that it can read, each behind what was said before it."""
    if curator is None:
        return {}
    spoken = [at for at, turn in enumerate(turns) if turn.role in _SPOKEN and turn.text.strip()][-_MOST_READ:]
    return {
        at: read_pieces(curator, turns[at].text, turns[at - 1].text if at else "")
        for at in spoken
        if is_english(turns[at].text)
    }


def _join_fragments(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Join sentences with what hangs on them: a few words without a verb, and what follows a date such as "2. März"."""
    last: Span | None = None
    for span in spans:
        if last is not None and "\n" not in text[last.end : span.start] and _goes_on(last.text, span.text):
            last = Span(text[last.start : span.end], last.start, span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _goes_on(before: str, text: str) -> bool:
    if _ORDINAL.search(before.rstrip()):
        return True
    words = expand_contractions(text).split()
    few = len(words) <= _FRAGMENT_WORDS and len(before.split()) <= _MOST_WORDS
    return few and is_english(text) and not is_question(text) and not is_question(before) and not _has_verb(words)


def _has_verb(words: list[str]) -> bool:
    first = words[0].lower().strip(".,!?") if words else ""
    return finite_at(words) > 0 or is_verb(first) or (first in _SUBJECTS and len(words) > 1)


def _told_sentence(talk: _Talk, span: Span, number: int, at: int) -> Sentence:
    turn = talk.turns[number]
    text = " ".join(span.text.split())
    # Those who talk call each other by name, often by the beginning of it.
    names = frozenset(one for name in names_in(text) if not _is_among(one := name.casefold(), talk.speakers))
    terms = frozenset(query_terms(text, 128))
    place = (number, span.start, span.end, at)
    sentence = Sentence(text, turn.role, turn.name, *place, terms, names, is_question(text))
    pieces = [one for one in talk.pieces.get(number, ()) if one.start < span.end and span.start < one.end]
    return (
        _apply_curator_verdict(sentence, pieces)
        if pieces
        else replace(sentence, weight=float(not _says_little(sentence)))
    )


def _apply_curator_verdict(sentence: Sentence, pieces: Sequence[Piece]) -> Sentence:
    """Return a sentence as the curator has it.

    Less is believed of an assistant, who is not the one to be remembered.
    """
    main = max(pieces, key=lambda one: min(one.end, sentence.end) - max(one.start, sentence.start))
    own = sentence.role == "user"
    is_stored = own and max(one.keep for one in pieces) >= KEEP and not sentence.asks
    few = len(strip_filler(sentence.text).split()) < _LEAST_WORDS
    idle = sentence.asks or main.why in _FILLER | _ORDERS | {"question"}
    idle = idle or (main.why in _UNMEANT and len(sentence.terms) < _MANY_TERMS)
    weight = 0.0 if few or (idle and not is_stored) else 1.0 if is_stored else _LIGHT
    return replace(sentence, weight=weight, is_worth_keeping=is_stored, why=main.why)


def _says_little(sentence: Sentence) -> bool:
    """Return whether a sentence that nobody has read tells nothing, by its words."""
    too_little = len(sentence.terms) < _LEAST_TERMS or len(sentence.text.split()) > _MOST_WORDS
    few = len(strip_filler(sentence.text).split()) < _LEAST_WORDS
    return sentence.asks or too_little or few or _TOLD_UNREAL.match(sentence.text) is not None


def _is_among(name: str, speakers: Sequence[str]) -> bool:
    return any(speaker.startswith(name) for speaker in speakers)
