"""Steps inside a write transaction that every kind of change shares.

A version enters and leaves all mirrors here and nowhere else, so that ledger, full text, vectors and the change
counter cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retain.engine.draft import text_doc
from retain.errors import Conflict
from retain.model.instant import Instant
from retain.model.memory import INDEXED, Link, Record, Status
from retain.ports.ledger import IndexInfo, Tx


@dataclass(frozen=True, slots=True)
class Space:
    """The vector space new vectors belong to."""

    signature: str
    dim: int


async def enter(tx: Tx, record: Record, links: Sequence[Link], vector: bytes | None, space: Space | None) -> None:
    """Store a version and index it."""
    tenant = record.tenant_id
    seq = await tx.memories.insert(record)
    await tx.links.add(tenant, seq, links)
    if record.status in INDEXED:
        await tx.text.put(seq, text_doc(record, links))
        if vector is not None and space is not None:
            await ensure_space(tx, tenant, space)
            await tx.vectors.put(tenant, space.signature, [(seq, vector)])
    await tx.vectors.note(tenant, seq, {link.scope.user_id for link in links})


async def leave(tx: Tx, record: Record, status: str, at: Instant) -> None:
    """End a version and take it out of every index; its row and links stay for the history."""
    if not await tx.memories.close(record.seq, status, at):
        raise Conflict(f"{record.id} was changed by somebody else", hint="read it again and retry")
    await tx.links.release(record.tenant_id, record.seq)
    await tx.text.drop([record.seq])
    await tx.vectors.drop(record.tenant_id, [record.seq])
    await tx.vectors.touch(record.tenant_id, [record.seq])


async def supersede(
    tx: Tx, old: Record, new: Record, links: Sequence[Link], vector: bytes | None, space: Space | None
) -> None:
    """Put the next version of a memory in the place of the current one, under the same id."""
    await leave(tx, old, Status.SUPERSEDED, new.valid_from)
    await enter(tx, new, links, vector, space)


async def ensure_space(tx: Tx, tenant_id: str, space: Space) -> str:
    """Register a vector space; the first one of a tenant is active, a later one waits for a reindex."""
    known = {info.signature: info.state for info in await tx.indexes.all(tenant_id)}
    if space.signature in known:
        return known[space.signature]
    state = "building" if "active" in known.values() else "active"
    await tx.indexes.put(tenant_id, IndexInfo(space.signature, space.dim, state))
    return state
