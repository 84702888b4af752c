"""Nearest neighbours in this process: exact search over one user's vectors.

The answer is exact. Where vectors are held as bytes, those that come near are compared again with the vectors of the
ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.partition_cache import Name, PartitionCache
from memstone.model.query import VectorQuery
from memstone.ports.index import DenseHit
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx, VectorRow

if TYPE_CHECKING:  # it computes with numpy, and whoever reads one memory does not
    from memstone.adapters.vectors.partition import VectorPartition

_LONG: Final = 40_000_000
"""To compare a question with more bytes than this takes longer than to hand the turn over and take it back."""

_TIMES: Final = 4
_AT_LEAST: Final = 100
"""Of what is held as bytes, so many times the wanted number, and at least so many, are looked at again."""


class LocalVectorsConfig(BaseModel):
    """``memory_mb`` bounds what is held; the least recently used users go first.

    ``quant = "int8"`` holds vectors as bytes, in a quarter of the memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=512, ge=1)
    quant: Literal["int8"] | None = None


class LocalVectors:
    """See ``memstone.ports.index.VectorIndex``."""

    Config = LocalVectorsConfig
    in_process = True
    is_embedded = True

    def __init__(self, config: LocalVectorsConfig, io: Io, ledger: Ledger) -> None:
        self._ledger, self._io = ledger, io
        self.quant: str = config.quant or ""
        self._partition_cache: PartitionCache[VectorPartition, VectorRow] = PartitionCache(
            ledger, config.memory_mb * 1_000_000, _load_rows, _build_partition
        )

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Return the nearest of a user; without a user, of every user whose links name the agent or run."""
        wide = replace(query, limit=max(_TIMES * query.limit, _AT_LEAST)) if self.quant else query
        users = [query.scope.user_id] if query.scope.user_id else await self._users(query)
        hits: list[DenseHit] = []
        own: set[int] = set()
        for user in users:
            partition = await self._partition_cache.fresh(
                (query.scope.tenant_id, user, _space_name(query.signature, self.quant))
            )
            run = self._io.run_long if partition.bytes > _LONG else self._io.run
            found = await run(partial(partition.nearest, wide))
            if len(users) == 1 and not self.quant:
                return found
            hits += found
            if self.quant and query.spoken is not None:
                own |= partition.own(found)
        nearest = hits if len(users) == 1 else _merge_hits(hits, wide.limit)
        return await self._compared_again(query, nearest, own) if self.quant else nearest

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        self._partition_cache.forget(tenant_id)

    async def _users(self, query: VectorQuery) -> list[str]:
        return await self._ledger.of(query.scope.tenant_id).read(lambda tx: tx.admin.users_of(query.scope))

    async def _compared_again(self, query: VectorQuery, hits: list[DenseHit], own: set[int]) -> list[DenseHit]:
        """Return the same hits by the vectors of the ledger: one that has left it since is left out."""
        seqs = [hit.seq for hit in hits if not hit.extra or hit.seq in query.also]
        ledger, tenant_id = self._ledger.of(query.scope.tenant_id), query.scope.tenant_id
        rows = await ledger.read(lambda tx: tx.vectors.many(tenant_id, query.signature, seqs))
        cosines = await self._io.run(partial(_compute_cosines, query, rows, own))
        near = [hit.seq for hit in hits if not hit.extra and hit.seq in cosines]
        near.sort(key=lambda seq: (-cosines[seq], -seq))
        best = dict.fromkeys(near[: query.limit])
        others = dict.fromkeys(seq for seq in query.also if seq in cosines and seq not in best)
        return [DenseHit(seq, cosines[seq], extra=seq in others) for seq in (*best, *others)]


def _space_name(signature: str, quant: str) -> str:
    """Return what is held is told apart by the vector space and by how its vectors are held."""
    return f"{signature}:{quant}" if quant else signature


async def _load_rows(tx: Tx, name: Name, since: int | None) -> list[VectorRow]:
    tenant_id, user_id, space = name
    return await tx.vectors.partition(tenant_id, user_id, space.removesuffix(":int8"), since)


def _build_partition(rows: list[VectorRow], stamp: int, name: Name) -> VectorPartition:
    from memstone.adapters.vectors.partition import VectorPartition

    signature = name[2].removesuffix(":int8")
    quant = "" if signature == name[2] else "int8"
    return VectorPartition.of(rows, stamp, dim=int(signature.split(":")[-1]), quant=quant)


def _compute_cosines(query: VectorQuery, rows: list[tuple[int, bytes]], own: set[int]) -> dict[int, float]:
    if not rows:
        return {}
    import numpy as np

    from memstone.adapters.vectors.partition import to_matrix

    seqs, vectors = [seq for seq, _ in rows], to_matrix([vector for _, vector in rows])
    found: Any = np.vecdot(vectors, query.vector)
    if own:
        found = np.where([seq in own for seq in seqs], np.vecdot(vectors, query.spoken), found)
    return dict(zip(seqs, found.tolist(), strict=True))


def _merge_hits(hits: list[DenseHit], limit: int) -> list[DenseHit]:
    """Return the best of several users' hits; a memory linked to two of them counts once."""
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
