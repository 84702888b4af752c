"""BM25 over a handful of texts, for questions the full-text mirror cannot answer (the past)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

K1: Final = 1.2
B: Final = 0.75


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """A score per document; 0 where no word occurs."""
    if not documents:
        return []
    average = sum(map(len, documents)) / len(documents) or 1.0
    counted = [Counter(document) for document in documents]
    weights = {word: _idf(sum(word in counts for counts in counted), len(documents)) for word in set(query)}
    return [
        _score(weights, counts, len(document) / average) for counts, document in zip(counted, documents, strict=True)
    ]


def _idf(rows: int, total: int) -> float:
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def _score(weights: dict[str, float], counts: Counter[str], length: float) -> float:
    spread = K1 * (1 - B + B * length)
    return sum(weight * counts[word] * (K1 + 1) / (counts[word] + spread) for word, weight in weights.items())
