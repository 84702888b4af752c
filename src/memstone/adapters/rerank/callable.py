"""A reranker from a function that the caller passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memstone.adapters.callables import call_function, checked_callable, name_of
from memstone.errors import BackendError, MemstoneError
from memstone.ports.io import Io


class CallableReranker:
    """Wraps ``function(query, documents) -> scores``: one number for each document, the higher the better.

    The function runs through ``io.run`` and may block, an async one is awaited on the loop; nobody ends
    it, so it should be quick.
    """

    destination = "your own function"

    def __init__(self, function: Callable[[str, list[str]], Any], io: Io) -> None:
        self._function = checked_callable(function, "the reranker", io)
        self._io = io
        self.model = name_of(function)

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        scores = self._numbers(await self._ask(query, list(documents)) if documents else [])
        if len(scores) != len(documents):
            raise self._backend_error(f"returned {len(scores)} scores for {len(documents)} documents")
        ranked = sorted(enumerate(scores), key=lambda item: (-item[1], item[0]))
        return ranked[: max(0, top)]

    async def _ask(self, query: str, documents: list[str]) -> Any:
        try:
            return await call_function(self._function, self._io, query, documents)
        except MemstoneError:
            raise
        except Exception as error:
            raise self._backend_error(f"failed: {type(error).__name__}: {error}") from error

    def _numbers(self, answer: Any) -> list[float]:
        try:
            return [float(score) for score in answer]
        except (TypeError, ValueError) as error:
            raise self._backend_error("must return one number for each document") from error

    def _backend_error(self, problem: str) -> BackendError:
        return BackendError(f"the reranker {self.model} {problem}", kind="reranker", name=self.model)
