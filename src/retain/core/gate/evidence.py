"""How much a message reads like one about the user's own life: weighed over the build of the sentence.

Words that carry a sentence ("did", "the", "for") count as themselves, all others as the kind of word they are: a
relative, a thing of the household, a subject of general knowledge, a name. So it is the wording that is weighed and
not the topic. The weights are fitted by ``scripts/fit_gate.py`` to sentences written for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from retain.core.gate.names import FIRST_NAMES
from retain.core.gate.phrases import PAST
from retain.core.gate.said import Said
from retain.core.gate.weights import WEIGHTS
from retain.core.gate.words import (
    CALENDAR,
    FAMOUS,
    HUMAN_VERBS,
    KIN,
    LEISURE,
    PERSONAL_VERBS,
    PLACES_AND_BRANDS,
    PRIVATE_NOUNS,
    PRIVATE_THINGS,
    PUBLIC_WORDS,
    TECH,
    TECH_WEAK,
)

BIAS: Final = "bias"
_MOST_WORDS: Final = 120
_LENGTHS: Final = ((3, "tiny"), (6, "short"), (12, "usual"), (25, "long"))

_CARRIERS: Final = frozenset(
    """i me my mine myself we us our ours you your yours he she him her his hers they them their it its this that these
    those there here a an the any some no not never every each all both another other same own one ones two three such
    what which who whom whose when where why how if whether do does did done have has had having is are am was were be
    been being can could should shall will would may might must need let to of in on at for with from by about as than
    like into over under near between after before since until till during without out up off back down and or but so
    because then now again yet still already ever just also too only even more most much many few less enough else very
    really today tonight tomorrow yesterday week weekend month year time day next last first new old ok okay please
    thanks thank hi hello hey yes good best better right wrong say said tell told give gave get got make made take took
    go going went come put set use used know think want show list write find explain name mean means work called
    something anything everything someone anyone nothing thing things ago soon later left way kind sort remember recall
    forget remind recommend suggest plan ideas idea help""".split()
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:(?:-|'(?!s\b))[^\W_]+)*|'s\b|\"\"|[^\w\s]")
_WRITTEN: Final = re.compile(r"[^\W\d_]\w*|[.!?:]")
_KINDS: Final = (
    (CALENDAR, "CALENDAR"),
    (TECH, "TECH"),
    (PLACES_AND_BRANDS, "PLACE"),
    (PUBLIC_WORDS, "PUBLIC"),
)
_LESS_CERTAIN: Final = ((PRIVATE_NOUNS, "LIFE"), (TECH_WEAK, "DEVICE"))
_SHAPES: Final = re.compile(
    rf"(?:(?P<KIN>{KIN})|(?P<OWN>(?:{PRIVATE_THINGS})s?)|(?P<LEISURE>{LEISURE})|(?P<NUMBER>\d.*)|(?P<DECIDE>{PERSONAL_VERBS})"
    rf"|(?P<HUMAN>{HUMAN_VERBS})|(?P<PAST>{PAST})|(?P<DOING>\w+ing)|(?P<MANY>\w{{3,}}s)|(?P<WORD>.*))\Z"
)


def weigh(said: Said) -> float:
    """The evidence that a message is about the user's life; zero is undecided."""
    weights = weight_table()
    return weights[BIAS] + sum(weights.get(feature, 0.0) for feature in features(said))


@cache
def weight_table() -> dict[str, float]:
    """Every feature's weight."""
    pairs = (line.rsplit(" ", 1) for line in WEIGHTS.strip().split("\n"))
    return {feature: int(hundredths) / 100 for feature, hundredths in pairs}


def features(said: Said) -> set[str]:
    """What is weighed: kinds of words, which of them follow one another, how it begins, and its length."""
    kinds = list(_kinds(said))
    ends = ["^", *kinds, "$"]
    found = {*kinds, f"^ {' '.join(kinds[:2])}", _length(len(kinds))}
    found.update(f"{one} {other}" for one, other in zip(ends, ends[1:], strict=False))
    found.update(f"{one} .. {other}" for one, other in zip(ends, ends[2:], strict=False))
    return found


def _length(count: int) -> str:
    return next((f"length {name}" for below, name in _LENGTHS if count < below), "length very long")


def _kinds(said: Said) -> Iterator[str]:
    within, first = _capitals(said.text)
    lower = said.text.islower()
    for token in _TOKEN.findall(said.low)[:_MOST_WORDS]:
        yield token if token in _CARRIERS or not token[0].isalnum() else _kind(token, within, first, lower=lower)


def _kind(word: str, within: set[str], first: set[str], *, lower: bool) -> str:
    written = word in within or word in first
    if written and word in FAMOUS and word not in CALENDAR:
        return "FAMOUS"
    kind = next((kind for words, kind in _KINDS if word in words), None)
    if kind:
        return kind
    if word in FIRST_NAMES and (written or lower):
        return "FIRST_NAME"
    if word in within:
        return "NAME"
    shape = _SHAPES.match(word)
    found = (shape.lastgroup if shape else None) or "WORD"
    if found in {"KIN", "OWN", "LEISURE"}:
        return found
    return next((kind for words, kind in _LESS_CERTAIN if word in words), found)


def _capitals(text: str) -> tuple[set[str], set[str]]:
    """Words with a capital within a sentence, and such that only begin one."""
    within: set[str] = set()
    first: set[str] = set()
    begins = True
    for word in _WRITTEN.findall(text):
        if word in ".!?:":
            begins = True
            continue
        if word[0].isupper():
            (first if begins else within).add(word.lower())
        begins = False
    return within, first
