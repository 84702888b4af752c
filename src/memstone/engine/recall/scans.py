"""Scan rows without an index: the newest, literal words, beginnings of words, the past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from memstone.core.ranking.fusion import ScoredCandidate, fuse_channels
from memstone.engine.recall.ranking import Hit
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import Search
from memstone.engine.store.embedding import failure_of
from memstone.errors import MemstoneError
from memstone.language.text.bm25 import by_keywords, by_labels, by_word_starts, score_bm25
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.memory import FoundMemory
from memstone.model.query import And, Condition, Op, ScoreParts

if TYPE_CHECKING:
    from memstone.results import Degradation


LOOKED_AT: Final = 100
"""How many of the newest memories are compared with a question literally."""

NEWEST_PER_HIT, NEWEST_AT_LEAST = 50, 250
"""How many of the newest are looked through for beginnings of words: so many for each hit that is wanted."""


async def find_newest_memories(runtime: Runtime, wanted: Search) -> list[Hit]:
    """Return what there is, most recent first, whatever the question is."""
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=wanted.limit))
    return [(found, ScoredCandidate(found.record.seq, 0.0, ScoreParts())) for found in rows]


async def find_literal_matches(runtime: Runtime, wanted: Search) -> list[Hit]:
    """Return the newest that hold the question's words, by how often they do; the best one scores 1."""
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=LOOKED_AT))
    ranked = by_keywords(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_build_hit(found, points / best) for found, points in ranked]


async def find_by_labels(runtime: Runtime, wanted: Search) -> list[Hit]:
    """Return, of the newest, what holds the question's words in its key or metadata; the best one scores a half."""
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=LOOKED_AT))
    ranked = by_labels(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_build_hit(found, points / best / 2) for found, points in ranked]


async def find_containing_text(runtime: Runtime, wanted: Search) -> list[Hit]:
    """Return what holds the question as it is written, most recent first, for a question without any word."""
    text = Condition("text", Op.ICONTAINS, wanted.query.strip())
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(And((wanted.where, text)), limit=wanted.limit))
    return [_build_hit(found, 1.0) for found in rows]


async def find_by_prefix(runtime: Runtime, wanted: Search) -> list[Hit]:
    """Return, of the newest, what has words that begin as those of the question do; the best one scores a half."""
    looked_at = max(NEWEST_PER_HIT * wanted.limit, NEWEST_AT_LEAST)
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=looked_at))
    ranked = by_word_starts(wanted.query, rows)[: wanted.limit]
    best = max((points for _, points in ranked), default=0) or 1
    return [_build_hit(found, points / best / 2) for found, points in ranked]


def _build_hit(found: FoundMemory, share: float) -> Hit:
    return found, ScoredCandidate(found.record.seq, share, ScoreParts(keyword=share), share)


_ROWS: Final = 20_000
_EMBEDDED: Final = 256
"""How many rows are embedded for one question about the past, those with fitting words first, then the newest."""


async def find_past_hits(runtime: Runtime, wanted: Search) -> tuple[list[Hit], list[Degradation]]:
    """Return what a search among what held at ``wanted.as_of`` finds, best first, and what could not serve."""
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=_ROWS))
    by_seq = {found.record.seq: found for found in rows}
    text = _by_words(wanted.query, rows) if wanted.strategy not in {"vector", "semantic"} else []
    dense, degraded = await _by_meaning(runtime, wanted, rows, text)
    ranked = fuse_channels(text, dense, near=frozenset(dense), min_score=wanted.min_score, text_counts=bool(text))
    return [(by_seq[one.seq], one) for one in ranked[: wanted.limit]], degraded


def _by_words(query: str, rows: list[FoundMemory]) -> list[tuple[int, float]]:
    scores = score_bm25(query_terms(query), [document_terms(found.record.text) for found in rows])
    matched = ((found.record.seq, score) for found, score in zip(rows, scores, strict=True) if score > 0)
    return sorted(matched, key=lambda pair: -pair[1])


async def _by_meaning(
    runtime: Runtime, wanted: Search, rows: list[FoundMemory], text: list[tuple[int, float]]
) -> tuple[dict[int, float], list[Degradation]]:
    if wanted.strategy == "text" or not runtime.embedding.on or not rows:
        return {}, []
    matched = {seq: rank for rank, (seq, _) in enumerate(text)}
    chosen = sorted(rows, key=lambda found: matched.get(found.record.seq, len(matched)))[:_EMBEDDED]
    try:
        query = await runtime.embedding.one(wanted.query)
    except MemstoneError as error:
        return {}, [{"channel": "dense", **failure_of(error)}]
    vectors = await runtime.embedding.many([found.record.text for found in chosen])
    pairs = ((found.record.seq, vector) for found, vector in zip(chosen, vectors, strict=True))
    return {seq: float(np.frombuffer(vec, "<f4") @ query) for seq, vec in pairs if isinstance(vec, bytes)}, []
