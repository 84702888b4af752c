"""Hits in columns: most are never looked at, so one is made only where it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

Hit = TypeVar("Hit")


class Columns(Sequence[Hit]):
    """A sequence whose items are made out of arrays of one length, ``seqs`` among them."""

    __slots__ = ()
    seqs: Any

    @abstractmethod
    def __iter__(self) -> Iterator[Hit]:
        """All of them, one after the other."""

    def __len__(self) -> int:
        return len(self.seqs)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    @overload
    def __getitem__(self, at: int) -> Hit: ...

    @overload
    def __getitem__(self, at: slice) -> list[Hit]: ...

    def __getitem__(self, at: int | slice) -> Hit | list[Hit]:
        return list(self)[at]
