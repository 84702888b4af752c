"""Searches that ask no channel: the newest, or the newest that hold the words of the question literally."""

from __future__ import annotations

from typing import Final

from memstone.core.ranking.fusion import Scored
from memstone.core.text.clues import by_keywords, by_labels, by_word_starts
from memstone.engine.asking import Search
from memstone.engine.parts import Parts
from memstone.engine.recall.ranking import Hit
from memstone.model.memory import Found
from memstone.model.query import And, Condition, Op, ScoreParts

LOOKED_AT: Final = 100
"""How many of the newest memories are compared with a question literally."""

NEWEST_PER_HIT, NEWEST_AT_LEAST = 50, 250
"""How many of the newest are looked through for beginnings of words: so many for each hit that is wanted."""


async def newest(parts: Parts, wanted: Search) -> list[Hit]:
    """What there is, most recent first, whatever the question is."""
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=wanted.limit))
    return [(found, Scored(found.record.seq, 0.0, ScoreParts())) for found in rows]


async def literal(parts: Parts, wanted: Search) -> list[Hit]:
    """The newest that hold the question's words, by how often they do; the best one scores 1."""
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=LOOKED_AT))
    ranked = by_keywords(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_hit(found, points / best) for found, points in ranked]


async def labelled(parts: Parts, wanted: Search) -> list[Hit]:
    """Return, of the newest, what holds the question's words in its key or metadata; the best one scores a half."""
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=LOOKED_AT))
    ranked = by_labels(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_hit(found, points / best / 2) for found, points in ranked]


async def containing(parts: Parts, wanted: Search) -> list[Hit]:
    """Return what holds the question as it is written, most recent first, for a question without any word."""
    text = Condition("text", Op.ICONTAINS, wanted.query.strip())
    rows = await parts.ledger.read(lambda tx: tx.memories.find(And((wanted.where, text)), limit=wanted.limit))
    return [_hit(found, 1.0) for found in rows]


async def beginning(parts: Parts, wanted: Search) -> list[Hit]:
    """Return, of the newest, what has words that begin as those of the question do; the best one scores a half."""
    looked_at = max(NEWEST_PER_HIT * wanted.limit, NEWEST_AT_LEAST)
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=looked_at))
    ranked = by_word_starts(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_hit(found, points / best / 2) for found, points in ranked]


def _hit(found: Found, share: float) -> Hit:
    return found, Scored(found.record.seq, share, ScoreParts(keyword=share), share)
