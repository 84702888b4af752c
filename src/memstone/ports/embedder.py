"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memstone.model.vector import Vector


class Embedder(Protocol):
    """Turns texts into unit vectors.

    ``embed`` returns one row per text (a 2-d float32 array), normalised to length one; a text without
    content may give a zero row. It raises ``EmbeddingError`` (or a finer error) when a text cannot be
    embedded. ``dimension`` may have to ask the model once. ``signature`` names the vector space,
    ``provider:model:dim``; vectors of two signatures are never compared.
    """

    @property
    def provider(self) -> str:
        """Who runs the model, e.g. ``local``."""
        ...

    @property
    def model(self) -> str:
        """Which model, e.g. ``all-minilm-l6-v2-int8``."""
        ...

    @property
    def destination(self) -> str:
        """Where text goes: ``this machine`` or the host it is sent to."""
        ...

    async def dimension(self) -> int:
        """The length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Any:
        """One unit vector per text, as a 2-d float32 array."""
        ...


class WordEmbedder(Embedder, Protocol):
    """An embedder whose model also gives a vector for each word, and understands a text after another.

    One that has this surface and says so by ``tells_words`` is asked for words; vectors of texts that stand alone are
    the same as those of ``embed``.
    """

    @property
    def tells_words(self) -> bool:
        """Whether this surface is there for the configured model."""
        ...

    async def embed_words(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Vector]:
        """For each pair the second text as it is meant right after the first ('' : alone), with its words."""
        ...

    def words(self, text: str) -> Sequence[str]:
        """The words of a text, each as often as it has a vector."""
        ...
