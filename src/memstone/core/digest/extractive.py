"""A session in few words, without a model: its most telling sentences, as they were said, by whom.

Nothing is worded anew, so nothing can be invented. A sentence is telling when it states a fact, names somebody, or is
about what the session comes back to; those that say something the others do not are taken first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.digest.lists import action_items, decisions
from memstone.core.digest.model import Digest, cut
from memstone.core.digest.told import Sentence, told
from memstone.core.digest.topics import is_telling, named, topics
from memstone.model.message import Message

SENTENCES: Final = 3
_SHORT: Final = 4
"""Fewer words than this weigh no more for being few."""

_FACT_BONUS: Final = 1.0
_NAME_BONUS: Final = 0.5
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


def extractive(turns: Sequence[Message], stated: Sequence[Stated] = ()) -> Digest | None:
    """The digest of a session; None when nothing in it tells anything."""
    sentences = told(turns)
    facts = _marked(sentences, stated)
    chosen = _chosen(sentences, {at: fact.salience for at, fact in facts.items()})
    if not chosen:
        return None
    names = named(turns)
    decided = frozenset(at for at, fact in facts.items() if fact.category == "decision")
    return Digest(
        summary=cut("\n".join(one.line for one in chosen)),
        topics=topics(turns, sentences, names),
        entities=names,
        decisions=decisions(sentences, decided),
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
    left = [one for one in sentences if not one.empty] or [one for one in sentences if not one.asks] or list(sentences)
    chosen: list[Sentence] = []
    covered: set[str] = set()
    while left and len(chosen) < SENTENCES:
        best = max(left, key=lambda one: (_worth(one, weights, facts, covered), -one.at))
        if chosen and _worth(best, weights, facts, covered) <= 0:
            break
        chosen.append(best)
        covered |= best.terms
        left = [one for one in left if one is not best and one.text != best.text]
    return sorted(chosen, key=lambda one: one.at)


def _weights(sentences: Sequence[Sentence]) -> dict[str, float]:
    """How much a word says about a session: more when several turns have it, nothing when any talk would."""
    turns = Counter(term for term, _ in {(term, one.turn) for one in sentences for term in one.terms})
    return {term: 1.0 + math.log(count) if is_telling(term) else 0.0 for term, count in turns.items()}


def _worth(one: Sentence, weights: dict[str, float], facts: dict[int, float], covered: set[str]) -> float:
    new = one.terms - covered
    value = sum(weights[term] for term in new) / math.sqrt(max(_SHORT, len(one.terms)))
    share = len(new) / len(one.terms) if one.terms else 0.0
    value += share * (_FACT_BONUS * 2 * facts.get(one.at, 0.0) + _NAME_BONUS * min(2, len(one.names)))
    return value * (_ASSISTANT_SHARE if one.role == "assistant" else 1.0)


def _salience(stated: Sequence[Stated], decided: frozenset[int]) -> float:
    """As salient as what it states: chit-chat is little, a decision or a fact about oneself is much."""
    if not stated:
        return 0.3
    most = max(one.salience for one in stated)
    return round(min(0.9, max(most, 0.7 if decided else 0.4)), 2)
