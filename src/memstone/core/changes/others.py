"""Whether a statement is about other people, another goal or other work than a memory, whatever words they share."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.changes.apart import people_in
from memstone.core.changes.statement import SELF, Statement
from memstone.core.rules.stance import content_tokens, is_light
from memstone.core.rules.topics import topics_of
from memstone.core.rules.verbs import is_verb


def is_of_others(new: Statement, memory: Statement) -> bool:
    """Whether only others are spoken of, and a memory is about the speaker and not about these others."""
    if new.subject in (SELF, "baby") or new.others or memory.subject != SELF or memory.others:
        return False
    if new.subject == "partner" and topics_of(memory.said) & _SHARED_LIFE:
        return False
    if _OF_SPEAKER.search(new.said.partition(" ")[2]) or new.names & memory.whole:
        return False
    return not people_in(new.said) & people_in(memory.said)


_SHARED_LIFE: Final = frozenset("love wedding baby home household trip pet car money".split())
"""Kinds of what two partners have together."""

_OF_SPEAKER: Final = re.compile(r"\b(?:user|i|me|my|we|us|our|their)\b")


_GOAL: Final = re.compile(
    r"^(?:to (?P<to>[^,:]+)[,:]"
    r"|(?:my|our|the) (?P<of>[\w -]+?) (?:process|procedure|workflow|steps|checklist|routine)\b)"
)


def has_another_goal(new: Statement, memory: Statement) -> bool:
    """Whether both say how something is done, and it is something else: to deploy, and to release."""
    mine, theirs = _goal(new), _goal(memory)
    return bool(mine and theirs) and not mine & theirs


def _goal(one: Statement) -> frozenset[str]:
    found = _GOAL.match(one.said)
    return content_tokens(found["to"] or found["of"]) if found else frozenset()


_FINISHED: Final = re.compile(
    r"^(?:user|i|we) (?:\w+ )?(?:finished|completed|wrapped up) (?:with )?(?:my|the|our|their|an?) (?P<what>[^,.;!]+)"
)


def finished_another(new: Statement, memory: Statement) -> bool:
    """Whether something was finished that a memory has no word of: dishes, where a novel is being written."""
    found = _FINISHED.match(new.said)
    done = {word for word in content_tokens(found["what"]) if not is_light(word)} if found else set()
    return bool(done) and not done & memory.whole and not topics_of(new.said) & topics_of(memory.said)


def does_another(new: Statement, memory: Statement) -> bool:
    """Whether both share only what is done, and each says of something else: "ran to the bus", "run a marathon"."""
    mine, theirs = ({word for word in one.tokens if not is_light(word)} for one in (new, memory))
    return bool(mine - theirs and theirs - mine and mine & theirs) and all(map(is_verb, mine & theirs))
