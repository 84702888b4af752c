"""The seam under the tables: statements in, rows out.

Tables are written once over this protocol. A SQLite connection answers at once, so a whole unit of work
is driven to its end on one thread; a PostgreSQL connection may really wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Params: TypeAlias = Sequence[Any]


class Sql(Protocol):
    """One connection inside one transaction. Placeholders are ``?``."""

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        """All rows."""
        ...

    async def one(self, query: str, params: Params = ()) -> Row | None:
        """The first row."""
        ...

    async def run(self, query: str, params: Params = ()) -> int:
        """How many rows it changed."""
        ...

    async def insert(self, query: str, params: Params) -> int:
        """Insert one row; gives its integer key."""
        ...

    async def many(self, query: str, params: Iterable[Params]) -> None:
        """The same statement for many parameter rows; or for one, where nobody needs to know what it changed."""
        ...


def marks(count: int) -> str:
    """``?, ?, ?``."""
    return ", ".join("?" * count)


def chunks(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    """Slices small enough for one statement's parameters."""
    return (values[start : start + size] for start in range(0, len(values), size))
