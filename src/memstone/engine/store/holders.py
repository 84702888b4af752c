"""Split a shared memory: change it for some of its holders, and keep it for the others.

A change for some of the holders splits a memory. They get one of their own, under a new id, with everything they saw of
it so far; the others are left with what was there, under the id it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of
from memstone.engine.store.versions import Vectors, add_links, insert_version, remove_links, replace_links
from memstone.errors import Forbidden
from memstone.language.language import Language
from memstone.model.access import Bounds
from memstone.model.event import EventType
from memstone.model.ids import POOLS, clean_id, new_id
from memstone.model.instant import Instant
from memstone.model.memory import DIRECT, MIRROR, SHARED, FoundMemory, Layer, Link, Record, Status, owner_of
from memstone.model.query import And, Condition, Op
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.engine.store.write import Outcome


# --- projects ---------------------------------------------------------------------------------------------------------


PREFIX: Final = "project:"
REASON: Final = "said in the project"


def project_scope(runtime: Runtime, project_id: object) -> Scope | None:
    """Return the scope of a project; None without one."""
    name = clean_id(project_id, "project_id")
    return runtime.scope({"user_id": PREFIX + name}) if name else None


async def link_to_project(tx: Tx, language: Language, records: Iterable[Record], project: Scope, now: Instant) -> None:
    """Link memories to a project."""
    for record in {one.seq: one for one in records}.values():
        links = await tx.links.of(record.tenant_id, record.seq)
        if any(link.scope.user_id == project.user_id for link in links):
            continue
        link = Link(project, now, None, MIRROR)
        await add_links(tx, language, record, [link], now)
        if record.layer != Layer.TURN:  # what was said is its own record
            event = event_of(
                EventType.LINK, record, project, now, before=record, links=[*links, link], links_before=links
            )
            await tx.events.append([replace(event, reason=REASON, new_id=record.id)])


async def feed_turns(tx: Tx, language: Language, turn_ids: Iterable[str], project: Scope, now: Instant) -> None:
    """Link turns to their project."""
    found = [await tx.memories.current(project.tenant_id, one) for one in turn_ids if one]
    await link_to_project(tx, language, [record for record in found if record is not None], project, now)


async def feed_outcomes(tx: Tx, language: Language, outcomes: Iterable[Outcome], now: Instant) -> None:
    """Link the facts of turns to the projects in which they were said."""
    for outcome in outcomes:
        project, record = outcome.draft.also, outcome.record
        if project is not None and record is not None and outcome.event != EventType.DELETE:
            await link_to_project(tx, language, [record], project, now)


# --- several may hold one memory --------------------------------------------------------------------------------------


SOMEBODY: Final = "somebody else"
"""What an owner is called who is not named."""

_VERSIONS: Final = 10_000


def partition_links(
    links: Iterable[Link], scopes: Sequence[Scope | Bounds], bounds: Bounds | None = None
) -> tuple[list[Link], list[Link]]:
    """Split links into those of these scopes and their owners, and those of others.

    Beyond the bounds all are others'.
    """
    owners = {owner_of(scope) for scope in scopes if isinstance(scope, Scope)}
    own_items: list[Link] = []
    others: list[Link] = []
    for link in links:
        own = owner_of(link.scope) in owners or any(scope.holds(link.scope) for scope in scopes)
        own = own and (bounds is None or bounds.holds(link.scope))
        (own_items if own else others).append(link)
    return own_items, others


async def claim_shared_memory(tx: Tx, language: Language, record: Record, user_id: str, now: Instant) -> None:
    """Make a shared memory the user's own, because they said the same."""
    links = await tx.links.of(record.tenant_id, record.seq)
    shared = [link for link in links if link.origin == SHARED and link.scope.user_id == user_id]
    if shared and user_id:
        await replace_links(tx, language, record, shared, as_direct_links(shared), now)


def as_direct_links(links: Iterable[Link]) -> list[Link]:
    """Return shared links as direct ones."""
    return [replace(link, origin=DIRECT) if link.origin == SHARED else link for link in links]


async def read_owners(
    tx: Tx, found: Iterable[FoundMemory], bounds: Bounds | None, user_id: str | None = None
) -> dict[str, str]:
    """Read the owners of memories that the caller did not say.

    Who asks is ``user_id``, or else whoever holds a memory.
    """
    owners = dict[str, str]()
    for record, link in ((one.record, one.link) for one in found if one.link.origin != DIRECT):
        links = await tx.links.of(record.tenant_id, record.seq)
        if name := owner_named(links, link.scope.user_id if user_id is None else user_id, bounds):
            owners[record.id] = name
    return owners


def owner_named(links: Iterable[Link], user_id: str, bounds: Bounds | None) -> str:
    """Return the owner of a memory that somebody sees without having said it; '' if it is their own.

    Who lies beyond the bounds of the caller is not named.
    """
    owners = [link.scope for link in links if link.origin == DIRECT]
    people = [one for one in owners if one.user_id and one.user_id != EVERYBODY and not one.user_id.startswith(PREFIX)]
    if any(one.user_id == user_id for one in people) or (owners and not people):
        return ""
    names = (_person_name(one.user_id) for one in people if bounds is None or bounds.holds(one))
    return next(filter(None, names), SOMEBODY)


def _person_name(user_id: str) -> str:
    """Return the name of an owner; '' if only the key is known."""
    if not user_id.startswith(POOLS):
        return user_id
    name = user_id.removeprefix(POOLS).partition(":")[2]
    return "" if name.startswith(":") else name


def refuse_shared(links: Iterable[Link], bounds: Bounds | None) -> None:
    """Raise ``Forbidden`` if somebody outside the bounds shares a memory that is to be changed.

    Who they are is not told.
    """
    if bounds is not None and not all(bounds.holds(link.scope) for link in links):
        raise Forbidden(
            "other users share this memory",
            hint="update and delete change only your own part of it; this needs a key for the whole tenant",
        )


@dataclass(frozen=True, slots=True)
class Replacement:
    """A version that replaces another for some of its holders: ``holder_links`` become ``moved``."""

    old: Record
    new: Record
    holder_links: Sequence[Link]
    moved: Sequence[Link]
    vectors: Vectors
    reason: str | None = None


async def replace_for(tx: Tx, language: Language, change: Replacement, now: Instant) -> None:
    """Replace a memory for some of its holders by a separate memory."""
    old, new, links = change.old, change.new, change.moved
    before = await tx.links.of(old.tenant_id, old.seq)
    new.id = await split_memory(tx, language, old, change.holder_links, new.valid_from)
    await insert_version(tx, language, new, links, change.vectors)
    answer: dict[str, Any] = {"before": old, "links": links, "links_before": before, "reason": change.reason}
    event = event_of(EventType.REPLACE, new, links[0].scope, now, **answer)
    event.old_id, event.new_id = old.id, new.id
    await tx.events.append([event])


async def retract_for(
    tx: Tx, language: Language, record: Record, links: Sequence[Link], now: Instant, reason: str | None
) -> None:
    """End a memory for some of its holders; ``as_of`` still shows it to them."""
    before = await tx.links.of(record.tenant_id, record.seq)
    own = await split_memory(tx, language, record, links, now)
    await _append_unlink_event(tx, record, before, links, now, reason, own)


async def unlink_holders(
    tx: Tx, language: Language, record: Record, links: Sequence[Link], now: Instant, reason: str | None = None
) -> None:
    """Remove links of a memory as if these holders had never had it."""
    before = await tx.links.of(record.tenant_id, record.seq)
    for version, others in await _seen_by(tx, record, links):
        if version.seq != record.seq:
            for link in others:
                await tx.links.remove(version.seq, link.scope)
    await remove_links(tx, language, record, links)
    await _append_unlink_event(tx, record, before, links, now, reason)


async def _append_unlink_event(
    tx: Tx,
    record: Record,
    before: Sequence[Link],
    links: Sequence[Link],
    now: Instant,
    reason: str | None,
    own: str | None = None,
) -> None:
    gone = {link.scope for link in links}
    remaining = [link for link in before if link.scope not in gone]
    answer: dict[str, Any] = {"before": record, "links": remaining, "links_before": before, "reason": reason}
    event = event_of(EventType.UNLINK, record, links[0].scope, now, **answer)
    event.old_id = record.id
    if own is not None:  # what undoing it has to hide again
        event.after = {**(event.after or {}), "split": own}
    await tx.events.append([event])


async def split_memory(tx: Tx, language: Language, record: Record, links: Sequence[Link], at: Instant) -> str:
    """Give some holders a separate memory, ended at a moment; return its id.

    It has every version they saw: a look at the past shows what it showed, and to delete it hides all of it.
    """
    own = new_id()
    for version, others in await _seen_by(tx, record, links):
        copy = replace(version, seq=0, id=own)
        if version.valid_to is None:
            copy.valid_to = max(version.valid_from, at)
            copy.status = Status.SUPERSEDED if version.status == Status.ACTIVE else version.status
        await tx.memories.insert(copy)
        await tx.links.add(record.tenant_id, copy.seq, [replace(link, dedupe=None) for link in others])
        if version.seq != record.seq:
            for link in others:
                await tx.links.remove(version.seq, link.scope)
    await remove_links(tx, language, record, links)
    return own


async def _seen_by(tx: Tx, record: Record, links: Sequence[Link]) -> list[tuple[Record, list[Link]]]:
    """Return the versions of a memory that these holders see, oldest first, with their links."""
    scopes = {link.scope for link in links}
    same = And((Condition("tenant_id", Op.EQ, record.tenant_id), Condition("id", Op.EQ, record.id)))
    found = await tx.memories.find(same, limit=_VERSIONS, oldest_first=True)
    seen = [(one.record, await tx.links.of(record.tenant_id, one.record.seq)) for one in found]
    own = [(version, [link for link in current if link.scope in scopes]) for version, current in seen]
    return [(version, current) for version, current in own if current]
