"""Memstone, through its public face."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.corpus import Item
from benchmarks.speed.systems import LIMIT
from benchmarks.speed.vectors import VectorTable
from memstone import Memory


class Memstone:
    """Memstone as a system."""

    def __init__(self, directory: Path, vectors: VectorTable) -> None:
        """Open one SQLite file with the given vectors as embedder."""
        self._memory = Memory({"store": {"url": f"sqlite:///{directory / 'memstone.db'}"}}, embedder=vectors)

    def add(self, item: Item) -> str:
        """Add one text."""
        answer = self._memory.add(item.text, user_id=item.user, infer=False)
        return str(answer["results"][0]["id"])

    def add_many(self, items: Sequence[Item]) -> None:
        """Add one batch."""
        self._memory.add_many([{"messages": item.text, "user_id": item.user, "infer": False} for item in items])

    def search(self, query: Item) -> list[str]:
        """Search by text and vectors, fused."""
        answer = self._memory.search(query.text, user_id=query.user, limit=LIMIT)
        return [result["memory"] for result in answer["results"]]

    def nearest(self, query: Item) -> list[str] | None:
        """Search by vectors alone."""
        answer = self._memory.search(query.text, user_id=query.user, limit=LIMIT, strategy="vector")
        return [result["memory"] for result in answer["results"]]

    def get(self, memory_id: str) -> object:
        """Return one memory."""
        return self._memory.get(memory_id)

    def history(self, memory_id: str) -> object:
        """Return its events."""
        return self._memory.history(memory_id)

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


def open_system(directory: Path, vectors: VectorTable) -> Memstone:
    """Open Memstone."""
    return Memstone(directory, vectors)
