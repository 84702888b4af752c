"""The dense channel as the engine sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from retain.model.query import VectorQuery


class DenseHit(NamedTuple):
    """A memory and its cosine similarity (not clipped); ``extra`` marks one that only ``also`` asked for."""

    seq: int
    cosine: float
    extra: bool = False


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
