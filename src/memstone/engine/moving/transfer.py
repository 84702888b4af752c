"""``export`` and ``load``: a whole memory as JSON lines, and back, without loss.

A line is a header, a version of a memory with its links, an event, something that a person deleted and that must not
come back, or something that still has to become memory. Vectors are made again, but those that callers brought: they
are in the line of their version. An export of a scope tells nothing of others who hold the same memories.
Restoring is repeatable: what is there already is left alone, so an interrupted restore is simply run again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.filters import within
from memstone.core.text.normalize import estimate_tokens
from memstone.engine.moving.carried import carried, put_carried
from memstone.engine.moving.export_lines import (
    Deletion,
    Read,
    Restored,
    check_header,
    deletion_line,
    event_line,
    header_line,
    memory_line,
    read_line,
    signal_line,
)
from memstone.engine.moving.incoming import Incoming
from memstone.engine.parts import Parts
from memstone.engine.requests import ExportLines
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.storing.draft import text_hash
from memstone.engine.storing.holders import is_inside
from memstone.engine.storing.indexer import fill_missing
from memstone.engine.storing.retelling import name_again
from memstone.engine.storing.revise import dedupe_of
from memstone.engine.storing.store import enter, leave
from memstone.engine.storing.turns import turn_dedupe
from memstone.errors import Conflict, Forbidden, MemstoneError, UsageError
from memstone.model.event import Event, EventType, Signal
from memstone.model.instant import Instant
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.engine.engine import Engine

_AT_ONCE: Final = 500
_COUNTED: Final = ("memories", "events", "deletions", "waiting", "already_there")
_Version: TypeAlias = tuple[Record, list[Link], dict[str, str]]


async def export(engine: Engine, given: Mapping[str, Any], *, everybody: bool) -> AsyncIterator[dict[str, Any]]:
    """Lines of everything a scope holds, or everybody does."""
    await engine.open()
    parts = engine.parts
    scope = scope_or_everybody(parts, given, everybody=everybody)
    yield header_line()
    exported: set[str] = set()
    until = await parts.ledger.read(lambda tx: tx.admin.cursor())
    async for record, links, more in _versions(parts, scope, until):
        exported.add(record.id)
        yield memory_line(record, [link for link in links if is_inside(link.scope, scope)], more)
    lost: set[str] = set()
    async for event in _events(parts, scope):
        if event.memory_id in exported:
            yield event_line(event if scope.is_open else _inside(event, scope, exported))
        elif event.event == EventType.UNLINK:  # others hold it; these have deleted it
            lost.add(event.memory_id)
    async for deletion in _deletions(parts):
        if scope.is_open or deletion.memory_id in exported or deletion.memory_id in lost:
            yield deletion_line(deletion)
    for signal in await parts.ledger.read(lambda tx: tx.signals.unfinished(scope)):
        yield signal_line(signal)


async def _versions(parts: Parts, scope: Scope, until: int) -> AsyncIterator[_Version]:
    """What there was when the export began; what is written meanwhile belongs to the next one."""
    after = 0
    while page := await parts.ledger.read(partial(_page, scope=scope, after=after, until=until)):
        for version in page:
            yield version
        after = page[-1][0].seq


async def _page(tx: Tx, *, scope: Scope, after: int, until: int) -> list[_Version]:
    where = And((within(scope), Condition("seq", Op.GT, after), Condition("seq", Op.LTE, until)))
    rows = await tx.memories.find(where, limit=_AT_ONCE, oldest_first=True)
    return [await _version(tx, found.record) for found in rows]


async def _version(tx: Tx, record: Record) -> _Version:
    return record, await tx.links.of(record.tenant_id, record.seq), await carried(tx, record)


async def _events(parts: Parts, scope: Scope) -> AsyncIterator[Event]:
    """What was done within a scope, oldest first."""
    after = 0
    while page := await parts.ledger.read(_events_after(scope, after)):
        for event in page:
            yield event
        after = page[-1].seq


def _events_after(scope: Scope, after: int) -> Work[list[Event]]:
    return lambda tx: tx.events.feed(scope, after, _AT_ONCE)


def _inside(event: Event, scope: Scope, exported: set[str]) -> Event:
    """An event without what it tells of those beyond a scope."""
    return replace(event, before=_own(event.before, scope, exported), after=_own(event.after, scope, exported))


def _own(state: dict[str, Any] | None, scope: Scope, exported: set[str]) -> dict[str, Any] | None:
    if state is None:
        return None
    kept = {name: value for name, value in state.items() if name != "split" or value in exported}
    if "links" in kept:
        names = ("user_id", "agent_id", "run_id")
        seen = ((Scope(scope.tenant_id, *(one.get(name, "") for name in names)), one) for one in kept["links"])
        kept["links"] = [one for who, one in seen if is_inside(who, scope)]
    return kept


async def _deletions(parts: Parts) -> AsyncIterator[Deletion]:
    after = ""
    while page := await parts.ledger.read(partial(_deleted_after, tenant_id=parts.tenant_id, after=after)):
        for one in page:
            yield one
        after = page[-1].dedupe


async def _deleted_after(tx: Tx, *, tenant_id: str, after: str) -> list[Deletion]:
    page = await tx.suppressed.page(tenant_id, after, _AT_ONCE)
    held = await tx.links.held(tenant_id, [dedupe for dedupe, _, _ in page])
    return [Deletion(*row, held=row[0] in held) for row in page]


# --- and back ---------------------------------------------------------------------------------------------------------


async def load(parts: Parts, lines: ExportLines) -> dict[str, int]:
    """Put an export back; gives what was restored and what was already there."""
    rest = Incoming(lines)
    if parts.bounds is not None:
        raise Forbidden("an export says whose memories are, and may name anybody", hint="use a key that is not bound")
    check_header(next((line for _, line in await rest.page(1)), None))
    counts = dict.fromkeys(_COUNTED, 0)
    while page := await rest.page(_AT_ONCE):
        await parts.ledger.ensure_room()
        read = [_read(parts, number, line) for number, line in page]
        work = partial(_put_all, tenant_id=parts.tenant_id, page=read, now=parts.now())
        for name, count in (await parts.ledger.write(work)).items():
            counts[name] += count
    if parts.embedding.on:
        await _index(parts)
    if counts["waiting"]:
        from memstone.engine.learning.queueing import wake

        parts.waiting.left(parts.tenant_id)
        wake(parts)
    return counts


def _read(parts: Parts, number: int, line: Mapping[str, Any]) -> Read:
    """What a line says; an error names it."""
    try:
        read = read_line(parts.tenant_id, line)
    except UsageError as error:
        raise type(error)(f"line {number}: {error.message}", hint=error.hint) from error
    return _refitted(parts, *read) if isinstance(read, tuple) else read


def _refitted(parts: Parts, record: Record, links: list[Link], vector: bytes | None) -> Restored:
    """A version, with what follows from its text made anew where somebody has edited that."""
    fits = text_hash(record.text)
    if record.text and record.hash != fits:  # the words of what was deleted long ago are gone, and so is their hash
        record.hash, record.tokens = fits, estimate_tokens(record.text)
        for link in links:
            link.dedupe = link.dedupe and _dedupe(parts, link, record)
    return record, links, vector


def _dedupe(parts: Parts, link: Link, record: Record) -> str | None:
    """What an edited version is known by; an episode and what somebody is are not known by their words."""
    if record.layer == Layer.TURN:
        speaker = str(record.data.get("speaker") or record.source_role or "")
        return turn_dedupe(link.scope, speaker, record.text, None)
    return dedupe_of(parts, link, record) if record.layer == Layer.FACT else link.dedupe


async def _index(parts: Parts) -> None:
    try:
        await fill_missing(parts)
    except MemstoneError as error:  # everything is back and found by its words; vectors can be made at any time
        log.warning("restored memories have no vectors yet, run reindex: %s", error)


async def _put_all(tx: Tx, *, tenant_id: str, page: Sequence[Read], now: Instant) -> dict[str, int]:
    counts = dict.fromkeys(_COUNTED, 0)
    for one in page:
        name, is_new = await _put(tx, tenant_id, one)
        counts[name if is_new else "already_there"] += 1
    versions = [one[0] for one in page if isinstance(one, tuple)]
    deleted = {one.origin_id for one in versions if one.origin_id and one.status == Status.DELETED}
    await name_again(tx, tenant_id, deleted, now)  # the turns they came from were put back before them
    return counts


async def _put(tx: Tx, tenant_id: str, one: Read) -> tuple[str, bool]:
    """Put one thing back; gives what it counts as, and whether it was not there."""
    if isinstance(one, Event):
        return "events", await _put_event(tx, one)
    if isinstance(one, Deletion):
        return "deletions", await _put_deletion(tx, tenant_id, one)
    if isinstance(one, Signal):
        return "waiting", await _put_signal(tx, one)
    return "memories", await _put_version(tx, *one)


async def _put_version(tx: Tx, record: Record, links: list[Link], vector: bytes | None) -> bool:
    there = await tx.memories.version(record.tenant_id, record.id, record.version)
    if there is not None:
        if there.hash != record.hash:
            raise Conflict(f"{record.id} version {record.version} is already there with another text")
        return False
    if record.valid_to is None:
        if not await _may_be_current(tx, record, links):
            return False
        await enter(tx, record, links, ())
    else:
        await tx.links.add(record.tenant_id, await tx.memories.insert(record), links)
    await put_carried(tx, record, vector)
    await tx.vectors.touch(record.tenant_id, [record.seq])
    return True


async def _may_be_current(tx: Tx, record: Record, links: list[Link]) -> bool:
    """Make room for a later version of what is there; false when what is there is the later one."""
    there = await tx.memories.current(record.tenant_id, record.id)
    if there is not None and there.version > record.version:
        return False
    if there is not None:
        await leave(tx, there, Status.SUPERSEDED, record.valid_from)
    for link in links:
        if link.dedupe and await tx.links.holder(record.tenant_id, link.dedupe) is not None:
            raise Conflict(
                f"another memory already says what {record.id} says, in the same scope",
                hint="restore into an empty store, or delete one of the two",
            )
    return True


async def _put_event(tx: Tx, event: Event) -> bool:
    if await tx.events.known(event.scope.tenant_id, [event.id], event.memory_id):
        return False
    await tx.events.append([event])
    return True


async def _put_deletion(tx: Tx, tenant_id: str, one: Deletion) -> bool:
    """Remember a deletion, unless the same was said here since, and holds; where it came from, both may have held."""
    held = not one.held and await tx.links.holder(tenant_id, one.dedupe) is not None
    if held or await tx.suppressed.has(tenant_id, one.dedupe):
        return False
    await tx.suppressed.put(tenant_id, one.dedupe, one.memory_id, one.created_at)
    return True


async def _put_signal(tx: Tx, signal: Signal) -> bool:
    if await tx.signals.known(signal.scope.tenant_id, [signal.id]):
        return False
    await tx.signals.put([signal])
    return True
