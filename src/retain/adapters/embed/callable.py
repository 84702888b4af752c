"""Embeddings from a function the caller brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from retain.adapters.callables import checked_callable, name_of
from retain.adapters.embed.rows import unit_rows
from retain.errors import DimensionMismatch, EmbeddingError, EmbeddingReason, RetainError
from retain.ports.io import Io

if TYPE_CHECKING:
    from retain.adapters.embed.rows import Rows


class CallableEmbedder:
    """Wraps ``function(texts) -> rows``: a list of texts in, one row of numbers per text out.

    The function runs through ``io.run`` and may block; under asyncio it is called from a thread. Its
    first answer settles the length of the vectors.
    """

    provider = "callable"
    destination = "your own function"

    def __init__(self, function: Callable[[list[str]], Any], io: Io) -> None:
        self._function = checked_callable(function, "the embedder")
        self._io = io
        self._dimension: int | None = None
        self.model = name_of(function)

    async def dimension(self) -> int:
        """The length of every vector; asks the function once."""
        if self._dimension is None:
            return int((await self.embed(["dimension"])).shape[1])
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Rows:
        """One unit vector per text, as a 2-d float32 array."""
        import numpy as np

        if not texts:
            return np.zeros((0, await self.dimension()), dtype=np.float32)
        answer = await self._ask(list(texts))
        rows = unit_rows(
            answer, len(texts), self._dimension, source=f"the embedder {self.model}", wrong_length=DimensionMismatch
        )
        self._dimension = int(rows.shape[1])
        return rows

    async def _ask(self, texts: list[str]) -> Any:
        try:
            return await self._io.run(lambda: self._function(texts))
        except RetainError:
            raise
        except Exception as error:
            reason: EmbeddingReason = "timeout" if isinstance(error, TimeoutError) else "request_failed"
            problem = f"the embedder {self.model} failed: {type(error).__name__}: {error}"
            raise EmbeddingError(problem, reason=reason) from error
