"""Which rows a word stands in, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


class Postings:
    """Words to rows. What was there at first lies in one block; what comes later in small lists behind it."""

    def __init__(self, bodies: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        words: list[int] = []
        rows: list[int] = []
        counts: list[int] = []
        for row, body in enumerate(bodies):
            found = Counter(body.split())
            words += [numbers.setdefault(word, len(numbers)) for word in found]
            rows += [row] * len(found)
            counts += found.values()
        by_word = np.argsort(np.array(words, dtype=np.int32), kind="stable")
        self._numbers = numbers
        self._rows = np.array(rows, dtype=np.int32)[by_word]
        self._counts = np.array(counts, dtype=np.float32)[by_word]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=len(numbers)))]).astype(np.int64)
        self._later: dict[str, list[tuple[int, int]]] = {}

    def add(self, row: int, body: str) -> None:
        """Add a row behind all others."""
        for word, count in Counter(body.split()).items():
            self._later.setdefault(word, []).append((row, count))

    def of(self, word: str, below: int) -> tuple[Any, Any]:
        """The rows below a number that hold a word, and how often each does."""
        number = self._numbers.get(word)
        bounds = slice(0, 0) if number is None else slice(self._starts[number], self._starts[number + 1])
        rows, counts = self._rows[bounds], self._counts[bounds]
        later = [pair for pair in self._later.get(word, ()) if pair[0] < below]
        if not later:
            return rows, counts
        more = np.array(later, dtype=np.int32)
        return np.concatenate([rows, more[:, 0]]), np.concatenate([counts, more[:, 1].astype(np.float32)])

    @property
    def bytes(self) -> int:
        """Roughly how much memory it takes."""
        return int(self._rows.nbytes + self._counts.nbytes + self._starts.nbytes + 120 * len(self._numbers))
