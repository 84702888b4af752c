"""Which rows a word stands in, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


class Postings:
    """Words to rows. What was there at first lies in one block; what comes later in small lists behind it."""

    def __init__(self, bodies: Sequence[str]) -> None:
        split = [body.split() for body in bodies]
        numbers: dict[str, int] = {}
        words = np.array([numbers.setdefault(word, len(numbers)) for one in split for word in one], dtype=np.int64)
        rows = np.repeat(np.arange(len(split)), [len(one) for one in split])
        # A word and a row as one number: sorting these brings each word's rows together, and equal ones are counted.
        pairs, counts = np.unique(words * max(1, len(split)) + rows, return_counts=True)
        self._numbers = numbers
        self._rows = (pairs % max(1, len(split))).astype(np.int32)
        self._counts = counts.astype(np.float32)
        held = np.bincount(pairs // max(1, len(split)), minlength=len(numbers))
        self._starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
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
