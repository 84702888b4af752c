"""Whom and what a session speaks of: names, and the words it comes back to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from memstone.core.digest.told import Sentence
from memstone.core.entities.finding import entities, norm, read
from memstone.core.entities.lists import COMMON, NOUNS_LIKE_ADJECTIVES, ORDINARY
from memstone.core.entities.types import Spotted
from memstone.core.gate.words import CALENDAR
from memstone.core.rules.material import is_english
from memstone.core.rules.verbs import ADVERBS, FINITE, is_past, is_verb, lemma
from memstone.core.text.analyze import terms
from memstone.core.text.lexicon import LIGHT, STOP_WORDS
from memstone.model.entity import Entity, EntityType
from memstone.model.message import Message

MOST_ENTITIES: Final = 24
MOST_TOPICS: Final = 8
_SPOKEN: Final = ("user", "assistant")
_TOKEN: Final = re.compile(r"[^\W\d_][\w\'\u2019-]*[^\W_]|[^\W\d_]|\d[\w.,:]*|[^\w\s]")
_BEFORE_NOUNS: Final = frozenset(
    """a an the my our your his her their its this that these those some any no every each another
    of with without for from about against into on in at by after before during between up down off out
    over under through around have has had""".split()
)
"""Small words that a noun follows."""

_ENDINGS: Final = tuple("ly ous ful ive ible able less ish al ic ed body".split())
"""How words end that are hardly nouns."""

_LIGHT: Final = COMMON | ORDINARY | CALENDAR | ADVERBS
"""Words that say little about what a talk is about."""

_LINKING: Final = frozenset("be feel get go seem look become turn sound taste stay keep grow".split())
"""Verbs that an adjective follows."""

_LEAST_LETTERS: Final = 3
_MOST_NOUNS: Final = 3
_FOREIGN_LETTERS: Final = 5
"""A word of another language that is shorter is hardly what a talk is about."""


def named(turns: Sequence[Message]) -> tuple[str, ...]:
    """The speakers, then everybody and everything that is named, what comes up most first."""
    spoken = [turn for turn in turns if turn.role in _SPOKEN]
    spotted = [one for turn in spoken for one in read(turn.text).names]
    often = Counter(norm(one.name) for one in spotted)
    speakers = list(dict.fromkeys(turn.name for turn in spoken if turn.name))
    proper = [one for one in _distinct(spotted) if one.name != one.name.lower() or one.type != EntityType.CONCEPT]
    ranked = sorted(proper, key=lambda one: -often[one.norm])
    return _each_once([*speakers, *(one.name for one in ranked)])[:MOST_ENTITIES]


def _distinct(spotted: Iterable[Spotted]) -> list[Entity]:
    """Each name once; more than one text holds, so they are taken in pieces."""
    found: dict[str, Entity] = {}
    for one in spotted:
        for entity in entities([one]):
            found.setdefault(entity.norm, entity)
    return list(found.values())


def topics(turns: Sequence[Message], sentences: Sequence[Sentence], names: Sequence[str]) -> tuple[str, ...]:
    """The nouns that a session is about, as they were said: those that come back first, then those that tell most.

    Names are no topics. Of what only keeps the talk going nothing is taken.
    """
    taken = {term for one in names for term in terms(one)}
    compounds = _compounds(turns)
    found: dict[str, _Topic] = {}
    for sentence in sentences:
        said = sentence.text.lower()
        for phrase in (*(one for one in compounds if one in said), *_phrases(sentence, turns)):
            words = terms(phrase)
            if words and words[-1] not in taken:
                found.setdefault(words[-1], _Topic()).add(phrase, sentence)
    ranked = [one.label for one in sorted(found.values(), key=lambda one: -one.weight)]
    longer = {word for label in ranked if " " in label for word in terms(label)}
    return _each_once(label for label in ranked if " " in label or longer.isdisjoint(terms(label)))[:MOST_TOPICS]


class _Topic:
    """What stands for one noun: the turns that speak of it, how much they tell, and its longest form."""

    def __init__(self) -> None:
        self.turns: set[int] = set()
        self.told = 0.0
        self.label = ""

    def add(self, phrase: str, sentence: Sentence) -> None:
        """Count one more place where it stands."""
        self.turns.add(sentence.turn)
        self.told = max(self.told, sentence.weight)
        if phrase.count(" ") > self.label.count(" ") or not self.label:
            self.label = phrase

    @property
    def weight(self) -> float:
        """What comes back weighs most, then what is worth keeping, then what is said in two words."""
        return len(self.turns) + self.told + (" " in self.label) / 2


def _phrases(sentence: Sentence, turns: Sequence[Message]) -> Iterator[str]:
    """The nouns of a sentence that tells something; of another language, the longer words of one that does."""
    if sentence.empty:
        return
    if is_english(turns[sentence.turn].text):
        yield from nouns(sentence.text)
        return
    words = (word for word in _TOKEN.findall(sentence.text) if len(word) >= _FOREIGN_LETTERS)
    yield from (word for word in words if word[0].isupper() and terms(word))


def nouns(text: str) -> Iterator[str]:
    """The nouns of an English sentence, with the noun before each: what follows a small word or a verb."""
    words = _TOKEN.findall(text)
    at = 0
    while at + 1 < len(words):
        leads = _leads(words[at].lower(), words[at + 1].lower())
        found = list(takewhile(_is_content, words[at + 1 : at + 2 + _MOST_NOUNS])) if leads else []
        phrase = _noun_phrase(found)
        if phrase:
            yield " ".join(phrase)
        at += 1 + (len(found) if phrase else 0)


def _leads(word: str, following: str) -> bool:
    """Whether a noun may follow a word: behind a verb it is what is done, but not behind one that tells how it is."""
    if word in _BEFORE_NOUNS or word.endswith("'s"):
        return True
    return is_verb(word) and word not in FINITE and lemma(word) not in _LINKING and not is_verb(following)


def _noun_phrase(words: list[str]) -> list[str]:
    """The noun that a run of words begins with, and the noun before it; of a long run, which goes on, the first two."""
    ends = (at for at, word in enumerate(words) if at and (is_verb(word) or is_past(word)))
    run = words[: next(ends, len(words) if len(words) <= _MOST_NOUNS else 2)]
    while run and not (_is_noun(run[-1]) or (len(run) > 1 and _is_noun(run[-2]) and run[-1] in LIGHT)):
        run = run[:-1]
    return [word for word in run[-2:-1] if _is_noun(word)] + run[-1:]


def _is_content(word: str) -> bool:
    """Whether a word may be part of a noun phrase; a capital is that of a name."""
    return word[0].islower() and word not in _BEFORE_NOUNS and word not in STOP_WORDS and not word.endswith("'s")


def _is_noun(word: str) -> bool:
    if len(word) < _LEAST_LETTERS or word in _LIGHT or word.removesuffix("s") in _LIGHT:
        return False
    return word in NOUNS_LIKE_ADJECTIVES or not word.endswith(_ENDINGS)


def _compounds(turns: Sequence[Message]) -> list[str]:
    """Names in small letters of several words, such as "pottery class", in the form in which they stand there."""
    said: dict[str, str] = {}
    for turn in turns:
        for one in read(turn.text).names if turn.role in _SPOKEN else ():
            if one.name == one.name.lower() and " " in one.name:
                said.setdefault(norm(one.name), turn.text[one.start : one.end].lower())
    return list(said.values())


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(norm(name), name)
    return tuple(name for form, name in found.items() if form)
