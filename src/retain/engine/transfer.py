"""``export`` and ``load``: a whole memory as JSON lines, and back, without loss.

A line is a header, a version of a memory with its links, or an event. Vectors are made again, but those that callers
brought: they are in the line of their version.
Restoring is repeatable: what is there already is left alone, so an interrupted restore is simply run again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from retain.core.visible import within
from retain.engine.carried import carried, put_carried, read_carried
from retain.engine.draft import text_doc
from retain.engine.indexer import fill_missing
from retain.engine.parts import Parts
from retain.engine.store import leave
from retain.errors import Conflict, InvalidInput, RetainError
from retain.model.event import Event
from retain.model.memory import INDEXED, Kind, Layer, Link, Record, Status
from retain.model.query import And, Condition, Op
from retain.model.scope import Scope
from retain.ports.ledger import Tx, Work
from retain.trace import log

if TYPE_CHECKING:
    from retain.engine.engine import Engine

FORMAT: Final = "retain-export"
VERSION: Final = 1
_AT_ONCE: Final = 500
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "Instant": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "dict[str, Any]": (dict,),
}
_NAMES: Final = {"layer": frozenset(Layer), "kind": frozenset(Kind), "status": frozenset(Status)}


def _columns(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """The fields of a dataclass that are exported, and what may stand in each."""
    given = {item.name: str(item.type).partition(" | ") for item in fields(cls) if item.name not in but}
    return {name: _TYPES[kind] + ((type(None),) if or_none else ()) for name, (kind, or_none, _) in given.items()}


_RECORD: Final = _columns(Record, "seq", "tenant_id")
_EVENT: Final = _columns(Event, "seq", "scope")
_LINK: Final = _columns(Link, "scope")
_SCOPE: Final = {"user_id": (str,), "agent_id": (str,), "run_id": (str,)}
_Version: TypeAlias = tuple[Record, list[Link], dict[str, str]]
_Restored: TypeAlias = tuple[Record, list[Link], bytes | None]


async def export(engine: Engine, given: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Lines of everything a scope holds; of the whole tenant when nobody is named."""
    await engine.open()
    parts = engine.parts
    scope = parts.scope(given)
    yield {"type": "header", "format": FORMAT, "version": VERSION}
    exported: set[str] = set()
    until = await parts.ledger.read(lambda tx: tx.admin.cursor())
    async for record, links, more in _versions(parts, scope, until):
        exported.add(record.id)
        yield {"type": "memory", **_record_line(record), "links": [_link_line(link) for link in links], **more}
    async for event in _events(parts):
        if event.memory_id in exported:
            yield {"type": "event", **_event_line(event)}


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


async def _events(parts: Parts) -> AsyncIterator[Event]:
    after = 0
    while page := await parts.ledger.read(_events_after(parts, after)):
        for event in page:
            yield event
        after = page[-1].seq


def _events_after(parts: Parts, after: int) -> Work[list[Event]]:
    return lambda tx: tx.events.after(parts.tenant_id, after, _AT_ONCE)


async def load(parts: Parts, lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Put an export back; gives what was restored and what was already there."""
    if not isinstance(lines, Iterable):
        raise InvalidInput(f"records must be the lines of an export, not {type(lines).__name__}")
    rest = iter(lines)
    _check_header(next(rest, None))
    counts = {"memories": 0, "events": 0, "already_there": 0}
    while page := list(islice(rest, _AT_ONCE)):
        read = [_read_line(parts, line) for line in page]
        for name, count in (await parts.ledger.write(partial(_put, page=read))).items():
            counts[name] += count
    if parts.embedding.on:
        await _index(parts)
    return counts


async def _index(parts: Parts) -> None:
    try:
        await fill_missing(parts)
    except RetainError as error:  # everything is back and found by its words; vectors can be made at any time
        log.warning("restored memories have no vectors yet, run reindex: %s", error)


def _check_header(line: object) -> None:
    if not isinstance(line, Mapping) or line.get("format") != FORMAT:
        raise InvalidInput("this is not an export of Retain", hint="to take in other data, use import")
    if line.get("version") != VERSION:
        raise InvalidInput(f"export version {line.get('version')!r} is unknown", hint="upgrade Retain")


def _read_line(parts: Parts, line: Mapping[str, Any]) -> _Restored | Event:
    kind = line.get("type") if isinstance(line, Mapping) else None
    if kind == "memory":
        record = Record(**_values(line, _RECORD), tenant_id=parts.tenant_id)
        links = line.get("links")
        if not isinstance(links, list) or not links:
            raise InvalidInput(f"{record.id} in the export has no links: nobody could see it")
        return record, [_read_link(parts, link) for link in links], read_carried(record, line)
    if kind == "event":
        return Event(**_values(line, _EVENT), scope=_read_scope(parts, line))
    raise InvalidInput(f"unknown line {kind!r} in the export")


def _values(line: object, columns: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """What a line says, or ``InvalidInput`` naming what is missing or cannot be."""
    if not isinstance(line, Mapping):
        raise InvalidInput("a line of the export is damaged: a part of it is not an object")
    for name, types in columns.items():
        if name not in line or not isinstance(line[name], types) or line[name] not in _NAMES.get(name, (line[name],)):
            raise InvalidInput(f"a line of the export is damaged: {name}")
        if isinstance(line[name], str) and not _is_clean(line[name]):
            raise InvalidInput(f"a line of the export is damaged: {name} holds a character that cannot be stored")
    return {name: line[name] for name in columns}


def _is_clean(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


async def _put(tx: Tx, page: list[_Restored | Event]) -> dict[str, int]:
    counts = {"memories": 0, "events": 0, "already_there": 0}
    for one in page:
        if isinstance(one, Event):
            name = "events" if await _put_event(tx, one) else "already_there"
        else:
            name = "memories" if await _put_version(tx, *one) else "already_there"
        counts[name] += 1
    return counts


async def _put_version(tx: Tx, record: Record, links: list[Link], vector: bytes | None) -> bool:
    there = await tx.memories.version(record.tenant_id, record.id, record.version)
    if there is not None:
        if there.hash != record.hash:
            raise Conflict(f"{record.id} version {record.version} is already there with another text")
        return False
    if record.valid_to is None and not await _may_be_current(tx, record, links):
        return False
    seq = await tx.memories.insert(record)
    await tx.links.add(record.tenant_id, seq, links)
    if record.valid_to is None and record.status in INDEXED:
        await tx.text.put(seq, text_doc(record, links))
    await put_carried(tx, record, vector)
    await tx.vectors.touch(record.tenant_id, [seq])
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


def _read_scope(parts: Parts, line: object) -> Scope:
    return Scope(parts.tenant_id, **_values(line, _SCOPE))


def _read_link(parts: Parts, line: object) -> Link:
    return Link(scope=_read_scope(parts, line), **_values(line, _LINK))
