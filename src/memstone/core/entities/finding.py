"""The names in a text, found by rules: people, organisations, places, things, quoted titles, compounds, identifiers.

No model is asked and nothing is guessed from likeness: a name is what its letters, its place in the sentence and a
small list of known names make it, and two names are one only when their normal forms are equal.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from memstone.core.entities.compounds import small_names, words_of
from memstone.core.entities.lists import COMMON
from memstone.core.entities.marks import marked_names
from memstone.core.entities.runs import capital_names
from memstone.core.entities.types import Spotted
from memstone.core.text.normalize import normal_text
from memstone.model.entity import Entity, EntityType

MAX_FOUND: Final = 32
MAX_ASKED: Final = 8
_LOOKED_AT: Final = 20_000
"""Characters of a text that names are looked for in; with this many, the limit on names has long been reached."""

_ANY_WORD: Final = re.compile(r"[^\W_][\w+#'\u2019.-]*")
_EDGE: Final = re.compile(r"^(?:the|an?|my|our|your|his|her|their) (?=\S)|(?:['\u2019]s?|[ ,;:!?]|(?<=\w)\.)$")
_EDGES: Final = 16
"""So many determiners and marks around a name are taken off."""

_MAX_WORDS_ASKED: Final = 64


class Reading(NamedTuple):
    """A text, the names in the order in which they stand there, and its words."""

    text: str
    names: list[Spotted]
    words: set[str]


def norm(name: str) -> str:
    """The normal form of a name: one case and form of letters, single blanks, no determiner and no possessive."""
    folded = normal_text(name)
    for _ in range(_EDGES):
        bare = _EDGE.sub("", folded).strip()
        if not bare or bare == folded:
            break
        folded = bare
    return folded


def read(text: str) -> Reading:
    """The names of a text, each as often as it stands there."""
    text = text[:_LOOKED_AT]
    words = words_of(text)
    found = marked_names(text)
    rest = _without(text, found) if found else text
    found += capital_names(rest)
    found += [one for one in small_names(rest, words) if not _is_inside(one, found)]
    names = sorted(one for one in found if one.name) if len(found) > 1 else [one for one in found if one.name]
    return Reading(text, names, words)


def _is_inside(one: Spotted, others: list[Spotted]) -> bool:
    return any(other.start <= one.start < other.end for other in others)


def _without(text: str, taken: list[Spotted]) -> str:
    """The text with other letters in the place of names that are found already, so that they are not found twice."""
    for one in taken:
        text = f"{text[: one.start]}{'x' * (one.end - one.start)}{text[one.end :]}"
    return text


def entities(spotted: list[Spotted]) -> list[Entity]:
    """Each of these names once; where its type is told in one place, it holds for all."""
    by_norm: dict[str, Entity] = {}
    for one in spotted:
        form = norm(one.name)
        known = by_norm.get(form)
        if known is not None:
            if known.type == EntityType.CONCEPT != one.type:
                by_norm[form] = Entity(known.name, form, one.type)
        elif form and len(by_norm) < MAX_FOUND:
            by_norm[form] = Entity(one.name, form, one.type)
    return list(by_norm.values())


def query_entities(text: str) -> list[Entity]:
    """What a question names, at most eight."""
    return entities(read(text).names)[:MAX_ASKED]


def query_forms(text: str) -> dict[str, float]:
    """The normal forms by which known entities may be meant in a question, and how surely.

    A question in small letters names nobody by its looks, so single words and pairs count as well: what decides is
    whether an entity of exactly that form is known. Part of a longer name counts for half.
    """
    forms = dict.fromkeys((one.norm for one in query_entities(text)), 1.0)
    words = [norm(word) for word in _ANY_WORD.findall(text[:_LOOKED_AT])[:_MAX_WORDS_ASKED]]
    for one in [*words, *map(" ".join, pairwise(words))]:
        if len(forms) == MAX_FOUND:
            break
        if len(one) > 1 and one not in COMMON and one not in forms:
            part = any(f" {one} " in f" {form} " for form in forms)
            forms[one] = 0.5 if part else 1.0
    return forms
