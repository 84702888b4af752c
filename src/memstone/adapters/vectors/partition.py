"""One user's vectors as one block of memory.

A partition is never changed in a way a reader could see: additions go behind the rows a reader knows of, and
everything else makes a new one. So any number of threads search while one brings it up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from memstone.errors import Corrupted
from memstone.model.query import VectorQuery
from memstone.ports.index import DenseHit, DenseHits
from memstone.ports.ledger import VectorRow

# --- how the vectors of a partition lie in memory ---------------------------------------------------------------------


_AT_ONCE: Final = 1 << 19
"""So many numbers of a block of bytes are turned into floats at a time: they stay in the processor's cache."""

_LARGEST: Final = 127


class VectorBlock(Protocol):
    """Rows of vectors that are written once, from the front, and compared with a question."""

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        ...

    def put(self, start: int, vectors: Any) -> None:
        """Write vectors (rows of float32) from a row on."""
        ...

    def products(self, rows: int, vector: Any) -> Any:
        """Return the product of each of the first rows with a vector."""
        ...


class FloatBlock:
    """The vectors as they are; products are exact."""

    def __init__(self, room: int, dim: int) -> None:
        self._rows = np.empty((room, dim), dtype=np.float32)
        self.nbytes: int = self._rows.nbytes

    def put(self, start: int, vectors: Any) -> None:
        """See ``VectorBlock``."""
        self._rows[start : start + len(vectors)] = vectors

    def products(self, rows: int, vector: Any) -> Any:
        """Multiply row by row on one core.

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
        """See ``VectorBlock``."""
        for first in range(0, len(vectors), self._step):
            part = vectors[first : first + self._step]
            place = slice(start + first, start + first + len(part))
            largest = np.abs(part).max(axis=1, initial=0.0)
            largest[largest == 0] = 1.0  # a zero vector stays one
            self._rows[place] = np.rint(part * (_LARGEST / largest)[:, None])
            self._scales[place] = largest / _LARGEST

    def products(self, rows: int, vector: Any) -> Any:
        """See ``VectorBlock``; off by what rounding took from each row."""
        found = np.empty(rows, dtype=np.float32)
        floats = np.empty((min(rows, self._step), self._rows.shape[1]), dtype=np.float32)
        for first in range(0, rows, self._step):
            end = min(rows, first + self._step)
            part = floats[: end - first]
            np.copyto(part, self._rows[first:end])
            np.vecdot(part, vector, out=found[first:end])
        found *= self._scales[:rows]
        return found


# --- one user's vectors as one block of memory ------------------------------------------------------------------------


_SPARE: Final = 64
_DEAD_SHARE: Final = 0.25
_OWN: Final = 3
_PARTITION_AT_ONCE: Final = 1024
"""So many vectors are written at a time: all of them at once would take twice the memory for a moment."""


@dataclass(slots=True)
class _Codes:
    """Texts as small numbers, so that a column of ids is compared at once."""

    numbers: dict[str, int]

    def of(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def many(self, texts: Sequence[str]) -> list[int]:
        for text in set(texts):
            self.of(text)
        return [self.numbers[text] for text in texts]

    def find_code(self, text: str) -> int:
        return self.numbers.get(text, -1)


@dataclass(slots=True)
class VectorPartition:
    """``rows`` rows of the block are in use, in the order of ``seq``."""

    stamp: int
    rows: int
    block: VectorBlock
    seqs: Any
    labels: Any
    codes: _Codes
    alive: Any = None

    @classmethod
    def of(cls, rows: list[VectorRow], stamp: int, dim: int, *, quant: str = "") -> VectorPartition:
        """Return a partition of all rows that have a vector; with ``int8``, what it says of them is nearly right."""
        live = [row for row in rows if row.vector is not None]
        room = len(live) + max(_SPARE, len(live) // 4)
        empty = cls(
            stamp,
            0,
            ByteBlock(room, dim) if quant else FloatBlock(room, dim),
            np.empty(room, dtype=np.int64),
            np.empty((4, room), dtype=np.int32),
            _Codes({}),
        )
        empty._append(live)
        return empty

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return int(self.block.nbytes + self.seqs.nbytes + self.labels.nbytes)

    def apply_rows(self, rows: list[VectorRow], stamp: int) -> VectorPartition | None:
        """Return this partition with what changed, or None when it is better read again."""
        last = int(self.seqs[self.rows - 1]) if self.rows else -1
        added = [row for row in rows if row.vector is not None]
        known = [row.seq for row in rows if row.seq <= last]
        if any(row.seq <= last for row in added) or self.rows + len(added) > len(self.seqs):
            return None
        alive = self._without(known)
        if alive is not None and alive.sum() < (1 - _DEAD_SHARE) * self.rows:
            return None
        grown = VectorPartition(stamp, self.rows, self.block, self.seqs, self.labels, self.codes, alive)
        grown._append(added)
        return grown

    def _without(self, seqs: list[int]) -> Any:
        if not seqs:
            return self.alive
        alive = np.ones(self.rows, dtype=bool) if self.alive is None else self.alive.copy()
        alive[np.isin(self.seqs[: self.rows], seqs)] = False
        return alive

    def _append(self, rows: list[VectorRow]) -> None:
        if not rows:
            return
        start, end = self.rows, self.rows + len(rows)
        seqs, agents, runs, layers, vectors, own = zip(*rows, strict=True)
        for at in range(0, len(rows), _PARTITION_AT_ONCE):
            self.block.put(start + at, to_matrix(vectors[at : at + _PARTITION_AT_ONCE]))
        self.seqs[start:end] = seqs
        for column, values in enumerate((agents, runs, layers)):
            self.labels[column, start:end] = self.codes.many(values)
        self.labels[_OWN, start:end] = own
        if self.alive is not None:
            self.alive = np.concatenate([self.alive, np.ones(len(rows), dtype=bool)])
        self.rows = end

    def nearest(self, query: VectorQuery) -> DenseHits:
        """Return the best rows of the scope, then those of ``also`` that are not among them."""
        if not self.rows:
            return DenseHits.of(())
        scores = self._cosines(query)
        best = _rank_places(scores, self._once(self._allowed_mask(query)), query.limit)
        found = np.concatenate([best, self._extra(query, self.seqs[best])])
        return DenseHits(self.seqs[found], scores[found].astype(np.float64), len(best), float(scores.mean()))

    def _cosines(self, query: VectorQuery) -> Any:
        """Return the cosine of every row.

        What is held in somebody's own words is compared with the question as spoken.
        """
        if query.spoken is None:
            return self.block.products(self.rows, query.vector)
        own = self.labels[_OWN, : self.rows].astype(bool)
        spoken = self.block.products(self.rows, query.spoken)
        return spoken if own.all() else np.where(own, spoken, self.block.products(self.rows, query.vector))

    def own(self, hits: Iterable[DenseHit]) -> set[int]:
        """Return which of what was found here is held in somebody's own words."""
        seqs = [hit.seq for hit in hits]
        current = self.labels[_OWN, self._places(seqs)]
        return {seq for seq, own in zip(seqs, current, strict=True) if own}

    def _allowed_mask(self, query: VectorQuery) -> Any:
        """Return which rows may be found; None means all."""
        masks = [] if self.alive is None else [self.alive]
        for column, wanted in enumerate((query.scope.agent_id, query.scope.run_id)):
            if wanted:
                masks.append(self.labels[column, : self.rows] == self.codes.find_code(wanted))
        if query.layers:
            known = [number for number in map(self.codes.find_code, query.layers) if number >= 0]
            table = np.zeros(len(self.codes.numbers), dtype=bool)
            table[known] = True
            masks.append(table[self.labels[2, : self.rows]])
        if query.among is not None:
            masks.append(np.isin(self.seqs[: self.rows], list(query.among)))
        return np.logical_and.reduce(masks) if masks else None

    def _once(self, allowed: Any) -> Any:
        """Return the rows that may be found, one for each memory, whose links stand side by side."""
        places = np.arange(self.rows) if allowed is None else np.nonzero(allowed)[0]
        seqs = self.seqs[places]
        return places[np.append(np.ones(1, dtype=bool), seqs[1:] != seqs[:-1])] if len(places) else places

    def _extra(self, query: VectorQuery, found: Any) -> Any:
        """Return where those of ``also`` stand that are not among what was found."""
        wanted = np.array(query.also, dtype=np.int64)
        places = self._places(wanted)
        here = (self.seqs[places] == wanted) & ~np.isin(wanted, found)
        return places[here if self.alive is None else here & self.alive[places]]

    def _places(self, seqs: Any) -> Any:
        """Return where these stand, for those that are here."""
        return np.minimum(np.searchsorted(self.seqs[: self.rows], seqs), self.rows - 1)


def to_matrix(vectors: Sequence[bytes]) -> Any:
    """Return stored vectors as rows of float32."""
    try:
        return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    except ValueError as error:
        raise Corrupted("a stored vector is damaged: its length is wrong") from error


def _rank_places(scores: Any, places: Any, limit: int) -> Any:
    """Return those of the places with the best scores, best first; equal scores: the later row first."""
    if len(places) > limit:
        # argpartition alone would cut between equal scores at random; keep all that tie with the last one.
        bound = np.partition(scores[places], len(places) - limit)[len(places) - limit]
        places = places[scores[places] >= bound]
    order = np.lexsort((-places, -scores[places]))
    return places[order][:limit]
