"""``as_of``: what was known at a moment.

Versions that have ended stand in no index. The rows that held then are read from the ledger and scored here: by
their words, and by meaning for the most promising ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from memstone.core.ranking.fusion import fuse
from memstone.core.text.analyze import query_terms, terms
from memstone.core.text.clues import bm25
from memstone.engine.parts import Parts
from memstone.engine.recall.ranking import Hit
from memstone.engine.storing.embedding import failure_of
from memstone.errors import MemstoneError
from memstone.model.memory import Found

if TYPE_CHECKING:
    from memstone.engine.asking import Search

_ROWS: Final = 20_000
_EMBEDDED: Final = 256
"""How many rows are embedded for one question about the past, those with fitting words first, then the newest."""


async def past_hits(parts: Parts, wanted: Search) -> tuple[list[Hit], list[dict[str, object]]]:
    """What a search among what held at ``wanted.as_of`` finds, best first, and what could not serve."""
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=_ROWS))
    by_seq = {found.record.seq: found for found in rows}
    text = _by_words(wanted.query, rows) if wanted.strategy not in {"vector", "semantic"} else []
    dense, degraded = await _by_meaning(parts, wanted, rows, text)
    ranked = fuse(text, dense, near=frozenset(dense), min_score=wanted.min_score, text_counts=bool(text))
    return [(by_seq[one.seq], one) for one in ranked[: wanted.limit]], degraded


def _by_words(query: str, rows: list[Found]) -> list[tuple[int, float]]:
    scores = bm25(query_terms(query), [terms(found.record.text) for found in rows])
    matched = ((found.record.seq, score) for found, score in zip(rows, scores, strict=True) if score > 0)
    return sorted(matched, key=lambda pair: -pair[1])


async def _by_meaning(
    parts: Parts, wanted: Search, rows: list[Found], text: list[tuple[int, float]]
) -> tuple[dict[int, float], list[dict[str, object]]]:
    if wanted.strategy == "text" or not parts.embedding.on or not rows:
        return {}, []
    matched = {seq: rank for rank, (seq, _) in enumerate(text)}
    chosen = sorted(rows, key=lambda found: matched.get(found.record.seq, len(matched)))[:_EMBEDDED]
    try:
        query = await parts.embedding.one(wanted.query)
    except MemstoneError as error:
        return {}, [{"channel": "dense", **failure_of(error)}]
    vectors = await parts.embedding.many([found.record.text for found in chosen])
    pairs = ((found.record.seq, vector) for found, vector in zip(chosen, vectors, strict=True))
    return {seq: float(np.frombuffer(vec, "<f4") @ query) for seq, vec in pairs if isinstance(vec, bytes)}, []
