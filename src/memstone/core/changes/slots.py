"""What a person has one of at a time: a home, an employer, an age. Another value takes the place of the one that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from memstone.core.changes.words import Statement, bare_words
from memstone.core.rules.own import MANY, own_values
from memstone.core.rules.shipped import shipped_slots
from memstone.core.rules.stance import polarity_of
from memstone.model.own import OwnSlot

_AROUND: Final = re.compile(
    r"^(?:the|a|an|now|currently) | (?:now|these days|again|since .*|as .*|with .*|for .*|and .*|but .*|because .*)$"
)

_HAPPENED: Final = re.compile(r"\b(?:moved|relocated|turned|joined|started|got|married|engaged|divorced|separated)\b")
"""What is told of a single day and holds from then on."""

_CONTRAST: Final = re.compile(r", (?:and )?not (?!any ?more)[^,;]+$")
"""What it is not, behind what it is: "at Brightwell, not Brightwood"."""

_FIRST_PERSON: Final = re.compile(r"^(?:i|we)\b")
_CLAUSE: Final = re.compile(r"[,:;.] +")
_GOES_ON: Final = re.compile(r"(?:(?:and|so|but) )?(?:they|user|i|we) ")


class Filled(NamedTuple):
    """A slot of somebody, and the value that a statement gives it."""

    slot: str
    owner: str
    value: str


def slots_of(statement: Statement, own: Iterable[OwnSlot] = ()) -> list[Filled]:
    """The slots that a statement fills, those of a configuration among them; what is denied or wished fills none."""
    found = [Filled(name, "user", value) for name, value in own_values(statement.text, own).items() if MANY not in name]
    if statement.meant & {"wished", "planned", "supposed"}:
        return found
    clauses = [*_clauses(statement)]
    for name, (_, patterns) in shipped_slots().items():
        match = next((one for pattern in patterns for said in clauses if (one := pattern.search(said))), None)
        if match is not None and ("once" not in statement.meant or _HAPPENED.search(match[0])):
            owner = match.groupdict().get("owner") or "user"
            found.append(Filled(name, owner, _AROUND.sub("", match["value"].strip()).strip()))
    return found


def _clauses(statement: Statement) -> Iterator[str]:
    """A statement, and those of its clauses that go on about the user: "user has moved: they live in Porto now".

    What is denied is left out.
    """
    said = _FIRST_PERSON.sub("user", statement.said)
    if statement.polarity >= 0 or not _is_denied(statement.said):
        yield said
    if said.startswith("user "):
        more = (_GOES_ON.sub("user ", one, count=1) for one in _CLAUSE.split(said)[1:] if _GOES_ON.match(one))
        yield from (one for one in more if not _is_denied(one))


def _is_denied(said: str) -> bool:
    return polarity_of(_CONTRAST.sub("", said)) < 0


def asked_slots(words: frozenset[str]) -> list[str]:
    """The slots that somebody means by these words: "my address"."""
    return [name for name, (asked, _) in shipped_slots().items() if words & frozenset().union(*map(bare_words, asked))]


def is_other_value(new: Filled, known: Filled) -> bool:
    """Whether a slot of the same person is filled otherwise; a part of what is known is no other value."""
    if (new.slot, new.owner) != (known.slot, known.owner):
        return False
    mine, theirs = bare_words(new.value), bare_words(known.value)
    return bool(mine and theirs) and not (mine <= theirs or theirs <= mine)
