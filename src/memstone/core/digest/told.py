"""What was said in a session, sentence by sentence: who said it, what it is about, and whether it tells anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.entities.names import names_in
from memstone.core.rules.material import Span, own_sentences
from memstone.core.rules.plain import is_question, plain
from memstone.core.rules.sift import is_small_talk, is_unreal
from memstone.core.text.analyze import query_terms
from memstone.model.message import Message

_SPOKEN: Final = ("user", "assistant")
_MOST_SENTENCES: Final = 2_000
_MOST_WORDS: Final = 60
_LEAST_TERMS: Final = 3


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
    empty: bool = False
    """It keeps the talk going and tells nothing by itself."""

    @property
    def speaker(self) -> str:
        """Whose words these are."""
        return self.name or self.role.capitalize()

    @property
    def line(self) -> str:
        """The sentence with its speaker before it."""
        return f"{self.speaker}: {self.text}"


def told(turns: Sequence[Message]) -> list[Sentence]:
    """The sentences of a session, in order; code, quotes and what was pasted are left out."""
    found: list[Sentence] = []
    speakers = [turn.name.casefold() for turn in turns if turn.name]
    for number, turn in enumerate(turns):
        if turn.role not in _SPOKEN or len(found) > _MOST_SENTENCES:
            continue
        for span in own_sentences(turn.text):
            if any(letter.isalnum() for letter in span.text):
                found.append(_sentence(span, turn, number, len(found), speakers))
    return found


def _sentence(span: Span, turn: Message, number: int, at: int, speakers: Sequence[str]) -> Sentence:
    text = " ".join(span.text.split())
    terms = frozenset(query_terms(text, 128))
    said = plain(text)
    asks = is_question(text)
    too_little = len(terms) < _LEAST_TERMS or len(text.split()) > _MOST_WORDS
    empty = asks or too_little or is_small_talk(said) or is_unreal(said)
    # Those who talk call each other by name, often by the beginning of it.
    names = frozenset(one for name in names_in(text) if not _is_among(one := name.casefold(), speakers))
    return Sentence(text, turn.role, turn.name, number, span.start, span.end, at, terms, names, asks, empty)


def _is_among(name: str, speakers: Sequence[str]) -> bool:
    return any(speaker.startswith(name) for speaker in speakers)
