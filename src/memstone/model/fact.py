"""Facts on their way into memory: statements, similar memories, and decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from memstone.model.policy import OwnSlot


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence and where it is."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fact a message may hold. ``start`` and ``end`` say where its evidence is in the message."""

    text: str
    kind: str
    category: str
    polarity: int
    key: str
    start: int
    end: int
    salience: float = 0.5
    subject: str = "self"
    forget: bool = False
    is_quote: bool = False
    """Whether it is told in the speaker's own words."""

    keep: float = 0.0
    """How likely its words are worth remembering."""

    plain: str = ""
    """What a quotation says about the speaker, by which it is judged."""


@dataclass(frozen=True, slots=True)
class CuratedFacts:
    """What a message states. ``is_cut`` says that there was more in it than is read, or more facts than are kept."""

    facts: list[Candidate] = field(default_factory=list)
    rest: list[Span] = field(default_factory=list)
    """Sentences that state nothing by themselves; they may still change what is known."""

    is_cut: bool = False
    is_foreign: bool = False
    """Whether it is in a language that is not read here."""


@dataclass(frozen=True, slots=True)
class RestatedSentence:
    """A sentence of the assistant as the user would say it, and where it is; ``agreed`` when both decided it."""

    text: str
    start: int
    end: int
    agreed: bool = False


class FactAction(StrEnum):
    """What is done with a statement."""

    ADD = "add"
    IGNORE = "ignore"
    REVISE = "revise"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory near a statement: its text, and the odds that the statement replaces it, as far as it was read."""

    text: str
    replaced: float = 0.0
    stored: str = ""
    """Its text as it is stored, where that names whoever is "User" here."""

    is_others: bool = False
    """Whether somebody else said it of themselves: nobody's words but theirs change it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done, to which of the memories, why, and with which text where it is not the statement's own."""

    action: FactAction
    target: int | None
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class New:
    """A statement on its way into memory."""

    text: str
    quote: str = ""
    day: str = ""
    own: tuple[OwnSlot, ...] = ()
    is_quote: bool = False
    """Whether the text is in the speaker's own words, so that it may not stand alone."""

    adds: bool = True
    """Without, it says nothing by itself, and may still change what is known."""


CLASSES: Final = ("pinned", "identity", "health", "family", "home", "work", "preference", "project", "other")


def fact_key(category: str, text: str, polarity: int) -> str:
    """Return a stable name: category, ``not`` for a negative stance, and a slug of the words that carry it."""
    body = re.sub(r"^\S+?(?:'s)? ", "", text)
    slug = re.sub(r"[^a-z0-9]+", "_", body.lower()).strip("_")[:40].rstrip("_")
    return f"{category}:{'not:' if polarity < 0 else ''}{slug}"
