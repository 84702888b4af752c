"""A session in few words, without a model: its most telling sentences, as they were said, by whom.

Nothing is worded anew, so nothing can be invented. A sentence is telling when it states a fact, decides something,
names somebody, or is about what the session comes back to; those that say something the others do not come first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.digest.lists import action_items, decisions, is_decided, is_to_do
from memstone.core.digest.model import Digest, cut
from memstone.core.digest.told import Sentence, told
from memstone.core.digest.topics import named, topics
from memstone.model.curator import Curator
from memstone.model.message import Message

SENTENCES: Final = 3
_SHORT: Final = 4
"""Fewer words than this weigh no more for being few."""

_FACT_BONUS: Final = 1.0
_NAME_BONUS: Final = 0.5
_FIRST_BONUS: Final = 0.5
"""What the user tells first is what they came for."""

_ASSISTANT_SHARE: Final = 0.6
"""What an assistant says counts less: it is the user's memory."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact that somebody found in a session, by the place of its evidence; ``turn`` counts from 0."""

    turn: int
    start: int
    end: int
    category: str = ""
    salience: float = 0.5


def extractive(
    turns: Sequence[Message], stated: Sequence[Stated] = (), curator: Curator | None = None
) -> Digest | None:
    """The digest of a session; None when nothing in it tells anything."""
    sentences = told(turns, curator)
    facts = _marked(sentences, stated)
    decided = frozenset(at for at, fact in facts.items() if fact.category == "decision")
    settled = decisions(sentences, decided)
    lines = [one.line for one in _chosen(sentences, {at: fact.salience for at, fact in facts.items()})] or settled
    if not lines:
        return None
    names = named(turns)
    return Digest(
        summary=cut("\n".join(lines)),
        topics=topics(turns, sentences, names),
        entities=names,
        decisions=settled,
        action_items=action_items(sentences),
        salience=_salience(stated, decided),
    )


def _marked(sentences: Sequence[Sentence], stated: Sequence[Stated]) -> dict[int, Stated]:
    """The weightiest fact of every sentence that states one."""
    found: dict[int, Stated] = {}
    for one in sorted(stated, key=lambda fact: fact.salience):
        for sentence in sentences:
            if sentence.turn == one.turn and one.start < sentence.end and sentence.start < one.end:
                found[sentence.at] = one
    return found


def _chosen(sentences: Sequence[Sentence], facts: dict[int, float]) -> list[Sentence]:
    """The sentences that together say most, in the order in which they were said."""
    weights = _weights(sentences)
    left = _telling(sentences)
    bonus = {one.at: _FIRST_BONUS for one in [one for one in left if one.role == "user"][:1]}
    chosen: list[Sentence] = []
    covered: set[str] = set()
    while left and len(chosen) < SENTENCES:
        best = max(left, key=lambda one: (_worth(one, weights, facts, covered) + bonus.get(one.at, 0.0), -one.at))
        if chosen and _worth(best, weights, facts, covered) <= 0:
            break
        chosen.append(best)
        covered |= best.terms
        left = [one for one in left if one is not best and one.text != best.text]
    return sorted(chosen, key=lambda one: one.at)


def _telling(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Those that tell something; where the user tells nothing, what they asked for; else what nobody could judge.

    An answer alone is no session: without what the user said nobody knows what it is about.
    """
    telling = [one for one in sentences if not one.empty or is_decided(one) or is_to_do(one)]
    if not any(one.role == "user" for one in telling):
        asked = [one for one in sentences if one.requests]
        telling = [*asked, *telling] if asked else []
    unread = [one for one in sentences if not one.why]
    return telling or [one for one in unread if not one.asks] or unread


def _weights(sentences: Sequence[Sentence]) -> dict[str, float]:
    """How much a word says about a session: more when several turns have it."""
    turns = Counter(term for term, _ in {(term, one.turn) for one in sentences for term in one.terms})
    return {term: 1.0 + math.log(count) for term, count in turns.items()}


def _worth(one: Sentence, weights: dict[str, float], facts: dict[int, float], covered: set[str]) -> float:
    new = one.terms - covered
    value = sum(weights[term] for term in new) / math.sqrt(max(_SHORT, len(one.terms)))
    share = len(new) / len(one.terms) if one.terms else 0.0
    value += share * (_FACT_BONUS * 2 * facts.get(one.at, 0.0) + _NAME_BONUS * min(2, len(one.names)))
    value += _NAME_BONUS * is_decided(one)
    return value * (one.weight or 1.0) * (_ASSISTANT_SHARE if one.role == "assistant" else 1.0)


def _salience(stated: Sequence[Stated], decided: frozenset[int]) -> float:
    """As salient as what it states: chit-chat is little, a decision or a fact about oneself is much."""
    if not stated:
        return 0.3
    most = max(one.salience for one in stated)
    return round(min(0.9, max(most, 0.7 if decided else 0.4)), 2)
