"""Every text that lies in the store, table by table: for the one act that rewrites what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

Key: TypeAlias = "int | str"

TABLES: Final = ("memories", "events", "signals", "receipts", "idempotency", "llm_cache", "entities", "jobs")
"""The tables in which words of people are kept; indexes follow from ``memories``."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """The texts of one row by column: text, what JSON says, or None."""

    key: Key
    values: dict[str, Any]


class Stored(Protocol):
    """Rows by table and key, for all of a tenant, whatever their state."""

    async def count(self, tenant_id: str) -> int:
        """How many rows there are in all tables."""
        ...

    async def page(self, tenant_id: str, table: str, after: Key | None, limit: int) -> list[StoredRow]:
        """The rows of a table after a key, in the order of their keys."""
        ...

    async def rows(self, tenant_id: str, table: str, keys: Sequence[Key]) -> list[StoredRow]:
        """These rows, as they are now."""
        ...

    async def rewrite(self, tenant_id: str, table: str, key: Key, values: Mapping[str, Any]) -> None:
        """Put other values in the place of those of a row."""
        ...

    async def drop(self, tenant_id: str, table: str, keys: Sequence[Key]) -> None:
        """Remove rows that can be made again."""
        ...

    async def citing(self, tenant_id: str, turn_id: str) -> list[StoredRow]:
        """The memories that come from a turn, in every version."""
        ...

    async def mentioned(self, tenant_id: str, seq: int) -> list[StoredRow]:
        """The entities that a version of a memory mentions."""
        ...

    async def rename(self, tenant_id: str, seq: int, dedupe: str, new: str | None) -> None:
        """Let a version hold another dedupe value, or none."""
        ...

    async def tidy(self) -> None:
        """Let the full text forget the words that were taken out of it."""
        ...
