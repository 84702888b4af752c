"""What a number or a day in a statement is about: the thing that is measured, or what somebody does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memstone.core.changes.statement import Statement
from memstone.core.rules.stance import is_light, token
from memstone.core.rules.verbs import ADVERBS, AUXILIARIES, finite_at, lemma
from memstone.core.text.lexicon import AMERICAN, STOP_WORDS

UNITS: Final = frozenset(
    "money clock percent bare mg kg km mile calori cm gram litr hour minut second day week month year degre".split()
)
"""Units in which many things are measured; any other unit is itself what is counted."""

_ALIKE: Final = {
    word: group[0]
    for group in (
        "earn earns salary wage wages income pay paid make".split(),
        "weigh weighs weight".split(),
        "tall height".split(),
        "cost costs price fee".split(),
        "run running jog jogging".split(),
    )
    for word in group
}
_SAYS_HOW_MUCH: Final = UNITS | frozenset(map(token, (*_ALIKE, *"euro dollar pound buck per spend run walk".split())))
LOOSE: Final = frozenset(
    "be have do get make take go keep use need want spend set reach hit raise cut start stop begin become turn change"
    " move plan try mean say tell find know add put give see feel like love".split()
)
"""Verbs that do not say what is measured."""

_FEWEST_WORDS: Final = 3
_OF: Final = frozenset("of for in at on to with from per by".split())


@dataclass(frozen=True, slots=True)
class Measured:
    """The head and the other words of something that is somebody's, or the verb of what they do."""

    head: str = ""
    closer: frozenset[str] = frozenset()
    verb: str = ""


def measures_another(new: Statement, memory: Statement, unit: str = "") -> bool:
    """Whether the numbers of both are about different things, as far as both say about what."""
    mine, theirs = measured(new), measured(memory)
    if mine.head and theirs.head:
        nested = mine.closer <= theirs.closer or theirs.closer <= mine.closer
        return mine.head != theirs.head or not nested
    if unit and unit not in UNITS:
        return False
    if mine.head or theirs.head:
        owned, other = (mine, memory) if mine.head else (theirs, new)
        done = theirs.verb if mine.head else mine.verb
        return bool(done) and owned.head != done and not ({owned.head} | owned.closer) & other.whole
    if not mine.verb or not theirs.verb:
        return False
    return mine.verb != theirs.verb or _is_for_another(new, memory)


def _is_for_another(new: Statement, memory: Statement) -> bool:
    """Whether both say for what the same is done, and it is something else: "pays 12 euros for Netflix"."""
    mine, theirs = (
        {word for word in one.tokens if not is_light(word) and word not in _SAYS_HOW_MUCH} for one in (new, memory)
    )
    return bool(mine and theirs) and not mine & theirs


def counts_something_else(new: Statement, memory: Statement) -> bool:
    """Whether both measure, in different units, and share no word that tells of what."""
    mine, theirs = new.numbers.keys(), memory.numbers.keys()
    if not mine or not theirs or mine & theirs or not mine | theirs <= UNITS - {"bare"}:
        return False
    return not any(not is_light(word) for word in new.whole & memory.whole)


def is_of_another_sort(new: Statement, memory: Statement) -> bool:
    """Whether both are about one of the speaker's things by the same noun, and other ones: car and health insurance."""
    mine, theirs = measured(new), measured(memory)
    nested = mine.closer <= theirs.closer or theirs.closer <= mine.closer
    return bool(mine.head) and mine.head == theirs.head and not nested


def measured(statement: Statement) -> Measured:
    """What a statement measures; nothing where it does not say so plainly."""
    words = _WORDS.findall(statement.said)
    if len(words) < _FEWEST_WORDS:
        return Measured()
    if words[0] in ("my", "our"):
        at = finite_at(words)
        return _thing(words[1:at], statement) if at > 1 else Measured()
    if words[0] in ("user", "i", "we"):
        return Measured(verb=_verb(words[1:]))
    return Measured()


_WORDS: Final = re.compile(r"[^\W_][\w'-]*")


def _thing(words: list[str], statement: Statement) -> Measured:
    """A noun with what stands before and behind it, without names: "budget for the trip" is the trip budget."""
    cut = next((at for at, word in enumerate(words) if word in _OF), len(words))
    before = [word for word in words[:cut] if token(word) not in statement.names and word not in _NO_NOUNS]
    if not before:
        return Measured()
    more = (*before[:-1], *words[cut:])
    spelled = (token(AMERICAN.get(word, word)) for word in more if word not in STOP_WORDS)
    closer = frozenset(word for word in spelled if not is_light(word))
    return Measured(_compared(before[-1].removesuffix("'s")), closer - statement.names)


_NO_NOUNS: Final = ADVERBS | STOP_WORDS | frozenset({"new", "current"})


def _verb(words: list[str]) -> str:
    """The verb of what the speaker does; '' where it could be about anything."""
    rest = [word for word in words if word not in ADVERBS and word not in AUXILIARIES and word not in _HELPERS]
    verb = lemma(rest[0]) if rest else ""
    return "" if not verb or verb in LOOSE or verb in STOP_WORDS or not verb.isalpha() else _compared(verb)


_HELPERS: Final = frozenset("is are was were am has had been be will would can could does did not now to".split())


def _compared(word: str) -> str:
    return _ALIKE.get(word) or _ALIKE.get(lemma(word)) or token(word)


_NAMED_DIGITS: Final = re.compile(r"\b((?=[A-ZÀ-ÖØ-Þ]|\w*[a-z][A-Z])\w++)[ -](\d+)\b(?!:| (?:%|[ap]m\b))")
_MONTHS: Final = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[ -]\d")


def digits_of_names(text: str) -> dict[str, str]:
    """Numbers that belong to a name, by the name: the 12 of an iPhone 12 counts nothing but iPhones."""
    found = _NAMED_DIGITS.finditer(text)
    return {match[1].lower(): match[2] for match in found if not _MONTHS.match(match[0]) and match.start() > 0}
