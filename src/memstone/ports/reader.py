"""Two texts read together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class PairReader(Protocol):
    """A model that was fitted to say something about two texts, for one task or several.

    An embedder that has this surface is asked for it: see ``Parts.reader``.
    """

    def reads(self, task: str) -> bool:
        """Whether this task is known here."""
        ...

    async def read(self, pairs: Sequence[tuple[str, str]], task: str) -> Any:
        """A row of numbers for each pair, as a 2-d float32 array; what they mean is the task's own."""
        ...
