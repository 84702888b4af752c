"""A new statement beside the memories it may change, and what can be decided about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memstone.core.changes.apart import names_another, other_people
from memstone.core.changes.measured import is_of_another_sort
from memstone.core.changes.others import has_another_goal
from memstone.core.changes.overlap import Overlap, overlap, weights_of
from memstone.core.changes.passing import is_passing
from memstone.core.changes.slots import same_value
from memstone.core.changes.statement import Statement
from memstone.core.rules.own import MANY
from memstone.core.rules.quantities import digits_in


class Action(StrEnum):
    """What happens."""

    ADD = "add"
    REVISE = "revise"
    RETRACT = "retract"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Known:
    """A stored memory as a candidate: its statement and how near it is."""

    statement: Statement
    cosine: float
    fresh: bool = False
    """Said in the same breath as what it is held against."""
    told: float | None = None
    """How near it is to the whole message; None where the vectors are not those of the built-in embedder."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, with which candidate (its position), and why."""

    action: Action
    target: int | None
    reason: str
    firm: bool = True
    linked: bool = False
    """Told by nearness and words of change alone; one such change a message is enough."""
    loose: bool = False
    """Told by nearness alone: no kind of thing, no name and no word is shared."""
    certain: bool = False
    """Another value of what somebody has one of: nothing that is only likely speaks against it."""
    plain: bool = False
    """Another value of the same thing of the same person: nothing has to be weighed."""
    text: str = ""
    """What a memory of several things says from now on, where one of them is over; else what the fact says."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement beside one memory about the same person."""

    at: int
    new: Statement
    memory: Statement
    cosine: float
    shared: Overlap
    whole: frozenset[str]
    """All words of the memory, of what it says of others too."""

    @property
    def identical(self) -> bool:
        """Whether both say the same words, or words that are understood as the same."""
        return _normal(self.new.text) == _normal(self.memory.text) or _reads_the_same(self.new, self.memory)

    @property
    def anchored(self) -> bool:
        """Whether both name the same name."""
        return bool(self.memory.names & self.new.tokens)

    @property
    def agrees(self) -> bool:
        """Whether what they share has the same stance in both."""
        return self.shared.segment.polarity == self.shared.stance

    @property
    def lasting(self) -> bool:
        """Whether the new statement may replace something that lasts."""
        return self.settles and not self.only_planned

    @property
    def settles(self) -> bool:
        """Whether the new statement is more than a repeat, something beside, or something for a while."""
        return not self.new.confirms and not self.new.additional and (not self.new.temporary or self.memory.temporary)

    @property
    def only_planned(self) -> bool:
        """Whether the new statement is only a plan, beside something that holds."""
        return self.new.ahead and not self.memory.ahead

    @property
    def came_true(self) -> bool:
        """Whether the memory is only a plan, beside something that holds now."""
        settled = not self.new.ahead and not self.new.wished and not self.new.confirms
        return self.memory.ahead and settled and not self.new.dates & self.memory.dates

    @property
    def counts_the_same(self) -> bool:
        """Whether the new statement has no number that the memory has not."""
        more = _numbers(self.new) - _numbers(self.memory)
        return not more or more <= digits_in(self.memory.said)

    @property
    def left_behind(self) -> str:
        """What the new statement ends and the memory has another value of already: there is nothing left to end."""
        both = sorted(self.new.denied.keys() & self.memory.slots.keys())
        return next((slot for slot in both if not same_value(self.new.denied[slot], self.memory.slots[slot])), "")

    def revise(self, reason: str, *, firm: bool = True, plain: bool = False) -> Decision:
        """The memory becomes the new statement."""
        return Decision(Action.REVISE, self.at, reason, firm, plain=plain)

    def ignore(self, reason: str) -> Decision:
        """The memory says it already."""
        return Decision(Action.IGNORE, self.at, reason)


_CANDIDATES: Final = 8


def pairs_of(new: Statement, known: Sequence[Known]) -> list[Pair]:
    """The candidates that say something of the same person, nearest first."""
    order = sorted(range(len(known)), key=lambda at: (-_is_linked(new, known[at]), -known[at].cosine))[:_CANDIDATES]
    about = [
        (at, one)
        for at in order
        for one in known[at].statement.everybody
        if one.subject == new.subject and not _is_another(new, one)
    ]
    weights = weights_of([memory for _, memory in about])
    pairs = [
        Pair(
            at,
            new,
            memory,
            known[at].cosine,
            overlap(new, memory, known[at].cosine, weights),
            known[at].statement.whole,
        )
        for at, memory in about
    ]
    return sorted(pairs, key=lambda pair: -pair.shared.score)


def _is_another(new: Statement, memory: Statement) -> bool:
    """Whether two statements are about different individuals or things of the same sort, or one only of a moment."""
    apart = names_another(new, memory) or is_of_another_sort(new, memory) or has_another_goal(new, memory)
    return apart or is_passing(new, memory) or _is_one_more(new, memory)


def _is_one_more(new: Statement, memory: Statement) -> bool:
    """Whether both name one of many: two things that have nothing to do with each other."""
    both = new.slots.keys() & memory.slots.keys()
    return any(slot.startswith(MANY) and not same_value(new.slots[slot], memory.slots[slot]) for slot in both)


def _is_linked(new: Statement, candidate: Known) -> bool:
    """Whether a name or a slot links a memory to the statement, however far its words are."""
    memory = candidate.statement
    return bool(memory.names & new.tokens or memory.slots.keys() & new.slots.keys())


def _numbers(statement: Statement) -> set[str]:
    """All that a statement counts, and an age."""
    return {*statement.numbers.values(), *(value for value in statement.slots.values() if value.isdigit())}


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!")


def _reads_the_same(new: Statement, memory: Statement) -> bool:
    return (
        bool(new.tokens)
        and (new.ahead, new.wished) == (memory.ahead, memory.wished)
        and not other_people(new, memory)
        and [(part.tokens, part.polarity) for part in new.segments]
        == [(part.tokens, part.polarity) for part in memory.segments]
        and (new.slots, new.numbers, new.dates) == (memory.slots, memory.numbers, memory.dates)
    )
