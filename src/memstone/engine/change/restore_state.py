"""Restore an earlier state of a memory: its version, links, status and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memstone.engine.runtime import Runtime
from memstone.engine.store.deleted_spans import evidence_of, name_again
from memstone.engine.store.draft import ended_state, event_of, is_live, links_of, record_of, state_of
from memstone.engine.store.embedding import failure_of
from memstone.engine.store.embedding_context import read_contexts
from memstone.engine.store.holders import refuse_shared
from memstone.engine.store.revise import dedupe_of, refuse_twins
from memstone.engine.store.versions import (
    Space,
    Vectors,
    add_links,
    end_version,
    ensure_space,
    insert_version,
    lift_suppression,
    remove_links,
    supersede_version,
    suppress_memory,
    vectors_of,
)
from memstone.engine.store.write import current_space
from memstone.errors import Conflict, MemstoneError
from memstone.model.event import Event, EventType
from memstone.model.instant import Instant
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import Degradation

# --- vectors for what comes back --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Fresh:
    """Vectors that were made before a unit, by text; a text without one is found by its words until a reindex."""

    space: Space | None = None
    vectors: dict[str, bytes] = field(default_factory=dict)
    degraded: list[Degradation] = field(default_factory=list)

    async def of(self, tx: Tx, record: Record) -> Vectors:
        """Return the vectors of a version, in a space that is registered."""
        vector = self.vectors.get(record.text)
        if self.space is None or vector is None:
            return ()
        await ensure_space(tx, record.tenant_id, self.space)
        return [(self.space, vector)]


async def fresh_vectors(runtime: Runtime, rows: Sequence[Record]) -> Fresh:
    """Embed the texts of versions that may come back; a model that is out of reach does not hold them up."""
    once = list({row.text: row for row in rows}.values())
    if not runtime.embedding.on or not once:
        return Fresh()
    before = await read_contexts(runtime, once)
    try:
        fresh = Fresh(await current_space(runtime))
        found = await runtime.embedding.many([row.text for row in once], before)
    except MemstoneError as error:  # the model cannot even be asked
        return Fresh(degraded=[_embedding_failure(error)])
    for row, vector in zip(once, found, strict=True):
        if isinstance(vector, MemstoneError):
            fresh.degraded = [_embedding_failure(vector)]
        else:
            fresh.vectors[row.text] = vector
    return fresh


def _embedding_failure(error: MemstoneError) -> Degradation:
    return {"step": "embedding", **failure_of(error)}


# --- bring a memory back to a state it was in -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Act:
    """One act of putting back: when, what its events tell, and the vectors that were made for it."""

    runtime: Runtime
    tx: Tx
    now: Instant
    fresh: Fresh
    reason: str | None = None
    actor: str = "caller"
    job_id: str | None = None
    undoes: str | None = None

    def event(self, verb: str, record: Record, scope: Scope, **more: Any) -> Event:
        """Return an event of this act."""
        answer = {"reason": self.reason, "actor": self.actor, "job_id": self.job_id, **more}
        event = event_of(verb, record, scope, self.now, **answer)
        event.undoes = self.undoes
        return event


async def put_back(act: Act, memory_id: str, state: Mapping[str, Any] | None) -> Event:
    """Bring a memory to a state; None is that of one that was never there. Gives the event, which is recorded."""
    tenant = act.runtime.tenant_id
    live = await act.tx.memories.current(tenant, memory_id)
    await _refuse_shared(act, live or await act.tx.memories.last(tenant, memory_id))
    if live is None and state is not None and not is_live(state) and "links" in state:
        event = await _relink_ended(act, memory_id, state)
    elif state is None or not is_live(state):
        event = await _end_memory(act, live, memory_id, state or {})
    else:
        row = await act.tx.memories.version(tenant, memory_id, int(state["version"]))
        if row is None or not row.text:
            raise Conflict(
                f"version {state['version']} of {memory_id} is no longer kept",
                hint="it was erased, or no longer belongs to you",
            )
        wanted = record_of(state, row)
        links = links_of(state, tenant) or await links_again(act, row)
        lost = bool(state.get("suppressed"))
        event = (
            await _reopen_memory(act, wanted, links)
            if live is None
            else await _change_live_memory(act, live, wanted, links, lost=lost)
        )
    await act.tx.events.append([event])
    return event


async def _refuse_shared(act: Act, last: Record | None) -> None:
    """Refuse a caller who does not reach everybody a memory is put back for (``Forbidden``)."""
    if act.runtime.bounds is not None and last is not None:
        refuse_shared(await act.tx.links.of(last.tenant_id, last.seq), act.runtime.bounds)


async def links_again(act: Act, row: Record, last: Record | None = None) -> list[Link]:
    """Return who saw a version (or the ``last`` one), with the claims to its words that they gave up when it ended."""
    then = last or row
    links = await act.tx.links.of(then.tenant_id, then.seq)
    if not links:
        raise Conflict(f"nobody has access to {row.id} any more", hint="it was erased or unshared")
    claims = await _read_past_dedupes(act.tx, row)
    return [replace(link, dedupe=claims.get(link.scope) or _compute_dedupe(act, link, row)) for link in links]


async def _read_past_dedupes(tx: Tx, row: Record) -> dict[Scope, str | None]:
    """Return what the history tells of the claims of a version; after a rewriting they are of other words."""
    claims: dict[Scope, str | None] = {}
    for event in await tx.events.of(row.tenant_id, row.id):
        if event.event == EventType.REDACT:
            claims = {}
        elif event.before and event.before.get("version") == row.version:
            claims |= {link.scope: link.dedupe for link in links_of(event.before, row.tenant_id) or ()}
    return claims


def _compute_dedupe(act: Act, link: Link, row: Record) -> str | None:
    """Return the claim of a version by its words; what was said may be said again, so a turn has none."""
    return None if row.layer == Layer.TURN else dedupe_of(act.runtime, link, row)


async def _end_memory(act: Act, live: Record | None, memory_id: str, state: Mapping[str, Any]) -> Event:
    if live is None:
        raise Conflict(f"{memory_id} no longer exists")
    links = await act.tx.links.of(live.tenant_id, live.seq)
    status = str(state.get("status", Status.DELETED))
    if state.get("suppressed"):
        await suppress_memory(act.tx, live, links, act.now)
    hidden = status == Status.DELETED
    await end_version(act.tx, live, status if hidden or live.status == Status.ACTIVE else live.status, act.now)
    if hidden:
        await act.tx.memories.bury(live.tenant_id, live.id)
    return act.event(EventType.DELETE, live, links[0].scope, before=live, links_before=links, ended=True)


async def _reopen_memory(act: Act, wanted: Record, links: Sequence[Link]) -> Event:
    """Return the next version of a memory that had ended."""
    tx, tenant = act.tx, wanted.tenant_id
    last = await tx.memories.last(tenant, wanted.id)
    assert last is not None, "one of its versions is wanted"  # noqa: S101 - tells the type checker
    new = _next_version(wanted, last.version, max(last.valid_to or "", act.now), act.now)
    await refuse_twins(tx, new, links, 0)
    lifted = await lift_suppression(tx, last, links)
    was = await status_at_the_end(tx, last)
    await tx.memories.unbury(tenant, wanted.id, last.version, Status.SUPERSEDED if was == Status.ACTIVE else was)
    await insert_version(tx, act.runtime.language, new, links, await act.fresh.of(tx, new))
    await name_again(tx, act.runtime.language, tenant, await evidence_of(tx, new), act.now)
    event = act.event(EventType.ADD, new, links[0].scope, links=links)
    event.before = ended_state(last.version, last.status, suppressed=lifted)
    return event


async def status_at_the_end(tx: Tx, last: Record) -> str:
    """Return what a memory was when it ended, as its history tells."""
    history = await tx.events.of(last.tenant_id, last.id)
    answer = (one.before for one in reversed(history) if one.is_deleted and one.before)
    return next((str(one["status"]) for one in answer if one.get("version") == last.version), str(Status.ACTIVE))


async def _change_live_memory(act: Act, live: Record, wanted: Record, links: Sequence[Link], *, lost: bool) -> Event:
    """Write the next version of a memory that is there; where only its holders changed, give it those it had."""
    tx, have = act.tx, await act.tx.links.of(live.tenant_id, live.seq)
    if _says_the_same(wanted, live) and {link.scope for link in have} != {link.scope for link in links}:
        return await restore_links(act, live, have, links, lost=lost)
    new = _next_version(wanted, live.version, max(live.valid_from, act.now), act.now)
    await refuse_twins(tx, new, links, live.seq)
    moved = await vectors_of(tx, live) if live.text == new.text else ()
    await supersede_version(tx, act.runtime.language, live, new, links, moved or await act.fresh.of(tx, new))
    return act.event(_change_event_type(live, new), new, links[0].scope, before=live, links=links, links_before=have)


def _says_the_same(one: Record, live: Record) -> bool:
    """Return whether two versions differ in nothing but when they began."""
    times: dict[str, Any] = {"valid_from": live.valid_from, "valid_to": live.valid_to, "updated_at": live.updated_at}
    return replace(one, seq=live.seq, version=live.version, **times) == live


async def restore_links(
    act: Act, live: Record, have: Sequence[Link], links: Sequence[Link], *, lost: bool = False
) -> Event:
    """Let exactly these see a version; who comes back sees what they saw before, who goes sees nothing of it.

    ``lost``: those who go lose it as a person deletes something.
    """
    tx = act.tx
    back, gone = those_not_in(have, links), those_not_in(links, have)
    await refuse_twins(tx, live, back, live.seq)
    lifted = await lift_suppression(tx, live, back)
    if lost:
        await suppress_memory(tx, live, gone, act.now)
    for then in await _ended_versions(tx, live):
        for link in gone:
            await tx.links.remove(then.seq, link.scope)
        saw = await tx.links.of(then.tenant_id, then.seq)
        await tx.links.add(then.tenant_id, then.seq, _who_saw(then, back, saw))
    if back:
        await add_links(tx, act.runtime.language, live, back, act.now)
    if gone:
        await remove_links(tx, act.runtime.language, live, gone)
    who = (back or gone or have)[0].scope
    event = act.event(EventType.LINK if back else EventType.UNLINK, live, who, before=live)
    event.before = {**state_of(live, have), **({"suppressed": True} if lifted else {})}
    event.after = {**(event.after or {}), "links": state_of(live, links)["links"]}
    event.old_id = live.id if gone else None
    return event


async def _relink_ended(act: Act, memory_id: str, state: Mapping[str, Any]) -> Event:
    """Let those see the past of a memory who saw it before it was handed to somebody else."""
    tx, tenant = act.tx, act.runtime.tenant_id
    last = await tx.memories.last(tenant, memory_id)
    if last is None:
        raise Conflict(f"{memory_id} is no longer kept", hint="it was erased")
    have, wanted = await tx.links.of(tenant, last.seq), links_of(state, tenant) or []
    back = those_not_in(have, wanted)
    for then in await _ended_versions(tx, last):
        saw = await tx.links.of(tenant, then.seq)
        await tx.links.add(tenant, then.seq, [replace(one, dedupe=None) for one in those_not_in(saw, back)])
        for link in those_not_in(wanted, have):
            await tx.links.remove(then.seq, link.scope)
    event = act.event(EventType.LINK, last, (wanted or have)[0].scope, before=last, links_before=have)
    event.after = {**(event.after or {}), "links": state["links"]}
    return event


def those_not_in(have: Sequence[Link], wanted: Sequence[Link]) -> list[Link]:
    """Return the wanted links to scopes that no link names yet."""
    there = {link.scope for link in have}
    return [link for link in wanted if link.scope not in there]


async def _ended_versions(tx: Tx, live: Record) -> list[Record]:
    same = And((Condition("tenant_id", Op.EQ, live.tenant_id), Condition("id", Op.EQ, live.id)))
    found = [await tx.memories.at(seq) for seq in await tx.memories.seqs(same)]
    return [one for one in found if one is not None and one.valid_to is not None]


def _who_saw(then: Record, back: Sequence[Link], have: Sequence[Link]) -> list[Link]:
    """Return those who come back and had the memory when an earlier version of it held."""
    there = {link.scope for link in have}
    ended = then.valid_to or ""
    return [replace(link, dedupe=None) for link in back if link.scope not in there and link.created_at < ended]


def _next_version(wanted: Record, version: int, began: Instant, now: Instant) -> Record:
    return replace(wanted, seq=0, version=version + 1, valid_from=began, valid_to=None, updated_at=now)


def _change_event_type(live: Record, new: Record) -> EventType:
    """Return what a change is called that puts one version in place of another."""
    if live.text != new.text or live.status == new.status:
        return EventType.UPDATE
    if new.status == Status.ACTIVE:
        return EventType.ENABLE
    return EventType.EVICT if new.status == Status.EVICTED else EventType.DISABLE
