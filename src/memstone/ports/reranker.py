"""A second, closer look at what a search found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Says how well documents answer a query, by reading each together with it.

    ``rerank`` gives (place in ``documents``, score) for at most ``top`` documents, best first. A higher score is
    better, whatever its range; a document may be left out, none may be named twice. It raises a ``MemstoneError`` when
    it cannot say; a search then keeps the order it had.
    """

    @property
    def model(self) -> str:
        """Which model."""
        ...

    @property
    def destination(self) -> str:
        """Where text goes: ``this machine`` or the host it is sent to."""
        ...

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> Sequence[tuple[int, float]]:
        """The places of the best documents with their scores."""
        ...
