"""Whole tables, row by row: for copying a store into another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

BulkRow: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class BulkTable:
    """A table as every database has it: the columns by name, and those that order its rows within a tenant.

    ``number`` is the column in which the database numbers the rows, '' where it does not; ``refers`` the one that holds
    the number of a memory.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    number: str = ""
    refers: str = ""


class Bulk(Protocol):
    """Rows of any table, for all of a tenant, in the order of their keys."""

    async def tables(self) -> list[BulkTable]:
        """Every table that holds rows of tenants, those first that others refer to."""
        ...

    async def tenants(self) -> list[str] | None:
        """Who has rows; None when the database does not let one look past the tenant one speaks for."""
        ...

    async def count(self, tenant_id: str, table: BulkTable) -> int:
        """How many rows there are."""
        ...

    async def page(self, tenant_id: str, table: BulkTable, after: Sequence[Any] | None, limit: int) -> list[BulkRow]:
        """The rows after a key."""
        ...

    async def put(self, tenant_id: str, table: BulkTable, rows: Iterable[BulkRow]) -> None:
        """Store rows as they are."""
        ...

    async def reserve(self, table: BulkTable, count: int) -> list[int]:
        """Numbers that no row has and none will get, in order."""
        ...
