"""The dense channel as the engine sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from memstone.model.query import VectorQuery
from memstone.ports.columns import Columns


class DenseHit(NamedTuple):
    """A memory and its cosine similarity (not clipped); ``extra`` marks one that only ``also`` asked for."""

    seq: int
    cosine: float
    extra: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class DenseHits(Columns[DenseHit]):
    """Hits in columns, of which the first ``near`` are not ``extra``.

    ``level`` is the mean cosine of everything there is to the question, where the index can tell: a question in another
    language than the model knows best is equally near to everything in that language.
    """

    seqs: Any
    cosines: Any
    near: int
    level: float = 0.0

    @classmethod
    def of(cls, hits: Sequence[DenseHit]) -> DenseHits:
        """Hits as columns, unless they are; those that are ``extra`` come last."""
        if isinstance(hits, cls):
            return hits
        import numpy as np

        ordered = sorted(hits, key=lambda hit: hit.extra)
        seqs = np.array([hit.seq for hit in ordered], np.int64)
        cosines = np.array([hit.cosine for hit in ordered], np.float64)
        return cls(seqs, cosines, sum(not hit.extra for hit in hits))

    def __iter__(self) -> Iterator[DenseHit]:
        extra = (at >= self.near for at in range(len(self)))
        return map(DenseHit, self.seqs.tolist(), self.cosines.tolist(), extra)


class VectorIndex(Protocol):
    """Finds the nearest memories of a scope.

    Exact on scope: a hit always belongs to it. What it holds may lag behind the ledger for rows that
    were just removed; the engine checks every hit against the ledger.
    """

    @property
    def embedded(self) -> bool:
        """Whether it lives with the ledger, and not in a service of its own."""
        ...

    @property
    def in_process(self) -> bool:
        """Whether a search waits for nothing outside this process."""
        ...

    @property
    def quant(self) -> str:
        """How the vectors it holds are rounded: ``int8``, or '' for not at all. Hits are exact either way."""
        ...

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Best first; then those of ``also`` that have a vector."""
        ...

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        ...
