"""What a clause is read with, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from memstone.core.rules.families import Family


@dataclass(slots=True)
class Context:
    """Who speaks, and what the clause stands in."""

    who: str
    own: tuple[Family, ...] = ()
    topic: str = ""
    is_note: bool = False
    is_short: bool = False
    is_talk: bool = False
    person: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A clause as a third-person sentence; ``said`` is what it was made of."""

    text: str
    family: Family
    said: str
    person: str = ""
