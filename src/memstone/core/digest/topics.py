"""Whom and what a session speaks of: names, and the words it comes back to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from memstone.core.digest.told import Sentence
from memstone.core.entities.finding import entities, norm, read
from memstone.core.entities.types import Spotted
from memstone.core.text.analyze import query_terms, terms
from memstone.model.entity import Entity, EntityType
from memstone.model.message import Message

MOST_ENTITIES: Final = 24
MOST_TOPICS: Final = 8
_SPOKEN: Final = ("user", "assistant")
_WORD: Final = re.compile(r"[^\W\d_][\w'\u2019-]*[^\W_]")
_LIGHT: Final = frozenset(
    chain.from_iterable(
        terms(word)
        for word in """
        absolutely actually after again agree alive all already also always amazing another anyone anything anyway
        appreciate around ask assistant away awesome awhile back bad beautiful believe best better big bit both
        bring busy bye came care catch chance chat check come congrats cool course day days definitely different
        done down during else end enjoy enough even ever every everyone everything exactly excited exciting
        experience fact fantastic far feel feeling fine first forward found fun gave get getting give glad go goes
        going gonna good got gotta great guess guys haha hand happen happy hard hear heard hello help hey hi hope
        idea important incredible inspire inspiring interesting job just keep kind kinda know last later least let
        life like little long look looking lot lots love loved lovely luck made make makes many matter maybe mean
        means meet mind minute moment more most much must need never new next nice nothing now nowadays off oh ok
        okay once one only other others own pass people perfect place plan please pleasure possible pretty probably
        proud put quite ready real really recently remember rest right said same saw say see seem seems sense set
        share shared show since so something sometimes soon sorry sort sound sounds speaking special start started
        still stuff such super support sure take taken taking talk tell thank thankfully thanks thing things think
        thinking thought thoughts through time times today together told tomorrow took totally tough tried true try
        trying two understand until up us use used user usually want wanted way ways week weekend well went while
        whole wish without wonder wonderful work works world worry would wow yeah year years yep yes yesterday yet
        yup""".split()
    )
)
"""Words that any talk is full of: they say nothing about this one."""


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
    """Compounds such as "pottery class", then the words that several turns speak of, as they were said."""
    compounds = _compounds(turns)[: MOST_TOPICS - 2]
    taken = {term for one in (*names, *compounds) for term in terms(one)}
    return _each_once([*compounds, *_words(sentences, taken)])[:MOST_TOPICS]


def _compounds(turns: Sequence[Message]) -> list[str]:
    """Names in small letters of several words, the most frequent first, in the form in which they stand there."""
    said: dict[str, str] = {}
    often: Counter[str] = Counter()
    for turn in turns:
        for one in read(turn.text).names if turn.role in _SPOKEN else ():
            if one.name == one.name.lower() and " " in one.name:
                often[norm(one.name)] += 1
                said.setdefault(norm(one.name), turn.text[one.start : one.end].lower())
    return [said[form] for form, _ in often.most_common()]


def _words(sentences: Sequence[Sentence], taken: set[str]) -> list[str]:
    turns_with: dict[str, set[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for word in _WORD.findall(sentence.text):
            for term in sentence.terms.intersection(query_terms(word)):
                turns_with.setdefault(term, set()).add(sentence.turn)
                forms.setdefault(term, Counter())[word.lower()] += 1
    often = [term for term, where in turns_with.items() if len(where) > 1 and is_telling(term) and term not in taken]
    ranked = sorted(often, key=lambda term: -len(turns_with[term]))
    return [forms[term].most_common(1)[0][0] for term in ranked]


def is_telling(term: str) -> bool:
    """Whether a word says what a talk is about."""
    return term not in _LIGHT and len(term) > 2 and not term.isdigit()  # noqa: PLR2004 - shorter ones are no topics


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(norm(name), name)
    return tuple(name for form, name in found.items() if form)
