"""Whether a statement says the opposite of a memory, or ends what it is about."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.changes.linking import only_same_person, predicate
from memstone.core.changes.overlap import only_placed
from memstone.core.changes.pairing import Decision, Pair
from memstone.core.changes.sameness import NEARLY_EQUAL
from memstone.core.changes.statement import Segment, Statement
from memstone.core.rules.signals import NAMING
from memstone.core.rules.stance import is_light, is_negated
from memstone.core.rules.topics import topics_of

ANCHOR_COSINE, ANCHOR_COVERED = 0.3, 0.2
ENDING_COSINE: Final = 0.35
CHANGE_COVERED, CHANGE_SCORE = 0.45, 0.36
CONTRARY_SCORE, CONTRARY_COVERED, CONTRARY_COSINE = 0.42, 0.3, 0.62
SHORT_SHARED: Final = 0.6


def opposite(pairs: list[Pair]) -> Decision | None:
    """What is ended, denied or seen the other way round now."""
    for pair in pairs:
        if (
            pair.new.additional
            or pair.left_behind
            or only_placed(pair.new, pair.memory)
            or only_same_person(pair.new, topics_of(predicate(pair.new)), pair.memory)
            or (pair.new.temporary and not pair.shared.segment.ends)
        ):
            continue
        if _denies_name(pair):
            return pair.revise("what it names is over", plain=_is_that_alone(pair))
        if NAMING.search(pair.memory.said) and not pair.shared.segment.ends:
            continue
        anchored = bool(pair.memory.names & pair.shared.segment.tokens)
        if not pair.agrees and _contradicts(pair, anchored=anchored):
            firm = anchored or pair.shared.segment.ends
            return pair.revise("the opposite of what was known", firm=firm, plain=_is_that_alone(pair))
    return None


def _is_that_alone(pair: Pair) -> bool:
    """Whether both say one and the same thing, the one that it is so and the other that it is not: "I quit smoking"."""
    both = (pair.new, pair.memory)
    if any(len(one.segments) != 1 or one.ahead or one.wished or one.feeling for one in both):
        return False
    telling = any(not is_light(word) for word in pair.new.tokens)
    same = pair.new.tokens == pair.memory.tokens and pair.new.numbers == pair.memory.numbers
    return telling and same and [one.polarity > 0 for one in both] == [not _DENIED.match(one.said) for one in both]


_DENIED: Final = re.compile(
    r"(?:user|i|we|my [\w-]+)(?: (?:has|have|just|finally|also|now))* "
    r"(?:(?:do|does|am|is|are|can) (?:not|no longer)|no longer|quit|stopped|gave up)\b"
)
"""How somebody says of themselves that something is not so, and that alone."""


def _denies_name(pair: Pair) -> bool:
    """Whether a name of a memory stands only in what the new statement ends or denies."""
    standing = frozenset().union(*(part.tokens for part in pair.new.segments if part.polarity > 0))
    instead = (pair.new.names & standing) - pair.memory.tokens
    parts = (part for part in pair.new.segments if part.polarity < 0 and (instead or _turns_down(part, pair.memory)))
    against = frozenset().union(*(part.tokens for part in parts))
    denied = pair.memory.names & (against - standing)
    return bool(denied) and pair.memory.polarity > 0 and pair.cosine >= ANCHOR_COSINE


def _turns_down(part: Segment, memory: Statement) -> bool:
    """Whether a segment ends or denies something; what is only disliked goes on, unless it was liked."""
    return part.ends or is_negated(part.said) or memory.feeling or part.replaced


def _contradicts(pair: Pair, *, anchored: bool) -> bool:
    return (
        (anchored and (pair.shared.covered >= ANCHOR_COVERED or pair.cosine >= ANCHOR_COSINE))
        or _ends_it(pair)
        or _is_contrary(pair)
        or min(pair.shared.covered, pair.shared.covering) >= SHORT_SHARED
        or pair.cosine >= NEARLY_EQUAL
    )


def _ends_it(pair: Pair) -> bool:
    """Whether the new statement ends, or comes to like, what only this memory is about."""
    part, shared = pair.shared.segment, pair.shared
    ended = part.ends and (shared.telling or shared.covering >= NEARLY_EQUAL)
    liked = part.glad and shared.telling and shared.stance < 0
    return (ended or liked) and pair.cosine >= ENDING_COSINE


def _is_contrary(pair: Pair) -> bool:
    """Whether enough is shared for the other stance to be about the same thing."""
    shared = pair.shared
    if shared.segment.changes and shared.covered >= CHANGE_COVERED and shared.score >= CHANGE_SCORE:
        return True
    enough = shared.covered >= CONTRARY_COVERED or pair.cosine >= CONTRARY_COSINE
    return shared.score >= CONTRARY_SCORE and enough
