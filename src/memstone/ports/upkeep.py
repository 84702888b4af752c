"""What keeping a memory small asks of the ledger beyond what everybody asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from memstone.model.ageing import Aged, Older
from memstone.model.instant import Instant
from memstone.model.memory import Link, Record
from memstone.model.scope import Scope

LOGS: Final = ("jobs", "signals", "receipts", "idempotency", "llm_cache", "continuations")
"""What is kept for a while only; of signals, those that are processed."""


class Upkeep(Protocol):
    """Looks for what is old, and forgets what nobody needs."""

    async def owners(self, scope: Scope, layer: str) -> list[tuple[str, str]]:
        """The users and agents within a scope who have active memories in a layer, in order."""
        ...

    async def older(self, wanted: Older, after: int, limit: int) -> list[Aged]:
        """Those that are wanted, with a larger ``seq`` than ``after``, by ``seq``."""
        ...

    async def restate(self, record: Record) -> None:
        """Let a version keep its words, and have this salience, anchor, source count and data."""
        ...

    async def recount(self, record: Record, links: Iterable[Link]) -> None:
        """Let the links of a version have the uses given."""
        ...

    async def purge(self, tenant_id: str, log: str, before: Instant, *, dry_run: bool) -> int:
        """Remove the rows of one of ``LOGS`` that are older; gives how many. A dry run only counts."""
        ...

    async def buried(self, tenant_id: str, before: Instant, limit: int) -> list[str]:
        """The ids of memories that were deleted before a moment and whose words are still there."""
        ...

    async def blank(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove the words of memories: of every version, and from their history. That they were there stays."""
        ...

    async def newest_change(self, tenant_id: str) -> int:
        """The last entry in the log of changes."""
        ...

    async def changed_users(self, tenant_id: str, since: int) -> list[str]:
        """The users who have entries in the log of changes after ``since``, in order."""
        ...

    async def stale_changes(self, tenant_id: str, until: int, limit: int) -> list[int]:
        """Entries up to ``until`` after which the same version changed again for the same user.

        Whoever follows the log asks which versions changed since, so without these every answer stays the same.
        """
        ...

    async def forget_changes(self, ids: Sequence[int]) -> None:
        """Remove entries from the log of changes."""
        ...
