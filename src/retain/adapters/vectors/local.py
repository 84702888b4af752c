"""Exact nearest neighbours in this process, held per user."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from retain.adapters.held import Held, Name
from retain.adapters.vectors.partition import Partition
from retain.model.query import VectorQuery
from retain.ports.index import DenseHit
from retain.ports.io import Io
from retain.ports.ledger import Ledger, Tx, VectorRow


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
        self._held: Held[Partition, VectorRow] = Held(ledger, config.memory_mb * 1_000_000, _rows, _partition)

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """The nearest of a user; without a user, of every user whose links name the agent or run."""
        users = [query.scope.user_id] if query.scope.user_id else await self._users(query)
        hits: list[DenseHit] = []
        for user in users:
            partition = await self._held.fresh((query.scope.tenant_id, user, query.signature))
            hits += await self._io.run(lambda partition=partition: partition.nearest(query))  # type: ignore[misc]
        return hits if len(users) == 1 else _best(hits, query.limit)

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        self._held.forget(tenant_id)

    async def _users(self, query: VectorQuery) -> list[str]:
        return await self._ledger.read(lambda tx: tx.admin.users_of(query.scope))


async def _rows(tx: Tx, name: Name, since: int | None) -> list[VectorRow]:
    return await tx.vectors.partition(*name, since)


def _partition(rows: list[VectorRow], stamp: int, name: Name) -> Partition:
    return Partition.of(rows, stamp, dim=int(name[2].split(":")[-1]))


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
