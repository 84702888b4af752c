"""What users say, read together with the memories near it, before any transaction is open.

The curator is asked once for a message of a few lines, with the few memories that are nearest to what it states; of a
longer one, once for each of the statements that are near something. A language model that is configured decides by
itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from memstone.core.changes.decide import odds_of, shared_words
from memstone.core.rules.sentence import as_user
from memstone.engine.learning.relate import Fact, Related, related
from memstone.engine.parts import Parts
from memstone.model.curator import Curator
from memstone.model.scope import Scope

MOST_MEMORIES: Final = 4
SHARED, MOST_SHARED = 0.15, 3
"""So much nearer is a memory for each word it shares with a message, up to so many words."""

LEAST, NEAR = 0.15, 0.3
"""A memory that is less near than the first to all that a message states has nothing to do with it; one that is less
near than the second only where they share a word that tells something."""

FEW_WORDS: Final = 50
MOST_OF_A_TALE: Final = 3
"""Of a longer message so many statements are read, each by itself."""


async def read_changes(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> None:
    """Note on every fact how likely it replaces each of the memories near it."""
    asked = [fact for fact in facts if fact.near and not fact.candidate.forget and fact.turn.message.role == "user"]
    if parts.curator is None or not asked:
        return
    near = await related(parts, scope, asked, signature)
    around = {id(fact): _nearest(found, measured=bool(signature)) for fact, found in zip(asked, near, strict=True)}
    for message, stated in _by_message(asked, around):
        memories = list({one.seq: one for fact in stated for one in around[id(fact)]}.values())
        memories = [one for one in memories if one.cosine >= NEAR or shared_words(message, one.text)]
        memories = sorted(memories, key=lambda one: _distance(message, one))[:MOST_MEMORIES]
        if memories:
            odds = await parts.io.compute(partial(_odds, parts.curator, message, memories))
            _note(stated, around, odds)


def _distance(message: str, one: Related) -> float:
    """How far a memory is from a message: by what they mean, and by the words that they share."""
    return -one.cosine - SHARED * min(MOST_SHARED, shared_words(message, one.text))


def _odds(curator: Curator, message: str, memories: Sequence[Related]) -> dict[int, float]:
    rows = curator.read_list(message, [one.as_user for one in memories])
    return dict(zip((one.seq for one in memories), odds_of(rows), strict=True))


def _note(stated: Sequence[Fact], around: dict[int, list[Related]], odds: dict[int, float]) -> None:
    """Give the odds of each memory to the statement that is nearest to it, which is the one that may replace it."""
    for seq, value in odds.items():
        taker = max(stated, key=lambda fact: (fact.adds, *_closeness(fact, around[id(fact)], seq)))
        taker.replaced[seq] = value


def _closeness(fact: Fact, around: Sequence[Related], seq: int) -> tuple[int, float]:
    one = next((one for one in around if one.seq == seq), None)
    return (shared_words(fact.words, one.text), one.cosine) if one else (0, -1.0)


def _nearest(found: Sequence[Related], *, measured: bool) -> list[Related]:
    """Without vectors, what shares words is all there is to go by."""
    return [one for one in found if one.as_user and (not measured or one.cosine >= LEAST)]


def _by_message(facts: Sequence[Fact], around: dict[int, list[Related]]) -> Iterator[tuple[str, list[Fact]]]:
    """What is read at once: a short message with all it states, or one statement of a long one."""
    turns: dict[int, list[Fact]] = {}
    for fact in facts:
        if around[id(fact)]:
            turns.setdefault(id(fact.turn), []).append(fact)
    for stated in turns.values():
        if len(stated[0].turn.text.split()) <= FEW_WORDS:
            yield as_user(stated[0].turn.text, stated[0].who), stated
            continue
        nearest = sorted(stated, key=lambda fact: -max(one.cosine for one in around[id(fact)]))
        yield from ((fact.words, [fact]) for fact in nearest[:MOST_OF_A_TALE])
