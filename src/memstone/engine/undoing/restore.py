"""``restore``: bring back a memory that has ended or was put aside, or what an earlier version of it said."""

from __future__ import annotations

from functools import partial
from typing import Any

from memstone.engine.parts import Parts
from memstone.engine.storing.named import checked_id, under_id
from memstone.engine.storing.snapshot import state_of
from memstone.engine.undoing.putback import Act, links_again, put_back, status_at_the_end
from memstone.engine.undoing.revive import Fresh, fresh_vectors
from memstone.engine.undoing.undo import told
from memstone.errors import Conflict, InvalidInput, NotFoundError
from memstone.model.event import Event
from memstone.model.instant import Instant
from memstone.model.memory import Record, Status
from memstone.ports.ledger import Tx


async def restore(parts: Parts, memory_id: str, version: int | None) -> dict[str, Any]:
    """Let a version of a memory hold again, for those who see the memory now, or saw it last."""
    wanted = checked_id(memory_id)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 1):
        raise InvalidInput(f"version must be a whole number from 1, not {version!r}")
    row, _ = await parts.ledger.read(lambda tx: _chosen(parts, tx, wanted, version))
    fresh = await fresh_vectors(parts, [row])
    now = parts.now()
    work = partial(_restored, parts=parts, memory_id=wanted, version=version, fresh=fresh, now=now)
    event = await parts.ledger.write(work)
    return {**told(event), **({"degraded": fresh.degraded} if fresh.degraded else {})}


async def _chosen(parts: Parts, tx: Tx, memory_id: str, version: int | None) -> tuple[Record, Record]:
    """The version that is wanted, and the last one there is."""
    tenant = parts.tenant_id
    last = await under_id(tx.memories.last, tenant, memory_id)
    if last is None or not last.text:
        raise NotFoundError(f"no memory {memory_id}", hint="what was erased cannot be restored")
    if last.valid_to is None and last.status == Status.QUARANTINED:
        raise Conflict(f"{memory_id} is in quarantine", hint="approve or reject it")
    if version in (None, last.version) and last.valid_to is None and last.status == Status.ACTIVE:
        raise Conflict(f"{memory_id} is there", hint="name an earlier version that should hold again")
    row = last if version is None else await tx.memories.version(tenant, last.id, version)
    if row is None or not row.text:
        raise NotFoundError(f"{memory_id} has no version {version}")
    return row, last


async def _restored(tx: Tx, *, parts: Parts, memory_id: str, version: int | None, fresh: Fresh, now: Instant) -> Event:
    row, last = await _chosen(parts, tx, memory_id, version)
    act = Act(parts, tx, now, fresh, reason=f"version {row.version} restored")
    links = await links_again(act, row, last)
    was = last.status if last.valid_to is None else await status_at_the_end(tx, last)
    status = Status.QUARANTINED if was == Status.QUARANTINED else Status.ACTIVE  # nobody has approved it yet
    return await put_back(act, last.id, {**state_of(row, links), "status": str(status)})
