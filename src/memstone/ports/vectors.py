"""A vector store outside the ledger: collections of points with payloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memstone.model.query import Where


@dataclass(frozen=True, slots=True)
class Point:
    """A vector under an id, with the fields it can be filtered by."""

    id: str
    vector: Sequence[float]
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointHit:
    """``score`` is max(0, cosine): higher is better, within [0, 1]."""

    id: str
    score: float
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """What a collection holds."""

    name: str
    count: int
    dimension: int


class VectorStore(Protocol):
    """A place that finds near vectors.

    Filters are honoured inside the search, or the store raises ``Unsupported``; they are never
    ignored. A zero vector scores 0. Vectors are normalised on write. Unknown ids are no error.
    """

    async def create(self, collection: str, dimension: int) -> None:
        """Make a collection; the same name and dimension again is no error."""
        ...

    async def drop(self, collection: str) -> None:
        """Remove a collection and its points."""
        ...

    async def collections(self) -> list[CollectionInfo]:
        """What there is."""
        ...

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        """Insert points or replace those with the same id."""
        ...

    async def patch(self, collection: str, point_id: str, payload: dict[str, Any]) -> bool:
        """Replace the payload of a point; false when there is none."""
        ...

    async def delete(self, collection: str, ids: Iterable[str]) -> None:
        """Remove points."""
        ...

    async def get(self, collection: str, point_id: str) -> Point | None:
        """One point."""
        ...

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        """The nearest points that match, best first."""
        ...

    async def scan(self, collection: str, where: Where | None = None, limit: int = 100) -> list[Point]:
        """Points that match, in the order of their ids."""
        ...

    async def reset(self) -> None:
        """Remove everything."""
        ...
