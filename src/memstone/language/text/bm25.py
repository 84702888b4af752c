"""Rank a few texts by their words, for searches without an index (the past)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from memstone.language.text.words import STOP_WORDS
from memstone.model.memory import FoundMemory

WHOLE_QUERY: Final = 20
IN_KEY: Final = 6
EACH_OCCURRENCE: Final = 3
_TELLING: Final = 4


def by_keywords(query: str, rows: Iterable[FoundMemory]) -> list[tuple[FoundMemory, int]]:
    """Return rows with their points: most points first, then newest; rows without any point are left out.

    Without a query there is nothing to give points for: all rows come, newest first.
    """
    wanted = _Query(query)
    scored = ((row, wanted.points(row.record.text, row.record.key, row.record.metadata)) for row in rows)
    return _sort_by_score((row, points) for row, points in scored if points or not wanted.text)


def by_labels(query: str, rows: Iterable[FoundMemory]) -> list[tuple[FoundMemory, int]]:
    """Return the same for what keys and metadata hold, whatever the texts say."""
    wanted = _Query(query)
    scored = ((row, wanted.points("", row.record.key, row.record.metadata)) for row in rows)
    return _sort_by_score((row, points) for row, points in scored if points)


def _sort_by_score(scored: Iterable[tuple[FoundMemory, int]]) -> list[tuple[FoundMemory, int]]:
    newest = sorted(scored, key=lambda item: (item[0].record.created_at, item[0].record.seq), reverse=True)
    return sorted(newest, key=lambda item: -item[1])


def by_word_starts(query: str, rows: Iterable[FoundMemory]) -> list[tuple[FoundMemory, int]]:
    """Return rows in which words begin as telling words of the query do, by how many do; of equals the newest first.

    Telling are words of four letters and more that are not in every sentence.
    """
    wanted = tuple(word for word in _query_words(query.lower()) if len(word) >= _TELLING and word not in STOP_WORDS)
    if not wanted:
        return []
    scored = ((row, _count_word_starts(row.record.text.lower(), wanted)) for row in rows)
    memories = [(row, points) for row, points in scored if points]
    memories.sort(key=lambda item: (item[1], item[0].record.occurred_at, item[0].record.seq), reverse=True)
    return memories


def _count_word_starts(text: str, wanted: tuple[str, ...]) -> int:
    return sum(_without_marks(part).startswith(wanted) for part in text.split())


class _Query:
    def __init__(self, query: str) -> None:
        self.text = query.strip().lower()
        self._words = _query_words(self.text)

    def points(self, text: str, key: str | None, metadata: dict[str, Any] | None) -> int:
        """Return 20 when the whole query occurs; for each of its words 6 in the key, else 3 a time."""
        if not self.text:
            return 0
        name = (key or "").lower()
        content, about = text.lower(), _as_text(metadata)
        total = WHOLE_QUERY if any(self.text in haystack for haystack in (content, name, about)) else 0
        return total + sum(
            IN_KEY if word in name else EACH_OCCURRENCE * (content.count(word) + about.count(word))
            for word in self._words
        )


def _query_words(query: str) -> list[str]:
    """Return the words of a query, each once, without the marks around them.

    One Latin letter or digit alone is no word here: as a substring "a" is everywhere, and would outweigh all the rest.
    """
    bare = (_without_marks(part) for part in query.split())
    return list(dict.fromkeys(word for word in bare if len(word) > 1 or (word and not word.isascii())))


def _without_marks(part: str) -> str:
    places = [place for place, char in enumerate(part) if char.isalnum()]
    return part[places[0] : places[-1] + 1] if places else ""


def _as_text(metadata: dict[str, Any] | None) -> str:
    if not metadata:
        return ""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), default=str).lower()


K1: Final = 1.2
B: Final = 0.75


def score_bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """Return a score per document; 0 where no word occurs."""
    if not documents:
        return []
    average = sum(map(len, documents)) / len(documents) or 1.0
    counted = [Counter(document) for document in documents]
    weights = {word: _idf_weight(sum(word in counts for counts in counted), len(documents)) for word in set(query)}
    return [
        _score_document(weights, counts, len(document) / average)
        for counts, document in zip(counted, documents, strict=True)
    ]


def _idf_weight(rows: int, total: int) -> float:
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def _score_document(weights: dict[str, float], counts: Counter[str], length: float) -> float:
    spread = K1 * (1 - B + B * length)
    return sum(weight * counts[word] * (K1 + 1) / (counts[word] + spread) for word, weight in weights.items())


UNHEARD: Final = "\u2205unheard"
"""A word that no text has; its rarity tells how many texts there are."""
_ALMOST: Final = 1e-6


def is_heard(rarity: float, unheard: float) -> bool:
    """Return whether a word of this rarity has been said at all."""
    return rarity < unheard - _ALMOST
