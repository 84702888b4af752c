"""How much two statements share, in words that tell something."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.changes.statement import Segment, Statement, is_light
from memstone.core.rules.stance import content_tokens

LIGHT_WEIGHT: Final = 0.3


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two statements share: of the memory's words, of the new one's, and both with the cosine.

    ``segment`` is the part of the new statement that shares most, ``stance`` the memory's stance on what they share;
    ``telling`` says that a word is shared that no other memory has.
    """

    covered: float
    covering: float
    score: float
    segment: Segment
    stance: int = 1
    telling: bool = False


def weights_of(statements: Sequence[Statement]) -> dict[str, float]:
    """How telling a word is among the compared memories."""
    total = len(statements)
    counts: dict[str, int] = {}
    for statement in statements:
        for token in statement.tokens:
            counts[token] = counts.get(token, 0) + 1
    return {token: math.log(1 + (total + 1) / (count + 0.5)) for token, count in counts.items()}


def overlap(new: Statement, memory: Statement, cosine: float, weights: dict[str, float]) -> Overlap:
    """The segment of the new statement that shares most with a memory; of equals, what was given up."""
    who = new.about
    tokens = memory.tokens - who
    best = Overlap(0.0, 0.0, 0.5 * cosine, Segment(frozenset(), 1, changes=False), memory.polarity)
    for segment in new.segments:
        covered = _share(tokens, segment.tokens, weights)
        covering = _share(segment.tokens - who, tokens, weights)
        if (covered, segment.replaced, covering) > (best.covered, best.segment.replaced, best.covering) or (
            not best.segment.tokens
        ):
            score = 0.5 * covered + 0.5 * cosine
            stance = _stance(memory, segment)
            best = Overlap(covered, covering, score, segment, stance, _telling(tokens & segment.tokens, weights))
    return best


_ENDED: Final = re.compile(
    r"\b(?:sold|lost|quit|dropped|switched|swapped|replaced|changed|cancel+ed|gave (?:up|away)|got rid of|ditched"
    r"|broke|finished)"
    r" (?:my|the|his|her|their|user's|an?|\d+) (?P<what>(?:[\w-]+ ){1,3}?)(?P<where>(?:in|on|at|from|near) .+)$"
)


def only_placed(new: Statement, memory: Statement) -> bool:
    """Whether a statement ends something else, and shares with a memory only where that was: "sold a lamp on eBay"."""
    found = _ENDED.search(new.said)
    if not found or content_tokens(found["what"]) & memory.tokens:
        return False
    shared = {word for word in new.tokens & memory.tokens if not is_light(word)}
    return bool(shared) and shared <= content_tokens(found["where"])


def _stance(memory: Statement, segment: Segment) -> int:
    """The stance of that part of a memory which shares most with a segment."""
    if not memory.segments:
        return 1
    return max(memory.segments, key=lambda part: len(part.tokens & segment.tokens)).polarity


def _telling(shared: frozenset[str], weights: dict[str, float]) -> bool:
    most = max(weights.values(), default=0.0)  # the weight of a word that only one of the compared memories has
    return any(not is_light(token) and weights.get(token, 0.0) >= most for token in shared)


def _share(of: frozenset[str], within: frozenset[str], weights: dict[str, float]) -> float:
    unseen = math.log(1 + (len(weights) and 2.0))

    def weigh(token: str) -> float:
        return weights.get(token, unseen) * (LIGHT_WEIGHT if is_light(token) else 1.0)

    total = sum(map(weigh, of))
    return sum(map(weigh, of & within)) / total if total else 0.0
