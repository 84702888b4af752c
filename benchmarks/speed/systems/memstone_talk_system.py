"""Memstone with everything on: conversations with speakers, runs and word vectors, as the local model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.speed.corpus import Item
from benchmarks.speed.systems.memstone_system import Memstone
from benchmarks.speed.vectors import VectorTable, vector_of
from memstone import Memory
from memstone.model.memory import Vector

WIDTH: Final = 128
TURNS_OF_A_RUN: Final = 20
SPEAKERS: Final = ("Maya", "Tom")


class TalkingVectors:
    """The shared vectors, with a small vector for each word beside them."""

    provider, model, destination, tells_words = "bench", "words", "nowhere", True

    def __init__(self, vectors: VectorTable) -> None:
        """Wrap the vectors every system gets."""
        self._vectors = vectors
        self._words: dict[str, bytes] = {}
        vectors.along = self._of_words

    async def dimension(self) -> int:
        """Return the same length as the others'."""
        return int(self._vectors(["dimension"]).shape[1])

    async def embed(self, texts: Sequence[str]) -> Any:
        """Return one row per text."""
        return self._vectors(texts)

    async def embed_words(self, pairs: Sequence[tuple[str, str]]) -> list[Vector]:
        """Return a vector of each text with one for each of its words."""
        return [Vector(self._vectors[text].astype("<f4").tobytes(), self._of_words(text)) for _, text in pairs]

    def words(self, text: str) -> list[str]:
        """Return the words of a text."""
        return text.lower().rstrip(".").split()

    def _of_words(self, text: str) -> bytes:
        return b"".join(self._word(word) for word in self.words(text))

    def _word(self, word: str) -> bytes:
        if word not in self._words:
            self._words[word] = np.rint(vector_of(word)[:WIDTH] * 127).astype(np.int8).tobytes()
        return self._words[word]


class MemstoneTalk(Memstone):
    """Memstone, told who speaks and in which conversation."""

    def __init__(self, directory: Path, vectors: VectorTable) -> None:
        """Open one SQLite file."""
        self._memory = Memory(
            {"store": {"url": f"sqlite:///{directory / 'memstone.db'}"}}, embedder=TalkingVectors(vectors)
        )
        self._counts: dict[str, int] = {}

    def add(self, item: Item) -> str:
        """Add one turn."""
        answer = self._memory.add(**self._call(item))
        return str(answer["results"][0]["id"])

    def add_many(self, items: Sequence[Item]) -> None:
        """Add one batch."""
        self._memory.add_many([self._call(item) for item in items])

    def _call(self, item: Item) -> dict[str, Any]:
        count = self._counts[item.user] = self._counts.get(item.user, -1) + 1
        message = {"role": "user", "name": SPEAKERS[count % len(SPEAKERS)], "content": item.text}
        run = f"{item.user}-{count // TURNS_OF_A_RUN}"
        return {"messages": [message], "user_id": item.user, "run_id": run, "infer": False}


def open_system(directory: Path, vectors: VectorTable) -> MemstoneTalk:
    """Open Memstone."""
    return MemstoneTalk(directory, vectors)
