"""What models without a name of their own are told apart by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

NUMBER: Final = "~"
"""Stands before the number of a second model of the same name."""


class Sample(NamedTuple):
    """A text, and the vector that was made of it under the name of a model; '' where none was found."""

    model: str
    dim: int
    text: str = ""
    vector: bytes = b""


@runtime_checkable
class Unnamed(Protocol):
    """An embedder that only knows what its model was called by whoever wrote it down, such as a function."""

    model: str

    def known_as(self, samples: Sequence[Sample]) -> None:
        """Be shown what was made in a store under names like its own, the one in use first, before it is asked."""
        ...
