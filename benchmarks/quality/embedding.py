"""An embedder that reads every text once in a run, however often the same conversation is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memstone.compose import build_adapter
from memstone.model.memory import Vector
from memstone.ports.models import Embedder, PairReader
from memstone.registry import load_adapter


def local() -> KeptEmbedder:
    """Return the model that is installed with Memstone."""
    return KeptEmbedder(build_adapter("embedder", "local", {}, load_adapter("io", "blocking")()))


class KeptEmbedder:
    """What another embedder gives, kept. See ``memstone.ports.models``."""

    def __init__(self, inner: Embedder) -> None:
        self._inner: Any = inner
        self._vectors: dict[tuple[str, str], Vector] = {}
        self.provider, self.model, self.destination = inner.provider, inner.model, inner.destination

    @property
    def tells_words(self) -> bool:
        """Whether the model gives a vector for each word."""
        return bool(getattr(self._inner, "tells_words", False))

    async def dimension(self) -> int:
        """Return the length of every vector."""
        return int(await self._inner.dimension())

    async def embed(self, texts: Sequence[str]) -> Any:
        """Return one unit vector per text, not kept: it is asked for only where the model does not tell words."""
        return await self._inner.embed(texts)

    async def embed_words(self, pairs: Sequence[tuple[str, str]]) -> list[Vector]:
        """Return for each pair the second text as it is meant after the first."""
        todo = [pair for pair in dict.fromkeys(pairs) if pair not in self._vectors]
        if todo:
            self._vectors.update(zip(todo, await self._inner.embed_words(todo), strict=True))
        return [self._vectors[pair] for pair in pairs]

    def words(self, text: str) -> list[str]:
        """Return the words of a text, each as often as it has a vector."""
        return list(self._inner.words(text))

    def reads(self, task: str) -> bool:
        """Return whether the model reads two texts together for this; see ``memstone.ports.models``."""
        return isinstance(self._inner, PairReader) and self._inner.reads(task)

    async def read(self, pairs: Sequence[tuple[str, str]], task: str) -> Any:
        """Return a row of numbers for each pair."""
        return await self._inner.read(pairs, task)
