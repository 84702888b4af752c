"""An embedder without a model, for tests: texts that share words have similar vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.ports.io import Io

_WORD = re.compile(r"\w+")
# Small enough that sharing letters never outweighs sharing words, large enough that "garden" is near "gardening".
_TRIGRAM_WEIGHT = 0.3


class HashConfig(BaseModel):
    """``dim`` is the length of the vectors; fewer dimensions mean more chance collisions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dim: int = Field(default=256, ge=8, le=4096)


class HashEmbedder:
    """Hashes words and their letter trigrams, with signs, into a unit vector.

    The same text gives the same vector in every process and on every platform. A text without words
    gives a zero row.
    """

    Config = HashConfig
    provider = "hash"
    in_process = True
    model = "bow-v1"
    destination = "this machine"

    def __init__(self, config: HashConfig, io: Io | None = None) -> None:
        self._dim, self._io = config.dim, io

    @classmethod
    def make(cls, dim: int = 256) -> HashEmbedder:
        """Return an embedder without further ado; it needs no ``Io`` because it waits for nothing."""
        return cls(HashConfig(dim=dim))

    async def dimension(self) -> int:
        """Return the length of every vector."""
        return self._dim

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector per text, as a 2-d float32 array."""
        return self._embed(texts) if self._io is None else await self._io.compute(lambda: self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), self._dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.casefold()):
                for place, weight in _word_features(word, self._dim):
                    row[place] += weight
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: npt.NDArray[np.float32] = np.divide(rows, lengths, out=rows, where=lengths > 0)
        return units


@lru_cache(4096)
def _word_features(word: str, dim: int) -> tuple[tuple[int, float], ...]:
    """Return where a word and its trigrams go, and with which weight."""
    places = [_hash_feature(word, dim, weight=1.0)]
    places += [_hash_feature(trigram, dim, weight=_TRIGRAM_WEIGHT) for trigram in _letter_trigrams(word)]
    return tuple(places)


def _letter_trigrams(word: str) -> Iterator[str]:
    framed = f" {word} "
    return (framed[start : start + 3] for start in range(len(framed) - 2))


def _hash_feature(feature: str, dim: int, *, weight: float) -> tuple[int, float]:
    number = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    # Signs let collisions cancel instead of adding up, so unrelated texts stay near zero.
    return (number >> 1) % dim, weight if number & 1 else -weight
