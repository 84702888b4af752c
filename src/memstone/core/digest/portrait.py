"""Who the user is, in sentences that are known: which facts tell it, and a text made of nothing but them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from memstone.core.changes.slots import slots_of
from memstone.core.changes.words import understand
from memstone.core.ranking.importance import CLASSES, importance
from memstone.core.rules.verbs import is_past
from memstone.core.text.normalize import normal_text
from memstone.core.text.tokens import CHARS_PER_TOKEN, estimate_tokens

IDENTITY_GRADE: Final = frozenset({"identity", "home", "work", "health", "family"})
"""The categories of what somebody would write into a profile."""

IDENTITY_SALIENCE: Final = 0.7
_ORDER: Final = ("identity", "home", "work", "family", "health", "skill", "preference", "instruction")
_OF_A_PERSON: Final = frozenset({"name", "home", "employer", "trade", "age", "marriage", "birthday"})
_PASSING: Final = frozenset({"past", "once"})
_UNREAL: Final = frozenset({"planned", "wished", "supposed"})
_VERB: Final = re.compile(
    r"(?:user|i|we) (?:\w+ly |now |just |still |also |has |have )*"
    r"(?:(?P<leaves>got|adopted|became|become|joined|started|quit|stopped|retired|gave up|given up|turned(?= \d)"
    r"|(?:was|been) diagnosed)\b"
    r"|(?P<going_on>(?:is|am|are) (?:\w+ly |now |just |still )?\w{2,}ing\b)|(?P<verb>\w+))"
)
"""The verb of a statement about the user. What some of them tell has happened, and holds since."""

_END: Final = re.compile(r"[.!?\u2026\u3002]$")
_NAME: Final = re.compile(r"\b[^\W\d_a-z]\w+")
_PARTS: Final = re.compile(r"(?<=[.!?\u2026\u3002])\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A fact that a text about the user may be made of; ``version`` is a hash of its words."""

    id: str
    text: str
    version: str
    category: str = ""
    salience: float = 0.5
    updated_at: str = ""
    said_at: str = ""


def is_identity_grade(category: str, salience: float, subject: str, polarity: int) -> bool:
    """Whether a fact says who the user is, and not what they did or who others are; their family belongs to them.

    What they are not says nothing, but for their health: what somebody must not eat belongs to them.
    """
    about_user = subject in ("", "self", "user") or (category == "family" and subject == "near")
    stated = polarity > 0 or category == "health"
    return about_user and stated and category in IDENTITY_GRADE and salience >= IDENTITY_SALIENCE


def identity_category(category: str, text: str) -> str:
    """The category of a fact as an identity has it: what somebody eats, drinks or suffers from is their health."""
    is_health = category == "preference" and CLASSES[importance(category, text)] == "health"
    return "health" if is_health else category


def is_lasting(text: str) -> bool:
    """Whether a statement tells how somebody lives, and not what happened, is going on or is planned.

    "Moved to Bergen" is how they live now: what a person has one of counts however it is told.
    """
    said = understand(text)
    if any(one.slot in _OF_A_PERSON for one in slots_of(said)):
        return True
    verb = _VERB.match(said.said)
    if verb is not None and verb["leaves"]:
        return not said.meant & _UNREAL
    happened = verb is not None and (verb["going_on"] is not None or is_past(verb["verb"]))
    return not happened and not said.meant & (_PASSING | _UNREAL)


def inputs_of(lines: Iterable[Line]) -> str:
    """What a text about the user was made from, as one hash: it is made anew only when this changes."""
    told = "\n".join(sorted(f"{line.id}:{line.version}" for line in lines))
    return hashlib.sha256(told.encode()).hexdigest()


def composed(lines: Sequence[Line], tokens: int) -> str:
    """The sentences of facts one after the other, as far as they fit; the most salient are taken first.

    Of those that are alike in that, what was said last. Ids decide nothing: wherever the same was told, the text is.
    """
    room, kept, seen = tokens * CHARS_PER_TOKEN, list[Line](), set[str]()
    latest = sorted(lines, key=_told, reverse=True)
    for line in sorted(latest, key=lambda one: (-one.salience, _place(one))):
        said = normal_text(line.text)
        if said not in seen and len(_sentence(line.text)) + 1 <= room:
            seen.add(said)
            kept.append(line)
            room -= len(_sentence(line.text)) + 1
    kept.sort(key=lambda one: (_place(one), -one.salience, _told(one)))
    return " ".join(_sentence(line.text) for line in kept)


def with_names(text: str, lines: Sequence[Line], tokens: int) -> str:
    """Return a text about the user with what they are called before it, where whoever wrote it left that out.

    Beside such a text nothing else says it. Sentences at the end go where there is no room for both.
    """
    said = frozenset(_NAME.findall(text))
    missing = [_sentence(line.text) for line in lines if line.category == "identity" and _is_unnamed(line, said)]
    told = [*missing, *(part for part in _PARTS.split(text) if part)]
    most = tokens * CHARS_PER_TOKEN + 1
    room = sum(chars <= most for chars in accumulate(len(part) + 1 for part in told))
    return " ".join(told[: max(len(missing), room)]) if missing else text


def _is_unnamed(line: Line, said: frozenset[str]) -> bool:
    names = _names(line)
    return bool(names) and names.isdisjoint(said)


def _names(line: Line) -> frozenset[str]:
    """Return what in a sentence is written as a name; how it begins is none."""
    return frozenset(_NAME.findall(line.text.partition(" ")[2]))


def _told(line: Line) -> tuple[str, str]:
    return line.said_at, line.text


def _place(line: Line) -> int:
    return _ORDER.index(line.category) if line.category in _ORDER else len(_ORDER)


def _sentence(text: str) -> str:
    said = " ".join(text.split())
    return said if _END.search(said) else f"{said}."


def fits(text: str, tokens: int) -> bool:
    """Whether a text is short enough to stand in every prompt."""
    return estimate_tokens(text) <= tokens
