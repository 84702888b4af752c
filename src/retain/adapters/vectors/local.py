"""Exact nearest neighbours in this process.

Vectors are held per user and loaded from the ledger when that user is first asked about. The ledger's change
counter tells, in one indexed look-up, whether anybody (this process or another) changed something since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from retain.adapters.forks import ForkSafeLock
from retain.adapters.vectors.partition import Partition
from retain.model.query import VectorQuery
from retain.ports.index import DenseHit
from retain.ports.io import Io
from retain.ports.ledger import Ledger, Tx, VectorRow

_Name: TypeAlias = tuple[str, str, str]
_RELOAD: Final = None


class LocalConfig(BaseModel):
    """``memory_mb`` bounds what is held; the least recently used users go first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=512, ge=1)


class LocalVectors:
    """See ``retain.ports.index.VectorIndex``."""

    Config = LocalConfig
    in_process = True

    def __init__(self, config: LocalConfig, io: Io, ledger: Ledger) -> None:
        self._ledger, self._io = ledger, io
        self._most = config.memory_mb * 1_000_000
        self._held: OrderedDict[_Name, Partition] = OrderedDict()
        self._guard = ForkSafeLock()

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """The nearest of a user; without a user, of every user whose links name the agent or run."""
        users = [query.scope.user_id] if query.scope.user_id else await self._users(query)
        hits: list[DenseHit] = []
        for user in users:
            partition = await self._fresh((query.scope.tenant_id, user, query.signature))
            hits += await self._io.run(lambda partition=partition: partition.nearest(query))  # type: ignore[misc]
        return hits if len(users) == 1 else _best(hits, query.limit)

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        with self._guard:
            for name in [name for name in self._held if name[0] == tenant_id]:
                del self._held[name]

    async def _users(self, query: VectorQuery) -> list[str]:
        return await self._ledger.read(lambda tx: tx.admin.users_of(query.scope))

    async def _fresh(self, name: _Name) -> Partition:
        """What is held of a user, brought up to date."""
        while True:
            held = self._held.get(name)
            if held is not None and held.stamp == await self._ledger.peek(lambda tx: tx.vectors.stamp(*name[:2])):
                return self._used(name, held)
            stamp, rows = await self._ledger.read(lambda tx: _changed(tx, name, held.stamp if held else _RELOAD))  # noqa: B023
            if held is not None and rows is None:
                return self._used(name, held)
            if held is not None and stamp < held.stamp:  # the log was emptied: the tenant was reset elsewhere
                self._let_go(name, held)
                continue
            if held is None:
                return self._keep(name, Partition.of(rows or [], stamp, _dimension(name)))
            grown = self._grow(name, held, rows or [], stamp)
            if grown is not None:
                return grown

    def _used(self, name: _Name, partition: Partition) -> Partition:
        with suppress(KeyError):
            self._held.move_to_end(name)
        return partition

    def _let_go(self, name: _Name, held: Partition) -> None:
        with self._guard:
            if self._held.get(name) is held:
                del self._held[name]

    def _grow(self, name: _Name, held: Partition, rows: list[VectorRow], stamp: int) -> Partition | None:
        """Additions share the block of the partition they extend, so only one may extend it; None: look again."""
        with self._guard:
            if self._held.get(name) is not held:
                return None
            grown = held.updated(rows, stamp)
            if grown is None:  # more than additions at the end: it is read again as a whole
                del self._held[name]
            else:
                self._held[name] = grown
            return grown

    def _keep(self, name: _Name, partition: Partition) -> Partition:
        with self._guard:
            known = self._held.get(name)
            if known is None or known.stamp < partition.stamp:
                self._held[name] = partition
            self._held.move_to_end(name)
            while len(self._held) > 1 and sum(held.bytes for held in self._held.values()) > self._most:
                self._held.popitem(last=False)
        return partition


def _dimension(name: _Name) -> int:
    return int(name[2].split(":")[-1])


async def _changed(tx: Tx, name: _Name, since: int | None) -> tuple[int, list[VectorRow] | None]:
    """The stamp and the rows since then; no rows (None) when nothing changed."""
    tenant, user, signature = name
    stamp = await tx.vectors.stamp(tenant, user)
    if since is not None and stamp == since:
        return stamp, None
    return stamp, await tx.vectors.partition(tenant, user, signature, since)


def _best(hits: list[DenseHit], limit: int) -> list[DenseHit]:
    """The best of several users' hits; a memory linked to two of them counts once."""
    by_seq: dict[int, DenseHit] = {}
    for hit in hits:
        if hit.seq not in by_seq or by_seq[hit.seq].extra:
            by_seq[hit.seq] = hit
    found = sorted((hit for hit in by_seq.values() if not hit.extra), key=lambda hit: -hit.cosine)
    return (
        found[:limit]
        + [hit for hit in by_seq.values() if hit.extra]
        + [DenseHit(hit.seq, hit.cosine, extra=True) for hit in found[limit:]]
    )
