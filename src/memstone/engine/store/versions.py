"""Insert and end versions: the only place that writes to the ledger and its indexes.

A version enters and leaves all indexes here and nowhere else, so that ledger, full text, vectors and change counter
cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from memstone.core.checks.arguments import IDS
from memstone.engine.store.deleted_spans import as_told
from memstone.engine.store.draft import links_of, text_doc
from memstone.engine.store.mention import note_of, write_mentions
from memstone.errors import Conflict, InvalidInput, NotFoundError
from memstone.language.language import Language
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED, Link, Record, Status, owner_of
from memstone.model.memory import EntityFound as Named
from memstone.model.scope import Scope
from memstone.ports.ledger import IndexInfo, Tx

# --- steps inside a write transaction that every kind of change shares ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Space:
    """The vector space of new vectors."""

    signature: str
    dim: int


Vectors: TypeAlias = Sequence[tuple[Space, bytes]]
"""The vectors of one version: none without an embedder, several while a new space is being built."""


@dataclass(slots=True)
class NewVersion:
    """A version to be stored, with its links and vectors."""

    record: Record
    links: Sequence[Link]
    vectors: Vectors
    named: Named | None = None
    """Whom and what it mentions, where that was found out before; else it is looked for."""


async def insert_version(
    tx: Tx, language: Language, record: Record, links: Sequence[Link], vectors: Vectors, named: Named | None = None
) -> None:
    """Store a version and index it; the spaces of its vectors are registered (``ensure_space``)."""
    await enter_all(tx, language, [NewVersion(record, links, vectors, named)])


async def enter_all(tx: Tx, language: Language, entries: Sequence[NewVersion]) -> None:
    """Store versions of one tenant and index them, with one statement per table.

    ``language`` says which days and names their texts mention.
    """
    if not entries:
        return
    if len(entries) == 1:  # most writes; the database numbers it
        await tx.memories.insert(entries[0].record)
    else:
        await tx.memories.insert_all([entry.record for entry in entries])
    tenant = entries[0].record.tenant_id
    await tx.links.add_many(
        tenant, ((entry.record.seq, link) for entry in entries for link in _clear_repeated_dedupes(entry.links))
    )
    indexed = [entry for entry in entries if entry.record.status in INDEXED]
    await tx.text.put_many((entry.record.seq, text_doc(entry.record, entry.links, language.dates)) for entry in indexed)
    by_space: dict[str, list[tuple[int, bytes]]] = {}
    for entry in indexed:
        for space, vector in entry.vectors:
            by_space.setdefault(space.signature, []).append((entry.record.seq, vector))
    for signature, vectors in by_space.items():
        await tx.vectors.put(tenant, signature, vectors)
    news = ((user, entry.record.seq) for entry in entries for user in {link.scope.user_id for link in entry.links})
    await tx.vectors.note(tenant, news)
    waits = Status.QUARANTINED  # nobody has said yet that it may be known
    learned = (
        note_of(entry.record, entry.links, language.names, entry.named)
        for entry in indexed
        if entry.record.status != waits
    )
    await write_mentions(tx, learned, entries[0].record.updated_at)


async def end_version(tx: Tx, record: Record, status: str, at: Instant) -> None:
    """End a version and remove it from every index; its row and links stay for the history."""
    if not await tx.memories.close(record.seq, status, at):
        raise Conflict(f"{record.id} was changed in the meantime", hint="read it again and retry")
    await tx.links.release(record.tenant_id, record.seq)
    await tx.text.drop([record.seq])
    await tx.entities.leave(record.tenant_id, [record.seq])
    await tx.vectors.drop(record.tenant_id, [record.seq])
    await tx.vectors.touch(record.tenant_id, [record.seq])


async def supersede_version(
    tx: Tx, language: Language, old: Record, new: Record, links: Sequence[Link], vectors: Vectors
) -> None:
    """Replace the current version of a memory by the next one, under the same id.

    A version that was not active keeps its status: a look at the past never shows what nobody saw then.
    """
    await end_version(tx, old, Status.SUPERSEDED if old.status == Status.ACTIVE else old.status, new.valid_from)
    await insert_version(tx, language, new, links, vectors)


async def add_links(tx: Tx, language: Language, record: Record, links: Sequence[Link], at: Instant) -> None:
    """Add links to a version, in the ledger and in every index."""
    await replace_links(tx, language, record, (), links, at)


def _clear_repeated_dedupes(links: Sequence[Link]) -> list[Link]:
    """Keep each dedupe value only in its first link, so that a user has a memory only once."""
    seen: set[str] = set()
    remaining: list[Link] = []
    for link in links:
        remaining.append(replace(link, dedupe=None) if link.dedupe in seen else link)
        seen |= {link.dedupe} if link.dedupe else set()
    return remaining


async def link_to(tx: Tx, language: Language, record: Record, scope: Scope, now: Instant) -> None:
    """Add a link for another conversation in which a known memory was repeated."""
    links = await tx.links.of(record.tenant_id, record.seq)
    owned = [link.scope for link in links if scope.user_id and link.scope.user_id == scope.user_id]
    if record.valid_to is None and owned and not any(scope.holds(one) for one in owned):
        await add_links(tx, language, record, [Link(scope, now)], now)


async def remove_links(tx: Tx, language: Language, record: Record, links: Sequence[Link]) -> None:
    """Remove links of a version that others still see, and update the indexes."""
    await replace_links(tx, language, record, links, (), record.updated_at)


async def replace_links(
    tx: Tx, language: Language, record: Record, gone: Sequence[Link], new: Sequence[Link], at: Instant
) -> None:
    """Replace links of a version, in the ledger and in every index."""
    tenant = record.tenant_id
    if gone:
        await tx.vectors.touch(tenant, [record.seq])  # first, so that the log names those who lose it
    for link in gone:
        await tx.links.remove(record.seq, link.scope)
    await tx.links.add(tenant, record.seq, _clear_repeated_dedupes(new))
    links = await tx.links.of(tenant, record.seq)
    if new:
        await tx.vectors.touch(tenant, [record.seq])
    await _update_text_index(tx, language, record, links)
    if new and record.valid_to is None:
        answer = await as_told(tx, record)
        await write_mentions(tx, [note_of(answer, new, language.names)] if answer is not None else [], at)
    for owner in {owner_of(link.scope) for link in gone} - {owner_of(link.scope) for link in links}:
        await tx.entities.leave(tenant, [record.seq], owner)


async def _update_text_index(tx: Tx, language: Language, record: Record, links: Sequence[Link]) -> None:
    """Update the full-text index after links have changed."""
    if record.valid_to is None and record.status in INDEXED:
        await tx.text.drop([record.seq])
        await tx.text.put(record.seq, text_doc(record, links, language.dates))


async def vectors_of(tx: Tx, record: Record) -> Vectors:
    """Return the vectors of a version in every space."""
    spaces = [Space(info.signature, info.dim) for info in await tx.indexes.all(record.tenant_id)]
    found = [(space, await tx.vectors.get(record.tenant_id, record.seq, space.signature)) for space in spaces]
    return [(space, vector) for space, vector in found if vector is not None]


async def add_vectors(tx: Tx, tenant_id: str, space: Space, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Add vectors to current versions that were stored without."""
    await ensure_space(tx, tenant_id, space)
    await tx.vectors.fill(tenant_id, space.signature, vectors)
    await tx.vectors.touch(tenant_id, [seq for seq, _ in vectors])


async def ensure_space(tx: Tx, tenant_id: str, space: Space) -> str:
    """Register a vector space; the first one of a tenant is active, a later one waits for a reindex."""
    known = await tx.indexes.state(tenant_id, space.signature)
    if known is not None:
        return known
    others = await tx.indexes.all(tenant_id)
    state = "building" if any(info.state == "active" for info in others) else "active"
    await tx.indexes.put(tenant_id, IndexInfo(space.signature, space.dim, state))
    return state


# --- what a person deleted must not come back by itself, under no name by which it was known --------------------------


async def suppress_memory(
    tx: Tx, record: Record, links: Sequence[Link], now: Instant, turn_id: str | None = None
) -> None:
    """Remember that a person deleted a memory, and in which turn."""
    for name in await names_of(tx, record, links):
        await tx.suppressions.put(record.tenant_id, name, record.id, now, turn_id)


async def lift_suppression(tx: Tx, record: Record, links: Sequence[Link]) -> bool:
    """Allow a memory to be learned again; return whether a person had deleted it."""
    names = await names_of(tx, record, links)
    current = [name for name in names if await tx.suppressions.has(record.tenant_id, name)]
    for name in current:
        await tx.suppressions.lift(record.tenant_id, name)
    return bool(current)


async def names_of(tx: Tx, record: Record, links: Sequence[Link]) -> list[str]:
    """Return all dedupe values of a memory, including those of memories merged into it."""
    scopes = {link.scope for link in links}
    names = [link.dedupe for link in links if link.dedupe]
    if record.version > 1:
        names += await _read_earlier_dedupes(tx, record.tenant_id, record.id, scopes)
    for twin in record.data.get("merged") or ():
        last = await tx.memories.last(record.tenant_id, str(twin))
        if last is not None and last.valid_to is not None:  # else it was parted again, and is there
            names += await _read_earlier_dedupes(tx, record.tenant_id, last.id, scopes)
    return list(dict.fromkeys(names))


async def _read_earlier_dedupes(tx: Tx, tenant_id: str, memory_id: str, scopes: Iterable[Scope]) -> list[str]:
    """Return dedupe values from the history of a memory, also from before it was split."""
    names: list[str] = []
    left, seen = [memory_id], set[str]()
    while left:
        seen.add(one := left.pop())
        for event in await tx.events.of(tenant_id, one):
            links = links_of(event.before, tenant_id) if event.before else None
            names += [link.dedupe for link in links or () if link.dedupe and link.scope in scopes]
            if event.old_id and event.memory_id == one and event.old_id not in seen:
                left.append(event.old_id)
    return names


# --- what there is under an id that a caller gives --------------------------------------------------------------------


T = TypeVar("T")
_NO_NUL: Final = "not every database can look for one"
_UUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


def as_text(memory_id: Any) -> Any:
    """Return a UUID in Memstone's form; any other id as it is."""
    from uuid import UUID  # whoever has one has loaded it

    return str(memory_id) if isinstance(memory_id, UUID) else memory_id


def checked_id(argument: Any, name: str = "memory_id") -> str:
    """Check an id, which may be text or a UUID."""
    (what, hint), value = IDS[name], as_text(argument)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be the id of {what}, not {value!r}", hint=hint)
    return without_nul(value.strip(), name)


def without_nul(value: str, name: str) -> str:
    """Return a text, or raise if it contains a NUL character, which databases cannot search for."""
    if "\0" in value:
        raise InvalidInput(f"{name} contains a NUL character", hint=_NO_NUL)
    return value


async def under_id(look: Callable[[str, str], Awaitable[T]], tenant_id: str, memory_id: str) -> T:
    """Look up an id as it is given, and then in lower case.

    Some languages write UUIDs in capitals.
    """
    found = await look(tenant_id, without_nul(memory_id, "memory_id"))
    lower = memory_id.lower()
    if found or lower == memory_id or not _UUID.fullmatch(lower):
        return found
    return await look(tenant_id, lower)


async def require_current(tx: Tx, tenant_id: str, memory_id: str) -> Record:
    """Return the current version of a memory; raise ``NotFoundError`` if there is none."""
    record = await under_id(tx.memories.current, tenant_id, memory_id)
    if record is None:
        raise NotFoundError(f"no memory {memory_id}")
    return record
