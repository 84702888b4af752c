"""What a person deleted must not come back by itself, under no name by which it was known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memstone.engine.storing.snapshot import links_of

if TYPE_CHECKING:
    from memstone.model.instant import Instant
    from memstone.model.memory import Link, Record
    from memstone.model.scope import Scope
    from memstone.ports.ledger import Tx


async def suppress(tx: Tx, record: Record, links: Sequence[Link], now: Instant, turn_id: str | None = None) -> None:
    """Remember that a person deleted this, for the holders of these links, and in which turn they asked for it."""
    for name in await names_of(tx, record, links):
        await tx.suppressed.put(record.tenant_id, name, record.id, now, turn_id)


async def lift(tx: Tx, record: Record, links: Sequence[Link]) -> bool:
    """Let it come back; gives whether a person had deleted it."""
    names = await names_of(tx, record, links)
    held = [name for name in names if await tx.suppressed.has(record.tenant_id, name)]
    for name in held:
        await tx.suppressed.lift(record.tenant_id, name)
    return bool(held)


async def names_of(tx: Tx, record: Record, links: Sequence[Link]) -> list[str]:
    """By what a memory is or was known to these holders, itself and each that has become part of it."""
    scopes = {link.scope for link in links}
    names = [link.dedupe for link in links if link.dedupe]
    if record.version > 1:
        names += await _earlier(tx, record.tenant_id, record.id, scopes)
    for twin in record.data.get("merged") or ():
        last = await tx.memories.last(record.tenant_id, str(twin))
        if last is not None and last.valid_to is not None:  # else it was parted again, and is there
            names += await _earlier(tx, record.tenant_id, last.id, scopes)
    return list(dict.fromkeys(names))


async def _earlier(tx: Tx, tenant_id: str, memory_id: str, scopes: Iterable[Scope]) -> list[str]:
    """The names of a memory that its history tells, also under the id it had before it was split."""
    names: list[str] = []
    left, seen = [memory_id], set[str]()
    while left:
        seen.add(one := left.pop())
        for event in await tx.events.of(tenant_id, one):
            told = links_of(event.before, tenant_id) if event.before else None
            names += [link.dedupe for link in told or () if link.dedupe and link.scope in scopes]
            if event.old_id and event.memory_id == one and event.old_id not in seen:
                left.append(event.old_id)
    return names
