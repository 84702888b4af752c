"""``reassign``: rename a user, or merge two.

Everything that a scope holds goes to another one, page by page: memories in every version, what waits in the inbox, the
receipts, what was counted, what a person deleted. Where both know the same, the older memory stays, and of two texts
under one key what was said later. Each memory has an
event that tells who held it before, and all of them one job: undoing it takes all of it back. A call that broke off is
made again and goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.filters import where_in_scope
from memstone.engine.request_scope import Progress, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import dedupe_value, event_of
from memstone.engine.store.repeat_counter import write_down
from memstone.engine.store.revise import dedupe_of
from memstone.engine.store.turns import turn_dedupe
from memstone.engine.store.versions import end_version, remove_links, replace_links
from memstone.errors import InvalidInput
from memstone.language.language import Language
from memstone.model.event import Event, EventType, Job
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Layer, Link, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.tables import OWNED_TABLES

if TYPE_CHECKING:
    from memstone.results import ReassignResult

# --- what makes a memory the same as another one, worked out again for another holder ---------------------------------


_REPEATED: Final = 8
"""So often the same words at the same time are told apart."""


def claim_in(runtime: Runtime, record: Record, known: Link | None, link: Link) -> str | None:
    """Return what a memory is known by for the holder of a link, made the way it was made for the one that is known.

    A turn is known by its words, and by its time only if the caller gave one: which of the two it was, the value itself
    tells. Without one to compare with, it is what a new memory would have.
    """
    if known is not None and known.dedupe is None:
        return None
    was = () if known is None else _possible_dedupes(runtime, record, known)
    for before, now in zip(was, _possible_dedupes(runtime, record, link), strict=False):
        if known is not None and before == known.dedupe:
            return now
    return None if record.layer == Layer.TURN else dedupe_of(runtime, link, record)


def _possible_dedupes(runtime: Runtime, record: Record, link: Link) -> Iterator[str | None]:
    """Yield all the values a memory may have got, always in the same order."""
    who, fields = link.scope, runtime.policy.dedupe_scope
    if record.layer == Layer.TURN:
        yield from _turn_ways(record, who)
        return
    yield dedupe_of(runtime, link, record)
    yield dedupe_value(who, runtime.policy.known_scope, speaker="", key=None, text=record.text)
    yield dedupe_value(who, fields, speaker="", key=None, text=record.text)
    yield dedupe_value(who, fields, speaker="", key=record.key, text=record.text)


def _turn_ways(record: Record, who: Scope) -> Iterator[str]:
    speaker = str(record.data.get("speaker") or record.source_role or "")
    for when in (None, record.occurred_at):
        for repeated in range(_REPEATED):
            yield turn_dedupe(who, speaker, record.text, when, repeated)


# --- ``reassign`` -----------------------------------------------------------------------------------------------------


TASK: Final = "reassign"
REASON: Final = "reassigned"
_FIELDS: Final = ("user_id", "agent_id", "run_id")
_PAGE: Final = 200
_VERSIONS: Final = 10_000


@dataclass(slots=True)
class Move:
    """From whom to whom, and what has become of it so far."""

    runtime: Runtime
    old: Scope
    new: Scope
    job_id: str
    moved: int = 0
    merged: int = 0

    def of(self, scope: Scope) -> Scope:
        """Return what becomes of a scope: the ids that the new one names take the place of those it has."""
        return replace(scope, **{name: getattr(self.new, name) for name in _FIELDS if getattr(self.new, name)})

    def link(self, link: Link, record: Record) -> Link:
        """Return a link as it will be."""
        moved = replace(link, scope=self.of(link.scope))
        return replace(moved, dedupe=claim_in(self.runtime, record, link, moved))

    def event(self, verb: str, record: Record, scope: Scope, now: Instant, **answer: Any) -> Event:
        """Return an event of this move."""
        return event_of(verb, record, scope, now, before=record, reason=REASON, job_id=self.job_id, **answer)


@dataclass(slots=True)
class _ToUser(Move):
    """From an agent to the people it talked to."""

    def of(self, scope: Scope) -> Scope:
        """Return what becomes of a scope: it is the user's, whichever agent or conversation."""
        return Scope(scope.tenant_id, scope.user_id)


async def leave_to_users(
    runtime: Runtime, agent_id: str, choose: Callable[[Tx, Scope], Awaitable[frozenset[str]]]
) -> int:
    """Hand the facts of an agent that are chosen over to the users they are about; return how many."""
    old = Scope(runtime.tenant_id, agent_id=agent_id)
    move, now = _ToUser(runtime, old, Scope(runtime.tenant_id), new_id()), runtime.now()

    async def work(tx: Tx) -> int:
        owners = await tx.upkeep.owners(old, str(Layer.FACT))
        ids = [await choose(tx, Scope(runtime.tenant_id, user, agent_id)) for user, _ in owners if user]
        own = And((where_in_scope(old), Condition("id", Op.IN, tuple({one for some in ids for one in some}))))
        found = await tx.memories.find(own, limit=_VERSIONS, oldest_first=True) if any(ids) else []
        return (await _move_all(tx, runtime.language, move=move, page=found, now=now))[0]

    return await runtime.ledger.write(work)


async def reassign_scope(
    runtime: Runtime, from_scope: Mapping[str, Any], to_scope: Mapping[str, Any], progress: Progress | None
) -> ReassignResult:
    """Hand everything that one scope holds over to another."""
    move = Move(
        runtime, _parse_scope(runtime, from_scope, "from_scope"), _parse_scope(runtime, to_scope, "to_scope"), new_id()
    )
    if move.new.holds(move.old):
        raise InvalidInput("the source and the target are the same", hint="name another user, agent or run")
    await write_down(runtime)  # what was only counted so far goes along too
    owned = await runtime.ledger.write(partial(_hand_over, move=move, now=runtime.now()))
    total = len(await runtime.ledger.read(lambda tx: tx.memories.seqs(where_in_scope(move.old))))
    after = done = 0
    while page := await runtime.ledger.read(partial(_read_page, move=move, after=after)):
        moved, merged = await runtime.ledger.write(
            partial(_move_all, language=runtime.language, move=move, page=page, now=runtime.now())
        )
        move.moved, move.merged = move.moved + moved, move.merged + merged
        after, done = page[-1].record.seq, done + len(page)
        await report_progress(progress, min(done, total), total)
    return {
        "job_id": move.job_id,
        "moved": move.moved,
        "merged": move.merged,
        "signals": len(owned["signals"]),
        "receipts": len(owned["receipts"]),
    }


def _parse_scope(runtime: Runtime, values: Mapping[str, Any], name: str) -> Scope:
    if not isinstance(values, Mapping) or set(values) - set(_FIELDS):
        raise InvalidInput(f"{name} must name user_id, agent_id or run_id", hint='such as {"user_id": "alice"}')
    return runtime.scope(values).require_owner()


async def _read_page(tx: Tx, *, move: Move, after: int) -> list[FoundMemory]:
    where: Where = And((where_in_scope(move.old), Condition("seq", Op.GT, after)))
    return await tx.memories.find(where, limit=_PAGE, oldest_first=True)


async def _hand_over(tx: Tx, *, move: Move, now: Instant) -> dict[str, list[str]]:
    """Return what waits, the receipts and the counts, and what undoing it will have to know."""
    owned = {table: await tx.rows_by_owner.hand_over(table, move.old, move.new) for table in OWNED_TABLES}
    whole_user = move.old.user_id and not (move.old.agent_id or move.old.run_id)
    if whole_user and move.new.user_id:
        await tx.metrics.hand_over(move.old.tenant_id, move.old.user_id, move.new.user_id)
        await tx.continuations.hand_over(move.old.tenant_id, move.old.user_id, move.new.user_id)
    await _keep_deleted(tx, move, now)
    scopes = {"from": _scope_as_dict(move.old), "to": _scope_as_dict(move.new)}
    await tx.jobs.put(Job(move.job_id, TASK, move.new, "success", now, details={**scopes, **owned}))
    return owned


async def _keep_deleted(tx: Tx, move: Move, now: Instant) -> None:
    """Keep what somebody deleted, and others still hold, deleted for them under their new name."""
    for event in await tx.events.list_replacements(move.old, _VERSIONS):
        record = await tx.memories.current(move.old.tenant_id, event.memory_id)
        if event.event == EventType.UNLINK and record is not None:
            await _keep_suppressed(tx, move, record, Link(event.scope, now), now)


async def _keep_suppressed(tx: Tx, move: Move, record: Record, link: Link, now: Instant) -> None:
    claimed = replace(link, dedupe=claim_in(move.runtime, record, None, link))
    if claimed.dedupe and await tx.suppressions.has(record.tenant_id, claimed.dedupe):
        moved = move.link(claimed, record)
        if moved.dedupe:
            await tx.suppressions.put(record.tenant_id, moved.dedupe, record.id, now)


async def _move_all(
    tx: Tx, language: Language, *, move: Move, page: Sequence[FoundMemory], now: Instant
) -> tuple[int, int]:
    """Move the memories of a page, each with all its versions; return how many moved, and how many became one."""
    moved = merged = 0
    for memory_id in dict.fromkeys(found.record.id for found in page):
        same = And((Condition("tenant_id", Op.EQ, move.old.tenant_id), Condition("id", Op.EQ, memory_id)))
        versions = [one.record for one in await tx.memories.find(same, limit=_VERSIONS, oldest_first=True)]
        fresh = [(one, await _read_moving_links(tx, move, one)) for one in versions]
        if not any(links for _, links in fresh):
            continue  # an earlier page had it
        live = versions[-1] if versions[-1].valid_to is None else None
        if live is None:
            await _tell_ended(tx, move, *fresh[-1], now)
        for version, links in fresh:
            if version is not live:
                await _move_ended(tx, move, version, links, now)
        merged += (
            await _move_live(tx, language, move, live, fresh[-1][1], now) if live is not None and fresh[-1][1] else 0
        )
        moved += 1
    return moved, merged


async def _read_moving_links(tx: Tx, move: Move, version: Record) -> list[Link]:
    """Return the links of a version that move."""
    links = await tx.links.of(version.tenant_id, version.seq)
    return [link for link in links if move.old.holds(link.scope) and move.of(link.scope) != link.scope]


async def _move_ended(tx: Tx, move: Move, version: Record, links: Sequence[Link], now: Instant) -> None:
    """Move the links of a version that no longer holds: it is in no index."""
    current = await tx.links.of(version.tenant_id, version.seq)
    for link in links:
        if version.status == Status.DELETED:
            await _keep_suppressed(tx, move, version, link, now)
        await tx.links.remove(version.seq, link.scope)
    moved = [replace(link, scope=move.of(link.scope), dedupe=None) for link in links]
    await tx.links.add(version.tenant_id, version.seq, _those_not_in(current, moved))


async def _tell_ended(tx: Tx, move: Move, last: Record, links: Sequence[Link], now: Instant) -> None:
    """Write the event of a memory that is there no more."""
    current = await tx.links.of(last.tenant_id, last.seq)
    moving = {link.scope for link in links}
    after = [replace(link, scope=move.of(link.scope)) if link.scope in moving else link for link in current]
    if current:
        answer = {"links": after, "links_before": current}
        await tx.events.append([move.event(EventType.LINK, last, after[0].scope, now, **answer)])


async def _move_live(tx: Tx, language: Language, move: Move, live: Record, links: Sequence[Link], now: Instant) -> int:
    """Return the links of the version that holds; return how many memories became one with another."""
    current = await tx.links.of(live.tenant_id, live.seq)
    remaining = [link for link in current if link not in links]
    added: list[Link] = []
    into: Record | None = None
    merged = 0
    for link in links:
        new = move.link(link, live)
        twin = await _find_same_memory(tx, live, new)
        merged += twin is not None
        if twin is not None and _is_preferred_to(twin, live):
            into = twin
            added += [] if remaining else [replace(new, dedupe=None)]
            continue
        if twin is not None:
            await _give_up(tx, language, move, twin, new.scope, live, now)
        added.append(new)
    added = _those_not_in(remaining, added)
    await _apply_link_change(tx, language, move, live, _Change(current, links, remaining, added), now)
    if into is not None and not remaining and not any(link.dedupe for link in added):
        await _merge_memory(tx, move, live, added, into, now)
    return merged


@dataclass(frozen=True, slots=True)
class _Change:
    """What becomes of the links of a memory."""

    current_links: Sequence[Link]
    gone: Sequence[Link]
    unchanged_links: Sequence[Link]
    added: Sequence[Link]


async def _apply_link_change(
    tx: Tx, language: Language, move: Move, live: Record, change: _Change, now: Instant
) -> None:
    await replace_links(tx, language, live, change.gone, change.added, now)
    who = change.added[0].scope if change.added else move.of(change.gone[0].scope)
    answer = {"links": [*change.unchanged_links, *change.added], "links_before": change.current_links}
    await tx.events.append([move.event(EventType.LINK, live, who, now, **answer)])


def _those_not_in(links: Sequence[Link], added: Sequence[Link]) -> list[Link]:
    """Return links to scopes that do not hold the memory already, each scope once."""
    there = {link.scope for link in links}
    return list({link.scope: link for link in added if link.scope not in there}.values())


async def _find_same_memory(tx: Tx, live: Record, link: Link) -> Record | None:
    """Return another memory that says the same where this one goes."""
    holder = await tx.links.holder(live.tenant_id, link.dedupe) if link.dedupe else None
    return await tx.memories.at(holder) if holder is not None and holder != live.seq else None


def _is_preferred_to(one: Record, other: Record) -> bool:
    """Return whether one memory stays rather than another.

    Of the same words the older stays, of two texts under one key what was said later.
    """
    if one.hash != other.hash:
        return (one.occurred_at, one.seq) > (other.occurred_at, other.seq)
    return (one.created_at, one.seq) < (other.created_at, other.seq)


async def _give_up(
    tx: Tx, language: Language, move: Move, twin: Record, scope: Scope, into: Record, now: Instant
) -> None:
    """Let a memory go for those who get another one that stays in its place."""
    links = await tx.links.of(twin.tenant_id, twin.seq)
    remaining = [link for link in links if link.scope != scope]
    if not remaining:
        await _merge_memory(tx, move, twin, links, into, now)
        return
    await remove_links(tx, language, twin, [link for link in links if link.scope == scope])
    event = move.event(EventType.UNLINK, twin, scope, now, links=remaining, links_before=links)
    await tx.events.append([replace(event, old_id=twin.id)])


async def _merge_memory(tx: Tx, move: Move, loser: Record, links: Sequence[Link], into: Record, now: Instant) -> None:
    """End a memory that another one says the same as; a look at the past still shows it."""
    await end_version(tx, loser, Status.SUPERSEDED if loser.status == Status.ACTIVE else loser.status, now)
    event = move.event(EventType.MERGE, loser, links[0].scope, now, links_before=links, ended=True)
    await tx.events.append([replace(event, old_id=loser.id, new_id=into.id)])


async def taken_back(tx: Tx, runtime: Runtime, job_id: str) -> None:
    """Hand back what went along with the memories of a job, when that is undone."""
    job = next((one for one in await tx.jobs.find(Scope(runtime.tenant_id), task=TASK) if one.id == job_id), None)
    if job is None:
        return
    old = Scope(runtime.tenant_id, **job.details["from"])
    for table in OWNED_TABLES:
        await tx.rows_by_owner.hand_back(table, job.details.get(table, []), old)


def _scope_as_dict(scope: Scope) -> dict[str, str]:
    return {name: getattr(scope, name) for name in _FIELDS if getattr(scope, name)}
