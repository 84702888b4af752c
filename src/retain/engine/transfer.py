"""``export`` and ``restore``: a whole memory as JSON lines, and back, without loss.

A line is a header, a version of a memory with its links, or an event. Vectors are not exported: they are made again.
Restoring is repeatable: what is there already is left alone, so an interrupted restore is simply run again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from retain.core.visible import within
from retain.engine.draft import text_doc
from retain.engine.indexer import fill_missing
from retain.engine.parts import Parts
from retain.errors import Conflict, InvalidInput
from retain.model.event import Event
from retain.model.memory import INDEXED, Found, Link, Record
from retain.model.query import And, Condition, Op
from retain.model.scope import Scope
from retain.ports.ledger import Tx, Work

if TYPE_CHECKING:
    from retain.engine.engine import Engine

FORMAT: Final = "retain-export"
VERSION: Final = 1
_AT_ONCE: Final = 500
_RECORD: Final = tuple(item.name for item in fields(Record) if item.name not in ("seq", "tenant_id"))
_EVENT: Final = tuple(item.name for item in fields(Event) if item.name not in ("seq", "scope"))


async def export(engine: Engine, given: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Lines of everything a scope holds; of the whole tenant when nobody is named."""
    await engine.open()
    parts = engine.parts
    scope = Scope.of(**given, tenant_id=parts.tenant_id)
    yield {"type": "header", "format": FORMAT, "version": VERSION}
    exported: set[str] = set()
    async for found, links in _versions(parts, scope):
        exported.add(found.record.id)
        yield {"type": "memory", **_record_line(found.record), "links": [_link_line(link) for link in links]}
    async for event in _events(parts):
        if event.memory_id in exported:
            yield {"type": "event", **_event_line(event)}


async def _versions(parts: Parts, scope: Scope) -> AsyncIterator[tuple[Found, list[Link]]]:
    after = 0
    while page := await parts.ledger.read(partial(_page, scope=scope, after=after)):
        for found, links in page:
            yield found, links
        after = page[-1][0].record.seq


async def _page(tx: Tx, *, scope: Scope, after: int) -> list[tuple[Found, list[Link]]]:
    where = And((within(scope), Condition("seq", Op.GT, after)))
    rows = await tx.memories.find(where, limit=_AT_ONCE, oldest_first=True)
    return [(found, await tx.links.of(scope.tenant_id, found.record.seq)) for found in rows]


async def _events(parts: Parts) -> AsyncIterator[Event]:
    after = 0
    while page := await parts.ledger.read(_events_after(parts, after)):
        for event in page:
            yield event
        after = page[-1].seq


def _events_after(parts: Parts, after: int) -> Work[list[Event]]:
    return lambda tx: tx.events.after(parts.tenant_id, after, _AT_ONCE)


async def restore(parts: Parts, lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Put an export back; gives what was restored and what was already there."""
    rest = iter(lines)
    _check_header(next(rest, None))
    counts = {"memories": 0, "events": 0, "already_there": 0}
    while page := list(islice(rest, _AT_ONCE)):
        read = [_read_line(parts, line) for line in page]
        for name, count in (await parts.ledger.write(partial(_put, page=read))).items():
            counts[name] += count
    if parts.embedding.on:
        await fill_missing(parts)
    return counts


def _check_header(line: Mapping[str, Any] | None) -> None:
    if not line or line.get("format") != FORMAT:
        raise InvalidInput("this is not an export of Retain", hint="to take in other data, use import")
    if line.get("version") != VERSION:
        raise InvalidInput(f"export version {line.get('version')!r} is unknown", hint="upgrade Retain")


def _read_line(parts: Parts, line: Mapping[str, Any]) -> tuple[Record, list[Link]] | Event:
    try:
        if line["type"] == "memory":
            record = Record(**{name: line[name] for name in _RECORD}, tenant_id=parts.tenant_id)
            return record, [_read_link(parts, link) for link in line["links"]]
        if line["type"] == "event":
            return Event(**{name: line[name] for name in _EVENT}, scope=_read_scope(parts, line))
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"a line of the export is damaged: {error!r}") from error
    raise InvalidInput(f"unknown line {line['type']!r} in the export")


async def _put(tx: Tx, page: list[tuple[Record, list[Link]] | Event]) -> dict[str, int]:
    counts = {"memories": 0, "events": 0, "already_there": 0}
    for one in page:
        if isinstance(one, Event):
            name = "events" if await _put_event(tx, one) else "already_there"
        else:
            name = "memories" if await _put_version(tx, *one) else "already_there"
        counts[name] += 1
    return counts


async def _put_version(tx: Tx, record: Record, links: list[Link]) -> bool:
    there = await tx.memories.version(record.tenant_id, record.id, record.version)
    if there is not None:
        if there.hash != record.hash:
            raise Conflict(f"{record.id} version {record.version} is already there with another text")
        return False
    seq = await tx.memories.insert(record)
    await tx.links.add(record.tenant_id, seq, links)
    if record.valid_to is None and record.status in INDEXED:
        await tx.text.put(seq, text_doc(record, links))
    await tx.vectors.touch(record.tenant_id, [seq])
    return True


async def _put_event(tx: Tx, event: Event) -> bool:
    if await tx.events.known(event.scope.tenant_id, [event.id], event.memory_id):
        return False
    await tx.events.append([event])
    return True


def _record_line(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _RECORD}


def _event_line(event: Event) -> dict[str, Any]:
    return {**{name: getattr(event, name) for name in _EVENT}, **_scope_line(event.scope)}


def _link_line(link: Link) -> dict[str, Any]:
    line = asdict(link)
    del line["scope"]
    return {**line, **_scope_line(link.scope)}


def _scope_line(scope: Scope) -> dict[str, str]:
    return {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}


def _read_scope(parts: Parts, line: Mapping[str, Any]) -> Scope:
    return Scope(parts.tenant_id, line["user_id"], line["agent_id"], line["run_id"])


def _read_link(parts: Parts, line: Mapping[str, Any]) -> Link:
    rest = {name: line[name] for name in ("created_at", "dedupe", "origin", "use_count", "last_used_at")}
    return Link(scope=_read_scope(parts, line), **rest)
