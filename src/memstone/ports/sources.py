"""A database of another system that is read once, and never written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Tables(Protocol):
    """An open database: its tables and their rows. It blocks, so it is used within ``Io.run``."""

    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of every plain table; views and virtual tables are left out, for they run what they say."""
        ...

    def rows(self, table: str, order: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a table, ordered by those of these columns that it has."""
        ...


class TableSource(Protocol):
    """Opens databases of one kind."""

    def __call__(self, source: Path | bytes) -> AbstractContextManager[Tables]:
        """A file where it lies, or the bytes of one; ``InvalidInput`` when it cannot be read."""
        ...
