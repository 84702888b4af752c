"""A cache of users' partitions, loaded from the ledger on first use and kept up to date.

The ledger's change counter tells, in one indexed look-up, whether anybody (this process or another) changed
something since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar

from memstone.adapters.forks import ForkSafeLock
from memstone.ports.ledger import Ledger, Tx
from memstone.ports.read_cache import call_stamps

Name: TypeAlias = tuple[str, str, str]
"""Tenant, user, and what else tells two holdings of a user apart."""

Row = TypeVar("Row")


class Partition(Protocol[Row]):
    """The cached memories of one user.

    Additions go behind what a reader knows, so no reader sees a change.
    """

    @property
    def stamp(self) -> int:
        """The change counter it is up to date with."""
        ...

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        ...

    def apply_rows(self, rows: list[Row], stamp: int) -> Self | None:
        """Return this partition with what changed, or None when it is better read again."""
        ...


_EMPTIED: Final = -1
"""The stamp when the log no longer knows what is held: it was emptied since."""

P = TypeVar("P", bound=Partition[Any])
Load: TypeAlias = Callable[[Tx, Name, "int | None"], Coroutine[Any, Any, list[Row]]]


class PartitionCache(Generic[P, Row]):
    """Partitions by name, the least recently used let go first when they take more than ``most`` bytes."""

    def __init__(self, ledger: Ledger, most: int, load: Load[Row], build: Callable[[list[Row], int, Name], P]) -> None:
        self._ledger, self.most = ledger, most
        self._load, self._build = load, build
        self.partitions: OrderedDict[Name, P] = OrderedDict()
        self._guard = ForkSafeLock()

    def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        with self._guard:
            for name in [name for name in self.partitions if name[0] == tenant_id]:
                del self.partitions[name]

    async def fresh(self, name: Name) -> P:
        """Return what is held of a user, brought up to date."""
        ledger = self._ledger.of(name[0])
        while True:
            current = self.partitions.get(name)
            if current is not None and current.stamp == await _read_stamp(ledger, name):
                return self._mark_used(name, current)
            stamp, rows = await ledger.read(lambda tx: self._read_changes(tx, name, current.stamp if current else None))  # noqa: B023
            call_stamps()[name[:2]] = stamp
            if current is not None and rows is None:
                return self._mark_used(name, current)
            if current is not None and stamp < current.stamp:  # the tenant was reset elsewhere
                self._let_go(name, current)
                continue
            if current is None:
                return self._keep(name, self._build(rows or [], stamp, name))
            grown = self._grow(name, current, rows or [], stamp)
            if grown is not None:
                return grown

    async def _read_changes(self, tx: Tx, name: Name, since: int | None) -> tuple[int, list[Row] | None]:
        """Return the stamp and the rows since then; no rows (None) when nothing changed."""
        stamp = await tx.vectors.stamp(*name[:2])
        if since is not None and stamp == since:
            return stamp, None
        if since and not await tx.vectors.has_change(*name[:2], since):
            return _EMPTIED, []
        return stamp, await self._load(tx, name, since)

    def _mark_used(self, name: Name, partition: P) -> P:
        with suppress(KeyError):
            self.partitions.move_to_end(name)
        return partition

    def _let_go(self, name: Name, current: P) -> None:
        with self._guard:
            if self.partitions.get(name) is current:
                del self.partitions[name]

    def _grow(self, name: Name, current: P, rows: list[Row], stamp: int) -> P | None:
        """Extend a partition; None: look again.

        Additions share the memory of the partition they extend, so only one may extend it.
        """
        with self._guard:
            if self.partitions.get(name) is not current:
                return None
            grown = current.apply_rows(rows, stamp)
            if grown is None:  # more than additions at the end: it is read again as a whole
                del self.partitions[name]
            else:
                self.partitions[name] = grown
            return grown

    def _keep(self, name: Name, partition: P) -> P:
        with self._guard:
            known = self.partitions.get(name)
            if known is None or known.stamp < partition.stamp:
                self.partitions[name] = partition
            self.partitions.move_to_end(name)
            while len(self.partitions) > 1 and sum(current.bytes for current in self.partitions.values()) > self.most:
                self.partitions.popitem(last=False)
        return partition


async def _read_stamp(ledger: Ledger, name: Name) -> int:
    """Return how far the ledger is; within a call that only reads, how far it was when that was first asked."""
    known = call_stamps()
    stamp = known.get(name[:2])
    if stamp is None:
        stamp = known[name[:2]] = await ledger.peek(lambda tx: tx.vectors.stamp(*name[:2]))
    return stamp
