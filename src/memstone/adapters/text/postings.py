"""Which rows a word stands in, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count as counting
from typing import Any, Final

import numpy as np

_AT_ONCE: Final = 512
"""So many texts are split at a time: the words of all of them, one by one, would take more memory than what is kept."""


class Postings:
    """Words to rows. What was there at first lies in one block; what comes later in small lists behind it."""

    def __init__(self, bodies: Sequence[str]) -> None:
        numbers: defaultdict[str, int] = defaultdict(counting().__next__)
        parts = [_numbered(bodies[at : at + _AT_ONCE], numbers) for at in range(0, len(bodies), _AT_ONCE)]
        words = np.concatenate([one for one, _ in parts]) if parts else np.zeros(0, dtype=np.int64)
        lengths = [length for _, some in parts for length in some]
        rows = np.repeat(np.arange(len(bodies)), lengths)
        # A word and a row as one number: sorting these brings each word's rows together, and equal ones are counted.
        words *= max(1, len(bodies))
        words += rows
        pairs, counts = np.unique(words, return_counts=True)
        self._numbers = dict(numbers)
        self._rows = (pairs % max(1, len(bodies))).astype(np.int32)
        self._counts = counts.astype(np.float32)
        held = np.bincount(pairs // max(1, len(bodies)), minlength=len(numbers))
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


def _numbered(bodies: Sequence[str], numbers: defaultdict[str, int]) -> tuple[Any, list[int]]:
    """The words of some texts as numbers, and how many each has."""
    words = " ".join(bodies).split()
    lengths = [body.count(" ") + 1 for body in bodies]
    if sum(lengths) != len(words):  # an empty text has no word
        lengths = [len(body.split()) for body in bodies]
    return np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words)), lengths
