"""How the vectors of a partition lie in memory: as they are, or as signed bytes in a quarter of the room."""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

_AT_ONCE: Final = 1 << 19
"""So many numbers of a block of bytes are turned into floats at a time: they stay in the processor's cache."""

_LARGEST: Final = 127


class Block(Protocol):
    """Rows of vectors that are written once, from the front, and compared with a question."""

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        ...

    def put(self, start: int, vectors: Any) -> None:
        """Write vectors (rows of float32) from a row on."""
        ...

    def products(self, rows: int, vector: Any) -> Any:
        """The product of each of the first rows with a vector."""
        ...


class FloatBlock:
    """The vectors as they are; products are exact."""

    def __init__(self, room: int, dim: int) -> None:
        self._rows = np.empty((room, dim), dtype=np.float32)
        self.nbytes: int = self._rows.nbytes

    def put(self, start: int, vectors: Any) -> None:
        """See ``Block``."""
        self._rows[start : start + len(vectors)] = vectors

    def products(self, rows: int, vector: Any) -> Any:
        """Row by row on one core.

        The threads of a matrix product wait for each other as soon as several searches or anything else run: 0.3 ms
        against 8 ms for 10,000 rows on a busy machine of two cores.
        """
        return np.vecdot(self._rows[:rows], vector)


class ByteBlock:
    """The vectors as signed bytes, each row with a scale of its own: its largest number becomes 127.

    The question stays as it is, and bytes become floats again a few rows at a time: bytes multiplied with bytes would
    run over, and NumPy has no quick way to add them up in wider numbers.
    """

    def __init__(self, room: int, dim: int) -> None:
        self._rows = np.empty((room, dim), dtype=np.int8)
        self._scales = np.empty(room, dtype=np.float32)
        self._step = max(1, _AT_ONCE // dim)
        self.nbytes: int = self._rows.nbytes + self._scales.nbytes

    def put(self, start: int, vectors: Any) -> None:
        """See ``Block``."""
        for first in range(0, len(vectors), self._step):
            part = vectors[first : first + self._step]
            place = slice(start + first, start + first + len(part))
            largest = np.abs(part).max(axis=1, initial=0.0)
            largest[largest == 0] = 1.0  # a zero vector stays one
            self._rows[place] = np.rint(part * (_LARGEST / largest)[:, None])
            self._scales[place] = largest / _LARGEST

    def products(self, rows: int, vector: Any) -> Any:
        """See ``Block``; off by what rounding took from each row."""
        found = np.empty(rows, dtype=np.float32)
        floats = np.empty((min(rows, self._step), self._rows.shape[1]), dtype=np.float32)
        for first in range(0, rows, self._step):
            end = min(rows, first + self._step)
            part = floats[: end - first]
            np.copyto(part, self._rows[first:end])
            np.vecdot(part, vector, out=found[first:end])
        found *= self._scales[:rows]
        return found
