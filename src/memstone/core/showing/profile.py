"""The profile: what a model is always shown of a person, most important first.

It is made of what is known, without a search and without an embedding, so that it is there whatever else fails. The
same memories give the same bytes: what is chosen depends on what the facts say and on the order in which they were
stored, never on the time of day or on how often something was used.

Where there is room beside the facts, the user's own words stand there: what they said of themselves and no fact holds,
in whatever language. They enter a day later, so that talking does not change the profile in the middle of a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from memstone.core.showing.says_more import repeats
from memstone.core.showing.staleness import NOTHING_ENDED, EndedFacts
from memstone.core.text.first_person import Person, person_of
from memstone.core.text.normalize import normal_text
from memstone.core.text.questions import only_asks
from memstone.core.text.tokens import CHARS_PER_TOKEN
from memstone.model.instant import Instant
from memstone.model.questions import MARKS

LONGEST: Final = 400
"""A longer text is a document or a story: it is recalled when it is asked for, and would crowd out everything else."""

_SECRET: Final = re.compile(
    r"\b(?:pass(?:word|code|phrase|wort)s?|pin(?: code| number)?|cvv|api[ _-]?keys?|secret (?:key|code|question)|"
    r"(?:recovery|seed|security|gate|door|locker|alarm|safe) (?:code|phrase|combination)|mot de passe|contrase\u00f1a|"
    r"social security|ssn|iban|account number|card number)\b",
    re.IGNORECASE,
)

_OF_LIFE: Final = frozenset({"identity", "biography", "home", "location", "work"})
_NOT_SELF: Final = re.compile(
    r"(?:the )?user(?: (?:has|had|will|wants?|plans?)\b"
    r"|'s (?!(?:\w+ )?(?:\w*name|age|birthday|pronouns?|job|role|home|employer|address|profession|nationality)\b))"
)
"""How a fact begins that is about something of the user's."""

_STANDS: Final = re.compile(r"(?:the )?user (?:\w+ly |now |still |also )*(?:lives?|works?|is based|is an?|comes) ")

_IDENTITY: Final = 1
"""The rank of who somebody is."""


class Visibility(StrEnum):
    """What a person decided about one memory.

    ``pinned``: always in the profile, before everything else. ``hidden``: never in it, though it may be recalled.
    ``private``: shown to no model at all.
    """

    DEFAULT = "default"
    PINNED = "pinned"
    HIDDEN = "hidden"
    PRIVATE = "private"


VISIBILITY: Final = "visibility"
"""Where a memory's data say what a person decided about it."""

HIDDEN: Final = "hidden by the user"
PRIVATE: Final = "marked private"
SECRET: Final = "may hold a secret"  # noqa: S105 - a reason
TOO_LONG: Final = "too long for the profile"
UNTRUSTED: Final = "not from the user"
DOUBTFUL: Final = "doubtful"
SAME: Final = "another says the same"
OVER_TOKENS: Final = "over the tokens of the profile"


def visibility_of(data: Mapping[str, Any]) -> str:
    """Return what a person decided about a memory with these data."""
    return str(data.get(VISIBILITY) or Visibility.DEFAULT)


@dataclass(frozen=True, slots=True)
class ProfileFact:
    """A fact that may stand in the profile; ``seq`` is the order in which it was stored."""

    id: str
    seq: int
    text: str
    rank: int = 1
    """How important it is, as ``memstone.core.ranking.importance`` has it; 1 comes first, after what is pinned."""

    category: str = ""
    visibility: str = Visibility.DEFAULT
    trusted: bool = True
    doubtful: bool = False
    salience: float = 0.5
    sources: tuple[str, ...] = ()
    quote: str = ""
    expires_at: str | None = None
    hash: str = ""
    """Of its text, as the store has it."""

    said_at: Instant = ""
    date: str = ""
    """The day of that, where the user lives; for citations."""


@dataclass(frozen=True, slots=True)
class ProfileTurn:
    """Something the user said, on a day, that may stand in the profile in their own words."""

    id: str
    seq: int
    text: str
    date: str
    expires_at: str | None = None
    said_at: Instant = ""
    learned: bool = False
    """Whether facts were learned from it: then these say whether it holds."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is shown, in order, and what is not, with the reason."""

    facts: tuple[ProfileFact, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    turns: tuple[ProfileTurn, ...] = ()
    beside_budget: bool = False
    """Whether it is shown whatever the budget, as what the user asked to keep in mind is."""

    facts_over: int = 0
    """How many facts found no room."""

    @property
    def expires_at(self) -> str | None:
        """When the first thing in it ends, if anything does."""
        ends = [one.expires_at for one in self.facts] + [one.expires_at for one in self.turns]
        return min((end for end in ends if end is not None), default=None)

    @property
    def holds_most(self) -> bool:
        """Whether most of the facts that are known are in it."""
        return self.facts_over <= len(self.facts)

    @property
    def is_complete(self) -> bool:
        """Whether everything that may be shown is in it, and nothing was too long or found no room."""
        return not any(reason in (OVER_TOKENS, TOO_LONG) for _, reason in self.left_out)


NOBODY: Final = Profile()


def build_profile(facts: Iterable[ProfileFact], tokens: int) -> Profile:
    """Choose the facts of a profile: by importance, of equals the newest; shown by importance, oldest first.

    The most important one is there whatever it costs, unless there is to be no profile.
    """
    left_out = list[tuple[str, str]]()
    open_to = list[ProfileFact]()
    for fact in facts:
        reason = reason_against(fact)
        if reason:
            left_out.append((fact.id, reason))
        else:
            open_to.append(fact)
    chosen, room, said = list[ProfileFact](), tokens * CHARS_PER_TOKEN, set[str]()
    for fact in sorted(open_to, key=lambda one: (importance_of(one), -one.seq)):
        words, cost = normal_text(fact.text), len(fact.text) + len("- \n")
        if words in said:
            left_out.append((fact.id, SAME))
            continue
        if cost > room and (chosen or not tokens):
            left_out.append((fact.id, OVER_TOKENS))
            continue
        said.add(words)
        room -= cost
        chosen.append(fact)
    chosen.sort(key=lambda one: (importance_of(one), one.seq))
    over = sum(reason == OVER_TOKENS for _, reason in left_out)
    return Profile(tuple(chosen), tuple(left_out), facts_over=over)


def says_who(fact: ProfileFact) -> bool:
    """Tell whether a fact says who the user is: their name, age, home or work, or what a person pinned."""
    said = fact.text.lower()
    if fact.visibility == Visibility.PINNED or _NOT_SELF.match(said):
        return fact.visibility == Visibility.PINNED
    of_life = fact.category in _OF_LIFE and said.startswith(("user", "the user"))
    return of_life or _STANDS.match(said) is not None or fact.rank == _IDENTITY


def room_left(facts: Iterable[ProfileFact], tokens: int) -> int:
    """Return how many characters of a profile these facts leave."""
    return tokens * CHARS_PER_TOKEN - sum(len(fact.text) + len("- \n") for fact in facts)


def add_turns(profile: Profile, turns: Iterable[ProfileTurn], room: int, ended: EndedFacts = NOTHING_ENDED) -> Profile:
    """Add what the user said, in their own words and whole: what they say of themselves first.

    Of equals, what nothing was learned from comes first, and of these the newest. What nothing was learned from, and
    repeats what has ended since, is not told, and neither is what only asks or says no more than the facts. What is too
    long, finds no room or may hold a secret is named as left out.
    """
    chosen, left_out, said = list[ProfileTurn](), list[tuple[str, str]](), set[str]()
    known = [fact.text for fact in profile.facts]
    for _, turn in sorted(_ranked(turns), key=lambda one: (one[0], one[1].learned, -one[1].seq)):
        words, cost = normal_text(turn.text), len(turn.text) + len(f"- [{turn.date}] \n")
        if words in said or (not turn.learned and ended.tells(turn.text, turn.said_at)) or repeats(turn.text, known):
            continue
        said.add(words)
        if reason := _reason_against_text(turn.text) or (OVER_TOKENS if cost > room else ""):
            left_out.append((turn.id, reason))
            continue
        room -= cost
        chosen.append(turn)
    shown = tuple(sorted(chosen, key=lambda one: one.seq))
    return replace(profile, turns=shown, left_out=(*profile.left_out, *left_out))


def _ranked(turns: Iterable[ProfileTurn]) -> Iterator[tuple[int, ProfileTurn]]:
    """Yield what tells something, with how much of that is about whoever wrote it."""
    ranked = ((turn_rank(one.text, learned=one.learned), one) for one in turns)
    return ((rank, one) for rank, one in ranked if rank is not None)


def turn_rank(text: str, *, learned: bool = False) -> int | None:
    """Return how much a turn says of whoever wrote it, 0 most; None if it only asks, and nothing was learned of it."""
    asks = text.rstrip().endswith(tuple(MARKS))
    if person_of(text) is Person.NOBODY:
        return None if asks else 2
    if not asks:
        return 0
    return 1 if learned or not only_asks(text) else None


def reason_against(fact: ProfileFact) -> str:
    """Return why a fact may not stand in the profile; '' if it may."""
    if fact.visibility == Visibility.PRIVATE:
        return PRIVATE
    if fact.visibility == Visibility.HIDDEN:
        return HIDDEN
    if not fact.trusted:
        return UNTRUSTED
    if fact.doubtful:
        return DOUBTFUL
    return _reason_against_text(fact.text, pinned=fact.visibility == Visibility.PINNED)


def _reason_against_text(text: str, *, pinned: bool = False) -> str:
    """Return why these words may not stand in the profile; '' if they may."""
    if len(text) > LONGEST and not pinned:
        return TOO_LONG
    return SECRET if _SECRET.search(text) else ""


def importance_of(fact: ProfileFact) -> int:
    """Return the rank of a fact: 0 comes first."""
    return 0 if fact.visibility == Visibility.PINNED else fact.rank
