"""What can be said of a new statement beside a memory, as numbers; the weights of ``change_judge`` are fitted to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from memstone.core.changes.linking import people_named, predicate
from memstone.core.changes.overlap import Overlap, overlap, weights_of
from memstone.core.changes.pairing import Action, Decision, Known
from memstone.core.changes.statement import SELF, Statement
from memstone.core.rules.signals import (
    BEGUN,
    BESIDE,
    DONE,
    EXCHANGED,
    HISTORY,
    NAMING,
    NOW,
    ONE_MORE,
    ONGOING,
    OVER,
    signals_of,
)
from memstone.core.rules.stance import is_light
from memstone.core.rules.topics import ONE_AT_A_TIME, topics_of

Features: TypeAlias = dict[str, float]

_SIGNALS: Final = (OVER, EXCHANGED, DONE, NOW, BEGUN)
_MARKS: Final = ("additional", "temporary", "once", "wished", "planned", "feeling", "turned", "confirms")
_HALF_NEAR, _VERY_NEAR = 0.45, 0.65
_MOST_NEWS, _LONG, _LONG_MEMORY = 6, 40, 20
_SEVERAL: Final = 2
_UNRELATED: Final = 0.2
"""So near is what has nothing to do with a statement; who knows little has no other memory that is."""


@dataclass(frozen=True, slots=True)
class Said:
    """A new statement with the message it was made in, and what the rules would do."""

    statement: Statement
    message: str
    """In lower case."""
    rule: Decision
    adds: bool
    """Whether it may be stored, and does not only tell of a change."""


def features(said: Said, known: Sequence[Known]) -> list[Features]:
    """For each memory what it has to do with a statement; what is about nearness begins with ``near``."""
    weights = weights_of([one for memory in known for one in memory.statement.everybody])
    people = people_named(said.statement, known)
    whole = _of_message(said)
    told = [_told(one) for one in known]
    found: list[Features] = []
    for at, one in enumerate(known):
        mine, theirs, shared = _closest(said.statement, one, weights)
        pair = {**whole, **_words(said.statement, one, shared), **_about(mine, theirs, people)}
        pair |= _of_memory(theirs) | _by_rule(said.rule, at) | _nearness(at, known, told)
        pair["near if nothing changes"] = one.cosine * whole["no signal"]
        pair["near if only told"] = one.cosine * (not said.adds)
        pair["near if ongoing"] = one.cosine * pair["memory ongoing"]
        pair["near if planned"] = one.cosine * pair["memory planned"]
        found.append(pair)
    return found


def _told(one: Known) -> float:
    return one.cosine if one.told is None else one.told


def _closest(new: Statement, one: Known, weights: dict[str, float]) -> tuple[Statement, Statement, Overlap]:
    """The parts of both that are about the same person and share most."""
    pairs = (
        (mine, theirs, overlap(mine, theirs, one.cosine, weights))
        for mine in new.everybody
        for theirs in one.statement.everybody
    )
    return max(pairs, key=lambda pair: (pair[0].subject == pair[1].subject, pair[2].covered + pair[2].covering))


def _of_message(said: Said) -> Features:
    """What a statement says by itself."""
    new = said.statement
    signals = frozenset().union(*(signals_of(one.said) for one in new.everybody))
    around = signals_of(said.message)
    found = {f"tells {name}": float(name in signals) for name in _SIGNALS}
    found |= {f"message tells {name}": float(name in around) for name in _SIGNALS}
    found |= {f"new {name}": float(getattr(new, name)) for name in _MARKS}
    text = new.text.lower()
    return found | {
        "no signal": float(not signals - {BEGUN}),
        "beside": float(bool(BESIDE.search(text))),
        "one more": float(bool(ONE_MORE.search(text))),
        "only told": float(not said.adds),
        "length": min(_LONG, len(text.split())) / _LONG,
        "ends": float(any(part.ends for part in new.segments)),
        "changes": float(any(part.changes for part in new.segments)),
        "new negative": float(new.polarity < 0),
        "of something owned": float(text.startswith("user's ")),
    }


def _words(new: Statement, one: Known, shared: Overlap) -> Features:
    """Which words and names both have, and which only one of them."""
    mine = {word for word in new.whole if not is_light(word)}
    whole = one.statement.whole
    theirs = {word for word in whole if not is_light(word)}
    names, both = one.statement.names, mine & whole
    named, unnamed = bool(new.names - whole), bool(names - new.whole)
    return {
        "covered": shared.covered,
        "covering": shared.covering,
        "telling": float(shared.telling),
        "opposite": float(shared.segment.polarity != shared.stance),
        "several shared": float(len(both) >= _SEVERAL),
        "none shared": float(not both),
        "news": len(mine - whole) / max(1, len(mine)),
        "much news": min(_MOST_NEWS, len(mine - whole)) / _MOST_NEWS,
        "left": len(theirs - new.whole) / max(1, len(theirs)),
        "shared name": float(bool(names & new.whole)),
        "new name": float(named),
        "old name": float(unnamed),
        "other name": float(named and unnamed),
    }


def _about(new: Statement, memory: Statement, people: frozenset[str]) -> Features:
    """Whom and what both are about."""
    mine, theirs = topics_of(predicate(new)), topics_of(predicate(memory))
    units = new.numbers.keys() & memory.numbers.keys()
    return {
        "same person": float(new.subject == memory.subject),
        "both of oneself": float(new.subject == memory.subject == SELF),
        "memory of another": float(memory.subject != SELF and new.subject == SELF),
        "new of another": float(new.subject != SELF and memory.subject == SELF),
        "person by name": float(memory.subject in people),
        "kind": float(bool(mine & theirs)),
        "kind of one": float(bool(mine & theirs & ONE_AT_A_TIME)),
        "other kind": float(bool(mine & ONE_AT_A_TIME and theirs & ONE_AT_A_TIME and not mine & theirs)),
        "no kind": float(not mine),
        "memory of no kind": float(not theirs),
        "other number": float(any(new.numbers[unit] != memory.numbers[unit] for unit in units)),
        "new number": float(bool(new.numbers) and not memory.numbers),
        "old number": float(bool(memory.numbers) and not new.numbers),
        "other date": float(bool(new.dates - memory.dates and memory.dates - new.dates)),
        "same date": float(bool(new.dates & memory.dates)),
    }


def _of_memory(memory: Statement) -> Features:
    """What a memory says by itself."""
    return {
        "memory ongoing": float(bool(ONGOING.search(memory.said))),
        "memory of the past": float(bool(HISTORY.match(memory.said))),
        "memory of a name": float(bool(NAMING.search(memory.said))),
        "memory planned": float(memory.planned),
        "memory wished": float(memory.wished),
        "memory feels": float(memory.feeling),
        "memory negative": float(memory.polarity < 0),
        "memory length": min(_LONG_MEMORY, len(memory.text.split())) / _LONG_MEMORY,
    }


def _by_rule(rule: Decision, at: int) -> Features:
    """What the rules would do with this memory."""
    changes = rule.action in (Action.REVISE, Action.RETRACT)
    return {
        "rule changes it": float(changes and rule.target == at),
        "rule knows it": float(rule.action is Action.IGNORE and rule.target == at),
        "rule adds": float(rule.action is Action.ADD),
        "rule changes another": float(changes and rule.target != at),
    }


def _nearness(at: int, known: Sequence[Known], told: Sequence[float]) -> Features:
    """How near a memory is to the statement and to its whole message, and how much nearer than any other."""
    cosine, whole = known[at].cosine, told[at]
    others = [one.cosine for place, one in enumerate(known) if place != at]
    apart = cosine - max([*others, _UNRELATED])
    return {
        "near": cosine,
        "near half": max(0.0, cosine - _HALF_NEAR),
        "near very": max(0.0, cosine - _VERY_NEAR),
        "near apart": apart,
        "near nearest": float(apart >= 0),
        "near second": float(sum(other > cosine for other in others) == 1),
        "near message": whole,
        "near message apart": whole - max([*(one for place, one in enumerate(told) if place != at), _UNRELATED]),
        "near both": (cosine + whole) / 2,
        "near either": max(cosine, whole),
    }
