"""A change told in any words, and the memory it is about.

Slots, numbers and shared words decide most cases. What is left is a statement that tells of a change ("axed", "went
with", "as of today") near one memory: how near it has to be depends on what else links the two, a name, a word or the
kind of thing both speak of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.changes.apart import names_another, other_value
from memstone.core.changes.measured import counts_something_else, is_of_another_sort
from memstone.core.changes.moved import is_moved_to_another
from memstone.core.changes.others import finished_another, has_another_goal, is_of_others
from memstone.core.changes.overlap import only_placed
from memstone.core.changes.pairing import Action, Decision, Known
from memstone.core.changes.passing import is_passing
from memstone.core.changes.slots import same_value
from memstone.core.changes.statement import SELF, Statement
from memstone.core.rules.guarded import may_end
from memstone.core.rules.owners import SAME_PERSON
from memstone.core.rules.signals import (
    BEGUN,
    BESIDE,
    BOOKED,
    DONE,
    EXCHANGED,
    HISTORY,
    NAMING,
    NEW_PART,
    NOW,
    ONGOING,
    OVER,
    PLAIN,
    PURPOSE,
    signals_of,
    tells_change,
)
from memstone.core.rules.stance import is_light, token
from memstone.core.rules.topics import ONE_AT_A_TIME, topics_of
from memstone.core.text.lexicon import KIN

NEAR: Final = {OVER: 0.4, EXCHANGED: 0.42, NOW: 0.48, DONE: 0.45, BEGUN: 0.75, PLAIN: 0.75}
"""How near a memory has to be for each way to tell of a change."""

NEAR_PLAN: Final = 0.6
"""How near a plan has to be to what is told as done."""

SAME_KIND, SAME_NAME, SAME_WORD = 0.28, 0.2, 0.1
"""What a shared kind of thing, a shared name and a shared word count for."""

OTHER_KIND: Final = 0.12
"""What it counts against a link that both speak of kinds of things, and of different ones."""

UNSHARED: Final = 0.15
"""So much nearer it has to be where nothing is shared but a meaning."""

MARGIN: Final = 0.05
"""How much nearer than any other memory it has to be."""

NEARER_IN_MEANING: Final = 0.1
"""So much nearer in meaning another memory makes it unclear which one has changed."""

FAR_APART, EASED = 0.15, 0.05
"""So much nearer than any other it may be less near."""

LEAST_COSINE: Final = 0.12

_OF_PEOPLE: Final = frozenset({"love", "school", "name", "boss", "home"})
"""Kinds in which another state of the same person is a change."""


_BETWEEN_TWO: Final = frozenset({"love", "wedding"})
"""Kinds of what is between two people: it says nothing of how one of them is."""

_STEPS: Final = frozenset({"love", "wedding", "baby", "provider", "age", "name"})
"""Kinds in which what is told without any word of change still takes the place of what was."""


@dataclass(frozen=True, slots=True)
class _Link:
    at: int
    nearness: float
    cosine: float
    memory: Statement
    by_name: bool
    """Whether both name the same: what is said of it beside a change is one more fact about it."""
    of_another_sort: bool
    """Whether only the memory names somebody, or they take different stances."""
    shares: bool
    """Whether a kind, a name or a word is shared, and not only a meaning."""
    unread: bool
    """Whether no model reads it as well, so that a meaning alone has to be nearer."""
    steps: bool
    """Whether a kind is shared in which one state follows the other."""


def link(new: Statement, known: Sequence[Known]) -> Decision | None:
    """Revise the memory that a told change is about, if exactly one is near enough."""
    if new.confirms or new.additional or new.temporary or new.denied:
        return None
    return _linked(new, known, signals_of(new.said) - {BEGUN})


def replace_of_a_kind(new: Statement, known: Sequence[Known]) -> Decision | None:
    """Revise the memory that names another one of a kind of which there is one at a time, if it is very near."""
    if new.confirms or new.additional or new.temporary or new.denied or new.wished or new.ahead:
        return None
    if BOOKED.search(new.said):
        return None
    return _linked(new, known, frozenset({BEGUN}) if BEGUN in signals_of(new.said) else frozenset({PLAIN}))


def _linked(new: Statement, known: Sequence[Known], signals: frozenset[str]) -> Decision | None:
    if not signals or (new.wished and OVER not in signals) or BESIDE.search(new.text.lower()):
        return None
    ending = bool(signals & {OVER, EXCHANGED})
    if not ending and new.subject == SELF and NEW_PART.match(new.said):
        return None
    links = sorted(_links(new, known, ending=ending), key=lambda one: -one.nearness)
    if not links:
        return None
    first = links[0]
    apart = first.nearness - max((one.nearness for one in links[1:] if one.at != first.at), default=0.0)
    eased = EASED if apart >= FAR_APART and first.shares else 0.0
    if not ending and max(one.cosine for one in links) - first.cosine > NEARER_IN_MEANING:
        return None
    if apart < MARGIN or not any(_is_near(first, signal, eased) for signal in signals):
        return None
    firm = any(_is_near(first, signal, eased) for signal in signals if signal not in (BEGUN, PLAIN))
    plain = is_moved_to_another(new, first.memory, [one.memory for one in links if one.at != first.at])
    why = "a change of what is known"
    return Decision(Action.REVISE, first.at, why, firm, linked=True, loose=not first.shares, plain=plain)


def _is_near(found: _Link, signal: str, eased: float) -> bool:
    if signal in (BEGUN, PLAIN) and found.memory.planned:
        return found.nearness >= NEAR_PLAN
    if signal in (BEGUN, PLAIN) and (not found.steps or found.by_name or found.of_another_sort):
        return False
    far = UNSHARED if found.unread and not found.shares else 0.0
    return found.nearness >= NEAR[signal] + far - eased and (signal != DONE or bool(ONGOING.search(found.memory.said)))


def _links(new: Statement, known: Sequence[Known], *, ending: bool) -> list[_Link]:
    """The memories a change may be about; what only begins shares a kind of which there is one at a time."""
    kin = people_named(new, known)
    said = _LOST.sub(r"\1\2", predicate(new)) if ending else PURPOSE.sub("", predicate(new))
    kinds = topics_of(said) if ending else (topics_of(said) & ONE_AT_A_TIME) - {"name"}
    return [
        _link(at, new, kinds, memory, one)
        for at, one in enumerate(known)
        if not one.fresh and one.cosine >= LEAST_COSINE
        for memory in one.statement.everybody
        if not (_says_the_same(new, memory) or HISTORY.match(memory.said) or _only_names(memory, kinds))
        if (ending or not _is_somebody_unnamed(new, memory)) and not only_same_person(new, kinds, memory)
        if not only_placed(new, memory) and not is_about_another(new, memory) and not _is_kin_that_stays(new, memory)
        if may_end(new.said, memory.text)
        if memory.subject == new.subject or memory.subject in kin or memory.names & new.tokens
    ]


_LOST: Final = re.compile(
    r"\b((?:lost|broke|dropped|sold|binned|threw out) (?:my|the|our|their) )(?:[\w'-]+ ){1,8}?([\w'-]+)"
    r"(?=$|[.,;!?]| (?:in|on|at|to|for|and|so|yesterday|today|last|this|again)\b)"
)
"""Who loses their car keys has lost keys, and no car."""

_HAS_KIN: Final = re.compile(
    r"^(?:user|i|we) (?:have|has) (?:[\w'-]+ ){0,3}?"
    r"(?:kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|siblings|twins|grandchildren)\b"
)
_NO_MORE: Final = re.compile(r"\b(?:died|dead|passed away|killed|stillborn|estranged|adopted|born|had another)\b")


def _is_kin_that_stays(new: Statement, memory: Statement) -> bool:
    """Whether a memory says which children or siblings somebody has: what these do or stop doing does not end it."""
    return bool(_HAS_KIN.match(memory.said)) and not _NO_MORE.search(new.said) and not new.numbers


def is_about_another(new: Statement, memory: Statement) -> bool:
    """Whether a statement is about another individual or thing, a moment, or only a plan, or leaves a plan as it is.

    Such a statement takes the place of nothing, by whatever means that is decided.
    """
    if names_another(new, memory) or is_of_another_sort(new, memory) or is_passing(new, memory):
        return True
    if is_of_others(new, memory) or counts_something_else(new, memory) or has_another_goal(new, memory):
        return True
    if finished_another(new, memory):
        return True
    if new.ahead and not memory.ahead:
        return True
    kinds = topics_of(predicate(new))
    if not memory.ahead or tells_change(new.said):
        return bool(kinds & _BETWEEN_TWO) and only_same_person(new, kinds, memory)
    shared = any(not is_light(word) for word in new.whole & memory.whole)
    return not shared if new.ahead else other_value(new, memory)


def predicate(statement: Statement) -> str:
    """What is said of one of the speaker's people, without who it is: "my wife" is no matter of love there."""
    return statement.said if statement.subject == SELF or _is_who(statement) else _SOMEBODY.sub("", statement.said)


_SOMEBODY: Final = re.compile(
    rf"^my (?:\w+ )?(?:{'|'.join(sorted(KIN))})\b(?: [\w'-]+)??"
    r"(?= (?:is|are|was|has|have|had|\w+s|\w+ed)\b)(?! (?:and|or)\b)"
)


def people_named(new: Statement, known: Sequence[Known]) -> frozenset[str]:
    """Who of the speaker's people a statement names: "Dominic", where it is known that the husband is called so."""
    named = (one.statement.said for one in known if one.statement.names & new.tokens)
    return frozenset(SAME_PERSON.get(word, word) for said in named for word in said.split() if word in KIN)


def only_same_person(new: Statement, kinds: frozenset[str], memory: Statement) -> bool:
    """Whether two statements about one of the speaker's people have nothing in common but who it is."""
    first = _NAMED_FIRST.match(memory.text)
    named = frozenset({token(first[0].lower())} if first and kinds & _BETWEEN_TWO else ())
    is_person = memory.subject != SELF or bool(named & new.tokens)
    if not is_person or _is_who(memory) or new.subject not in (SELF, memory.subject):
        return False
    alike = (new.tokens & memory.tokens) - new.about - memory.names - _WHO - named
    return not kinds & topics_of(predicate(memory)) and not any(not is_light(word) for word in alike)


_WHO: Final = frozenset(map(token, KIN))
_NAMED_FIRST: Final = re.compile(r"(?!User\b)[A-ZÀ-ÖØ-Þ][\w-]+(?= (?:is|was|has|\w+s)\b)")


def _is_somebody_unnamed(new: Statement, memory: Statement) -> bool:
    """Whether a memory says who somebody's dentist or boss is, and the new statement names nobody."""
    return not new.names and _is_who(memory)


def _is_who(memory: Statement) -> bool:
    return any(slot.startswith("person:") for slot in memory.slots)


def _only_names(memory: Statement, kinds: frozenset[str]) -> bool:
    """Whether a memory only says how somebody is called, and the change is about something else."""
    return bool(NAMING.search(memory.said)) and not kinds & topics_of(memory.said)


def _link(at: int, new: Statement, kinds: frozenset[str], memory: Statement, one: Known) -> _Link:
    shared = kinds & topics_of(predicate(memory))
    by_name = bool(memory.names & new.tokens) and not shared & _OF_PEOPLE
    nearness = _nearness(new, kinds, memory, one.cosine)
    return _Link(
        at,
        nearness,
        one.cosine,
        memory,
        by_name,
        shares=nearness > one.cosine,
        unread=one.told is None,
        steps=bool(shared & _STEPS),
        of_another_sort=_is_somebody_unnamed(new, memory) or new.polarity != memory.polarity,
    )


def _says_the_same(new: Statement, memory: Statement) -> bool:
    """Whether both fill a slot with the same value, so that there is nothing to change."""
    both = new.slots.keys() & memory.slots.keys()
    return any(same_value(new.slots[slot], memory.slots[slot]) for slot in both)


def _nearness(new: Statement, kinds: frozenset[str], memory: Statement, cosine: float) -> float:
    shared = (new.tokens & memory.tokens) - new.about - frozenset(map(token, new.dates))
    nearness = cosine
    if memory.names & shared:
        nearness += SAME_NAME
    elif any(not is_light(word) for word in shared):
        nearness += SAME_WORD
    theirs = topics_of(predicate(memory))
    if kinds & theirs:
        return nearness + SAME_KIND
    apart = bool(kinds & ONE_AT_A_TIME and theirs & ONE_AT_A_TIME) and not memory.names & shared
    return nearness - OTHER_KIND if apart else nearness
