"""A text read together with several others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ListReader(Protocol):
    """A model that was fitted to say something about each of several texts beside one, for one task or several.

    An embedder that has this surface is asked for it, as with ``PairReader``.
    """

    def reads_lists(self, task: str) -> bool:
        """Whether this task is known here."""
        ...

    async def read_list(self, text: str, others: Sequence[str], task: str) -> Any:
        """A row of numbers for each of the others, as a 2-d float32 array; what they mean is the task's own."""
        ...
