"""How much a message reads like one about the user's own life: weighed over the build of the sentence.

Words that carry a sentence ("did", "the", "for") count as themselves, all others as the kind of word they are: a
relative, a thing of the household, a subject of general knowledge, a name. So it is the wording that is weighed and
not the topic. The weights are fitted by ``scripts/fit_gate.py`` to sentences written for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from memstone.language.en.gate.people import FIRST_NAMES
from memstone.language.en.gate.phrases import PAST_FORMS, Said
from memstone.language.en.gate.words import (
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
from memstone.language.lists import read_data
from memstone.language.models import FOLDER

_DATA: Final = read_data("en", "gate_carriers")

BIAS: Final = "bias"
_MOST_WORDS: Final = 120
_SHORTEST_PLURAL: Final = 3
_LENGTHS: Final = ((3, "tiny"), (6, "short"), (12, "usual"), (25, "long"))

_CARRIERS: Final = frozenset(_DATA["carriers"].split())
_WRITTEN: Final = re.compile(r"[^\W\d_]\w*|[.!?:]")
_NO_PAST: Final = frozenset("need feed speed bleed breed exceed succeed proceed".split())


def _add_plurals(words: frozenset[str]) -> frozenset[str]:
    return words | {f"{word}s" for word in words}


_CERTAIN: Final = ((CALENDAR, "CALENDAR"), (TECH, "TECH"), (PLACES_AND_BRANDS, "PLACE"), (PUBLIC_WORDS, "PUBLIC"))
_OTHERWISE: Final = (
    (KIN, "KIN"),
    (_add_plurals(PRIVATE_THINGS), "OWN"),
    (LEISURE, "LEISURE"),
    (PRIVATE_NOUNS, "LIFE"),
    (TECH_WEAK, "DEVICE"),
    (PERSONAL_VERBS, "DECIDE"),
    (HUMAN_VERBS, "HUMAN"),
    (PAST_FORMS, "PAST"),
)


def _by_word(kinds: tuple[tuple[frozenset[str], str], ...]) -> dict[str, str]:
    """The kind of each word; where it is in several lists, the first counts."""
    return {word: kind for words, kind in reversed(kinds) for word in words}


_PUBLIC_KIND: Final = _by_word(_CERTAIN)
_PRIVATE_KIND: Final = _by_word(_OTHERWISE)


def score_evidence(said: Said) -> float:
    """The evidence that a message is about the user's life; zero is undecided."""
    weights = weight_table()
    return weights[BIAS] + sum(weights.get(feature, 0.0) for feature in extract_features(said))


@cache
def weight_table() -> dict[str, float]:
    """Every feature's weight; read once."""
    lines = (FOLDER / "gate.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return {feature: int(hundredths) / 100 for feature, hundredths in pairs}


def extract_features(said: Said) -> set[str]:
    """What is weighed: kinds of words, which of them follow one another, how it begins, and its length."""
    kinds = list(_word_kinds(said))
    ends = ["^", *kinds, "$"]
    found = {*kinds, f"^ {' '.join(kinds[:2])}", _length_feature(len(kinds))}
    found.update(f"{one} {other}" for one, other in pairwise(ends))
    found.update(f"{one} .. {other}" for one, other in zip(ends, ends[2:], strict=False))
    return found


def _length_feature(count: int) -> str:
    return next((f"length {name}" for below, name in _LENGTHS if count < below), "length very long")


def _word_kinds(said: Said) -> Iterator[str]:
    lower = said.text.islower()
    within, first = (frozenset[str](), frozenset[str]()) if lower else _capitalized_words(said.text)
    for token in said.tokens[:_MOST_WORDS]:
        if token in _CARRIERS or not token[0].isalnum():
            yield token
        elif token in FAMOUS and token not in CALENDAR and (token in within or token in first):
            yield "FAMOUS"
        elif token in _PUBLIC_KIND:
            yield _PUBLIC_KIND[token]
        elif token in FIRST_NAMES and (lower or token in within or token in first):
            yield "FIRST_NAME"
        else:
            yield "NAME" if token in within else _PRIVATE_KIND.get(token) or _kind_from_ending(token)


def _kind_from_ending(word: str) -> str:
    if word[0].isdigit():
        return "NUMBER"
    if word.endswith("ed") and word not in _NO_PAST:
        return "PAST"
    if word.endswith("ing"):
        return "DOING"
    return "MANY" if word.endswith("s") and len(word) > _SHORTEST_PLURAL else "WORD"


def _capitalized_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
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
    return frozenset(within), frozenset(first)
