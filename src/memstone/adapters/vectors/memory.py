"""A vector store in memory, for tests: the reference for the conformance suite.

Nothing survives the process. It is the smallest thing that keeps the contract of ``VectorStore``, and the one other
stores are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from memstone.adapters.forks import ForkSafeLock
from memstone.errors import DimensionMismatch, VectorStoreError
from memstone.model.query import Where, is_match
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

T = TypeVar("T")
_ROOM: Final = 64


class MemoryConfig(BaseModel):
    """There is nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MemoryVectors:
    """See ``memstone.ports.index.VectorStore``. Safe to share between threads."""

    Config = MemoryConfig
    in_process = True
    capabilities = StoreCapabilities(durable=False)

    def __init__(self, config: MemoryConfig, io: Io) -> None:  # noqa: ARG002 - adapters take (config, io)
        self._io = io
        self._collections: dict[str, _Collection] = {}
        self._guard = ForkSafeLock()

    async def check_health(self) -> None:
        """Do nothing: the caller is in the same process."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    async def create(self, collection: str, dimension: int) -> None:
        await self._run(lambda: self._create(collection, dimension))

    async def drop(self, collection: str) -> None:
        await self._run(lambda: self._collections.pop(collection, None))

    async def collections(self) -> list[CollectionInfo]:
        return await self._run(self._infos)

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        items = list(points)
        await self._run(lambda: self._get_collection(collection).put(items))

    async def patch(self, collection: str, point_id: str, payload: dict[str, Any]) -> bool:
        return await self._run(lambda: self._get_collection(collection).patch(point_id, payload))

    async def delete(self, collection: str, ids: Iterable[str]) -> None:
        items = list(ids)
        await self._run(lambda: self._get_collection(collection).remove(items))

    async def get(self, collection: str, point_id: str) -> Point | None:
        return await self._run(lambda: self._get_collection(collection).get(point_id))

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        return await self._run(lambda: self._get_collection(collection).search(vector, limit, where))

    async def scan(self, collection: str, where: Where | None = None, limit: int = 100) -> list[Point]:
        return await self._run(lambda: self._get_collection(collection).scan(where, limit))

    async def reset(self) -> None:
        await self._run(self._collections.clear)

    async def _run(self, work: Callable[[], T]) -> T:
        """Run one thing at a time, away from the event loop."""

        def run_locked() -> T:
            with self._guard:
                return work()

        return await self._io.run(run_locked)

    def _create(self, name: str, dimension: int) -> None:
        known = self._collections.get(name)
        if dimension < 1 or (known is not None and known.dimension != dimension):
            there = "" if known is None else f", it has {known.dimension}"
            raise DimensionMismatch(
                f"collection {name!r} cannot have {dimension} dimensions{there}", hint="use another name, or drop it"
            )
        if known is None:
            self._collections[name] = _Collection(name, dimension)

    def _infos(self) -> list[CollectionInfo]:
        return [CollectionInfo(name, len(one.ids), one.dimension) for name, one in sorted(self._collections.items())]

    def _get_collection(self, name: str) -> _Collection:
        try:
            return self._collections[name]
        except KeyError:
            raise VectorStoreError(
                f"the collection {name!r} does not exist", kind="vectors", name="memory", hint="create it first"
            ) from None


class _Collection:
    """Points side by side: row ``n`` of the block belongs to ``ids[n]`` and ``payloads[n]``."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension
        self.ids: list[str] = []
        self._payloads: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}
        self._block: Any = np.empty((_ROOM, dimension), dtype=np.float32)

    def put(self, points: Sequence[Point]) -> None:
        """Put all of them or, when one vector is wrong, none."""
        rows = [self._unit(point.vector) for point in points]
        for point, row in zip(points, rows, strict=True):
            place = self._place(point.id)
            self._block[place], self._payloads[place] = row, _copy_payload(point.payload)

    def patch(self, point_id: str, payload: dict[str, Any]) -> bool:
        place = self._places.get(point_id)
        if place is not None:
            self._payloads[place] = _copy_payload(payload)
        return place is not None

    def remove(self, ids: Iterable[str]) -> None:
        """Remove a point; the last one moves into the gap, so that the block has none."""
        for point_id in ids:
            place = self._places.pop(point_id, None)
            if place is None:
                continue
            last_id, last_payload = self.ids.pop(), self._payloads.pop()
            if last_id != point_id:
                self._block[place] = self._block[len(self.ids)]
                self.ids[place], self._payloads[place], self._places[last_id] = last_id, last_payload, place

    def get(self, point_id: str) -> Point | None:
        place = self._places.get(point_id)
        return None if place is None else self._point(place)

    def search(self, vector: Sequence[float], limit: int, where: Where | None) -> list[PointHit]:
        """Return the best first.

        Whoever does not match takes nobody's place, because the cut is made after the filter.
        """
        scores = np.vecdot(self._block[: len(self.ids)], self._unit(vector))
        hits: list[PointHit] = []
        for place in np.argsort(-scores, kind="stable"):
            if len(hits) >= limit:
                break
            if where is None or is_match(where, self._payloads[place]):
                score = min(1.0, max(0.0, float(scores[place])))
                hits.append(PointHit(self.ids[place], score, _copy_payload(self._payloads[place])))
        return hits

    def scan(self, where: Where | None, limit: int) -> list[Point]:
        found = [place for place, payload in enumerate(self._payloads) if where is None or is_match(where, payload)]
        return [self._point(place) for place in sorted(found, key=self.ids.__getitem__)[: max(0, limit)]]

    def _point(self, place: int) -> Point:
        return Point(self.ids[place], self._block[place].tolist(), _copy_payload(self._payloads[place]))

    def _place(self, point_id: str) -> int:
        """Return where a point stands; a new one goes to the end."""
        place = self._places.setdefault(point_id, len(self.ids))
        if place == len(self.ids):
            self.ids.append(point_id)
            self._payloads.append({})
            if place == len(self._block):
                self._block = np.concatenate([self._block, np.empty_like(self._block)])
        return place

    def _unit(self, vector: Sequence[float]) -> Any:
        """Return the vector with length one; a zero vector stays zero and so scores 0 with everything."""
        row = self._validate_vector(vector)
        row = row / (np.abs(row).max() or 1.0)  # first to a size whose square is neither 0 nor infinite
        return (row / (np.linalg.norm(row) or 1.0)).astype(np.float32)

    def _validate_vector(self, vector: Sequence[float]) -> Any:
        try:
            row = np.asarray(vector, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong("something other than a list of numbers") from error
        if row.shape != (self.dimension,):
            raise self._wrong(f"{row.size}")
        if not np.isfinite(row).all():
            raise self._wrong("NaN or infinity")
        return row

    def _wrong(self, text: str) -> DimensionMismatch:
        return DimensionMismatch(
            f"collection {self.name!r} takes vectors of {self.dimension} finite numbers, not {text}",
            hint="use the embedder that the collection was created for",
        )


def _copy_payload(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload nobody else holds.

    Most values cannot be changed and need no copy, which is what makes it quick.
    """
    return {name: deepcopy(value) if isinstance(value, (list, dict)) else value for name, value in payload.items()}
