"""Late interaction: the best candidates compared with the question word by word.

For each word of the question the most similar word of a candidate is taken, or of what was said right before or after
it, with less weight; rare words count more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from memstone.core.text.analyze import terms
from memstone.engine.parts import Parts
from memstone.model.scope import Scope
from memstone.ports.index import Around
from memstone.products import multiply

CANDIDATES: Final = 50
_NEAR: Final = {1: 0.8, 2: 0.7}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as words: each word, and the vectors of its pieces."""

    words: Sequence[str]
    vectors: bytes
    left_out: frozenset[str] = frozenset()


async def similarities(
    parts: Parts,
    scope: Scope,
    signature: str,
    asked: Mapping[bool, Asked],
    seqs: Mapping[int, bool],
    *,
    neighbours: bool = True,
) -> tuple[dict[int, float], dict[int, bytes]]:
    """How alike each of ``seqs`` is to the question, between 0 and 1, and the vectors of the words that were read.

    What is held in a speaker's own words (True) may be asked for in other words than what is told about one (False).
    Without ``neighbours`` each stands for itself.
    """
    found: dict[int, float] = {}
    vocabulary = sorted({term for one in asked.values() for word in one.words for term in _terms(word)})
    around = await parts.texts.around(scope, list(seqs) if neighbours else (), vocabulary)
    wanted = set(seqs) | {near for beside in around.near.values() for near, _ in beside}
    rows = await parts.ledger.peek(lambda tx: tx.vectors.words_of(parts.tenant_id, signature, wanted))
    for own, question in asked.items():
        mine = [seq for seq, is_own in seqs.items() if is_own == own]
        if mine and rows:
            found |= await parts.io.run(lambda q=question, s=mine: _alike(q, s, around, rows))  # type: ignore[misc]
    return found, dict(rows)


def _alike(asked: Asked, seqs: Sequence[int], around: Around, rows: Sequence[tuple[int, bytes]]) -> dict[int, float]:
    width = len(asked.vectors) // max(1, len(asked.words))
    weights = np.array([_weight(word, asked, around.rarity) for word in asked.words], dtype=np.float32)
    kept = weights > 0
    if not kept.any():
        return {}
    question = np.frombuffer(asked.vectors, dtype=np.int8).reshape(-1, width)[kept].astype(np.float32) / 127.0**2
    places, best = {seq: at for at, (seq, _) in enumerate(rows)}, _best_words(question, rows, width)
    mine = [seq for seq in seqs if seq in places]
    alike = _with_near(best, places, mine, around)
    shares = (alike * weights[kept]).sum(axis=1) / weights[kept].sum()
    return dict(zip(mine, np.clip(shares, 0.0, 1.0).tolist(), strict=True))


def _weight(word: str, asked: Asked, rarity: Mapping[str, float]) -> float:
    """How much a word tells; signs tell nothing, nor do the words put in for a name."""
    if word in asked.left_out:
        return 0.0
    return min((rarity.get(term, 0.0) for term in _terms(word)), default=0.0)


@lru_cache(maxsize=4096)  # the little words of a question are those of the last one
def _terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def _best_words(question: Any, rows: Sequence[tuple[int, bytes]], width: int) -> Any:
    """For each row, how near its nearest word is to each word of the question."""
    lengths = [len(words) // width for _, words in rows]
    words = np.frombuffer(b"".join(words for _, words in rows), dtype=np.int8).reshape(-1, width)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.maximum.reduceat(multiply(words.astype(np.float32), question.T), starts, axis=0)


def _with_near(best: Any, places: Mapping[int, int], seqs: Sequence[int], around: Around) -> Any:
    """What ``seqs`` reach themselves, or by what was said beside them."""
    alike = best[[places[seq] for seq in seqs]]
    beside = [
        (at, places[near], _NEAR[distance])
        for at, seq in enumerate(seqs)
        for near, distance in around.near.get(seq, ())
        if near in places
    ]
    if beside:
        mine, theirs, shares = (list(column) for column in zip(*beside, strict=True))
        np.maximum.at(alike, mine, np.array(shares, dtype=np.float32)[:, None] * best[theirs])
    return alike
