"""The same vectors for every system, made before the clock starts.

A word has a fixed random direction; a text is the normalised sum of its words. Texts that share words
are therefore near each other, which is all a nearest-neighbour search needs to be put to work.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

DIMENSIONS: Final = 384

_directions: dict[str, Any] = {}


def _direction(word: str) -> Any:
    known = _directions.get(word)
    if known is None:
        rng = np.random.default_rng(zlib.crc32(word.encode()))
        known = _directions[word] = rng.standard_normal(DIMENSIONS, dtype=np.float32)
    return known


def vector_of(text: str) -> Any:
    """Return the unit vector of a text; zeros when it has no word."""
    words = text.lower().rstrip(".").split()
    total = np.sum([_direction(word) for word in words], axis=0) if words else np.zeros(DIMENSIONS)
    length = float(np.linalg.norm(total))
    return (total / (length or 1.0)).astype(np.float32)


class VectorTable:
    """Texts whose vectors are known; looking one up costs next to nothing.

    A text it was not told about is embedded there and then and counted in ``late``: such a call paid for more
    than it should, which is all right for a system's first question about the dimension and for nothing else.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._known: dict[str, Any] = {}
        self.late = 0
        self.along: Callable[[str], object] = str
        """What else is made of each text before the clock starts."""

    def learn(self, texts: Iterable[str]) -> None:
        """Make the vectors of these texts now."""
        for text in texts:
            self._known[text] = vector_of(text)
            self.along(text)

    def learn_packed(self, packed: Mapping[str, str]) -> None:
        """Take vectors another process made (see ``pack``)."""
        for text, data in packed.items():
            self._known[text] = np.frombuffer(base64.b64decode(data), dtype=np.float32)

    def forget(self) -> None:
        """Drop all vectors."""
        self._known.clear()

    def __getitem__(self, text: str) -> Any:
        """Return the vector of a text."""
        if text not in self._known:
            self.late += 1
            self.learn([text])
        return self._known[text]

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return one row per text."""
        return np.stack([self[text] for text in texts])


def pack(texts: Iterable[str]) -> dict[str, str]:
    """Return vectors as text, to hand to a process that should not have to make them."""
    return {text: base64.b64encode(vector_of(text).tobytes()).decode() for text in texts}


def stack(texts: Sequence[str]) -> Any:
    """Return one row per text."""
    return np.stack([vector_of(text) for text in texts])


def brute_force(texts: Sequence[str], rows: Any, question: str, limit: int) -> list[tuple[str, float]]:
    """Return the nearest texts by comparing with every one: the truth an index is held against."""
    # Not "@": its threads would go on spinning for a while and be taken for the work of the system.
    cosines = np.einsum("ij,j->i", rows, vector_of(question))
    best = np.argsort(-cosines, kind="stable")[:limit]
    return [(texts[int(row)], float(cosines[row])) for row in best]
