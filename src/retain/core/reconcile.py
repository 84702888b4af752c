"""What a new statement does to what is known: add, revise, retract or ignore. Pure and explainable.

Structure decides first (slots, numbers, polarity), shared words next, and the cosine of an embedding mostly supplies
the candidates. Every decision names its rule in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from retain.core.slots import same_value
from retain.core.statement import Segment, Statement, is_light


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


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, with which candidate (its position), and why."""

    action: Action
    target: int | None
    reason: str
    firm: bool = True


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two statements share: of the memory's words, of the new one's, and both with the cosine."""

    covered: float
    covering: float
    score: float
    segment: Segment
    telling: bool = False


LIGHT_WEIGHT: Final = 0.3
_CANDIDATES: Final = 5

# Bounds on what two statements share, measured on labelled update decisions; the set is not sensitive to small changes.
NUMBER_COSINE, NUMBER_COVERED = 0.45, 0.25
DATE_COSINE, DATE_COVERED = 0.5, 0.4
PLAN_COSINE, PLAN_COVERED = 0.4, 0.5
REPEAT_COSINE, REPEAT_COVERED = 0.4, 0.3
ANCHOR_COSINE, ANCHOR_COVERED = 0.3, 0.2
ENDING_COSINE = 0.35
CHANGE_COVERED, CHANGE_SCORE = 0.45, 0.36
CONTRARY_SCORE, CONTRARY_COVERED, CONTRARY_COSINE = 0.42, 0.3, 0.62
SHORT_SHARED, NEARLY_EQUAL = 0.6, 0.85
SAME_COVERED, SAME_COVERING = 0.65, 0.5
NEAR_COSINE, NEAR_COVERED = 0.72, 0.34


def decide(new: Statement, known: Sequence[Known]) -> Decision:
    """The first rule that applies to the nearest candidates decides."""
    order = sorted(range(len(known)), key=lambda at: -known[at].cosine)[:_CANDIDATES]
    same_subject = [at for at in order if known[at].statement.subject == new.subject]
    if not same_subject:
        return Decision(Action.ADD, None, "nothing known is about the same person")
    weights = _weights([known[at].statement for at in same_subject])
    overlaps = {at: overlap(new, known[at], weights) for at in same_subject}
    for rule in (_slot, _number, _date, _done, _repeated, _opposite, _same):
        decision = rule(new, known, overlaps)
        if decision is not None:
            return decision
    return Decision(Action.ADD, None, "nothing known says this or its opposite")


def _weights(statements: Sequence[Statement]) -> dict[str, float]:
    """How telling a word is among the compared memories."""
    total = len(statements)
    counts: dict[str, int] = {}
    for statement in statements:
        for token in statement.tokens:
            counts[token] = counts.get(token, 0) + 1
    return {token: math.log(1 + (total + 1) / (count + 0.5)) for token, count in counts.items()}


def overlap(new: Statement, candidate: Known, weights: dict[str, float]) -> Overlap:
    """The segment of the new statement that shares most with a memory."""
    memory = candidate.statement.tokens
    best: Overlap | None = None
    most = max(weights.values(), default=0.0)  # the weight of a word that only one of the compared memories has
    for segment in new.segments:
        covered = _share(memory, segment.tokens, weights)
        covering = _share(segment.tokens, memory, weights)
        telling = any(not is_light(token) and weights.get(token, 0.0) >= most for token in memory & segment.tokens)
        found = Overlap(covered, covering, 0.5 * covered + 0.5 * candidate.cosine, segment, telling)
        if best is None or (found.covered, found.covering) > (best.covered, best.covering):
            best = found
    return best or Overlap(0.0, 0.0, 0.5 * candidate.cosine, Segment(frozenset(), 1, changes=False))


def _share(of: frozenset[str], within: frozenset[str], weights: dict[str, float]) -> float:
    unseen = math.log(1 + (len(weights) and 2.0))

    def weigh(token: str) -> float:
        return weights.get(token, unseen) * (LIGHT_WEIGHT if is_light(token) else 1.0)

    total = sum(map(weigh, of))
    return sum(map(weigh, of & within)) / total if total else 0.0


def _slot(new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    for at, overlap_with in overlaps.items():
        shared = new.slots.keys() & known[at].statement.slots.keys()
        for slot in sorted(shared):
            mine, theirs = new.slots[slot], known[at].statement.slots[slot]
            if same_value(mine, theirs) or new.confirms:
                continue
            return Decision(Action.REVISE, at, f"{slot}: {theirs!r} becomes {mine!r}")
        if shared and _says_no_more(new, known[at], overlap_with):
            return Decision(Action.IGNORE, at, f"{min(shared)} is already known")
    return None


def _says_no_more(new: Statement, candidate: Known, shared: Overlap) -> bool:
    if new.confirms:
        return True
    return new.polarity == candidate.statement.polarity and (
        shared.covering >= SAME_COVERING or candidate.cosine >= NEAR_COSINE
    )


def _number(new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    for at in sorted(overlaps, key=lambda at: -overlaps[at].score):
        memory, shared = known[at].statement, overlaps[at]
        if known[at].cosine < NUMBER_COSINE or shared.covered < NUMBER_COVERED:
            continue
        for unit, mine, theirs in _pairs(new, memory):
            if mine != theirs:
                return Decision(Action.REVISE, at, f"{unit}: {theirs} becomes {mine}")
            if shared.segment.polarity == memory.polarity or new.confirms:
                return Decision(Action.IGNORE, at, f"{unit} is already known")
    return None


def _pairs(new: Statement, memory: Statement) -> list[tuple[str, str, str]]:
    """Numbers of both that count the same; a bare number stands for the only one the other has."""
    same = [
        (unit, new.numbers[unit], memory.numbers[unit]) for unit in sorted(new.numbers.keys() & memory.numbers.keys())
    ]
    if same:
        return same
    if "bare" in new.numbers and len(memory.numbers) == 1:
        unit, theirs = next(iter(memory.numbers.items()))
        return [(unit, new.numbers["bare"], theirs)]
    return []


def _date(new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    for at, shared in overlaps.items():
        theirs = known[at].statement.dates
        if (
            new.dates
            and theirs
            and not new.dates & theirs
            and known[at].cosine >= DATE_COSINE
            and shared.covered >= DATE_COVERED
        ):
            return Decision(Action.REVISE, at, "the same with another date")
    return None


def _done(new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    """A plan that is no longer one: carried out or given up."""
    for at, shared in overlaps.items():
        memory = known[at].statement
        anchored = bool(memory.names & new.tokens)
        if (
            memory.planned
            and not new.planned
            and not new.confirms
            and (anchored or shared.covered >= PLAN_COVERED)
            and known[at].cosine >= PLAN_COSINE
        ):
            return Decision(Action.REVISE, at, "the plan was carried out or given up")
    return None


def _repeated(new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    """Said with "still", "as I said": what is near is meant again."""
    if not new.confirms:
        return None
    for at in sorted(overlaps, key=lambda at: -overlaps[at].score):
        memory, shared = known[at].statement, overlaps[at]
        anchored = bool(memory.names & new.tokens)
        if (
            shared.segment.polarity == memory.polarity
            and (anchored or shared.covered >= REPEAT_COVERED)
            and known[at].cosine >= REPEAT_COSINE
        ):
            return Decision(Action.IGNORE, at, "said again")
    return None


def _opposite(_new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    contrary = [at for at, shared in overlaps.items() if shared.segment.polarity != known[at].statement.polarity]
    for at in sorted(contrary, key=lambda at: -overlaps[at].score):
        if _contradicts(
            overlaps[at], known[at], anchored=bool(known[at].statement.names & overlaps[at].segment.tokens)
        ):
            shared = overlaps[at]
            anchored = bool(known[at].statement.names & shared.segment.tokens)
            return Decision(Action.REVISE, at, "the opposite of what was known", firm=anchored or shared.segment.ends)
    return None


def _contradicts(shared: Overlap, candidate: Known, *, anchored: bool) -> bool:
    cosine = candidate.cosine
    if anchored and (shared.covered >= ANCHOR_COVERED or cosine >= ANCHOR_COSINE):
        return True
    if shared.segment.ends and shared.telling and cosine >= ENDING_COSINE:
        return True
    if shared.segment.changes and shared.covered >= CHANGE_COVERED and shared.score >= CHANGE_SCORE:
        return True
    if shared.score >= CONTRARY_SCORE and (shared.covered >= CONTRARY_COVERED or cosine >= CONTRARY_COSINE):
        return True
    return min(shared.covered, shared.covering) >= SHORT_SHARED or cosine >= NEARLY_EQUAL


def _same(_new: Statement, known: Sequence[Known], overlaps: dict[int, Overlap]) -> Decision | None:
    for at in sorted(overlaps, key=lambda at: -overlaps[at].score):
        shared, cosine = overlaps[at], known[at].cosine
        if shared.segment.polarity != known[at].statement.polarity:
            continue
        close = shared.covered >= SAME_COVERED and shared.covering >= SAME_COVERING
        if close or (cosine >= NEAR_COSINE and shared.covered >= NEAR_COVERED) or cosine >= NEARLY_EQUAL:
            return Decision(Action.IGNORE, at, "already known in other words")
    return None
