"""``export`` and ``load``: write a memory as JSON lines, and read it back.

A line is a header, a version of a memory with its links, an event, something that a person deleted and that must not
come back, or something that still has to become memory. Vectors are made again, but those that callers brought: they
are in the line of their version. An export of a scope tells nothing of others who hold the same memories.
Restoring is repeatable: what is there already is left alone, so an interrupted restore is simply run again.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.arguments import checked_metadata
from memstone.core.checks.filters import where_in_scope
from memstone.engine.request_scope import ExportLines, scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.deleted_spans import name_again
from memstone.engine.store.draft import text_hash
from memstone.engine.store.indexer import fill_missing
from memstone.engine.store.revise import dedupe_of
from memstone.engine.store.turns import turn_dedupe
from memstone.engine.store.versions import end_version, insert_version
from memstone.engine.transfer.own_vectors import encode_own_vector, put_carried, read_carried
from memstone.errors import Conflict, Forbidden, InvalidInput, MemstoneError, UsageError
from memstone.language.language import Language
from memstone.language.text.normal import estimate_tokens
from memstone.model.event import Event, EventType, Signal
from memstone.model.former_name import formats_of
from memstone.model.instant import Instant, parse_when
from memstone.model.memory import MIRROR, SHARED, Kind, Layer, Link, Origin, Record, Status
from memstone.model.policy import Limits
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.engine.engine import Engine
    from memstone.results import LoadResult


# --- lines from whoever has them --------------------------------------------------------------------------------------


_END: Final = object()


class IncomingLines:
    """Takes lines when they are asked for, and numbers them from 1: never more than a page of them is held."""

    def __init__(self, lines: ExportLines) -> None:
        if not isinstance(lines, (Iterable, AsyncIterable)):
            raise InvalidInput(
                f"records must be the lines of an export, not {type(lines).__name__}", hint="pass what export returns"
            )
        self._later = aiter(lines) if isinstance(lines, AsyncIterable) else None
        self._now = iter(()) if isinstance(lines, AsyncIterable) else iter(lines)
        self._taken = 0

    async def page(self, size: int) -> list[tuple[int, Any]]:
        """Return the next lines with their numbers, at most so many; none at the end."""
        page = list(islice(self._now, size)) if self._later is None else await self._read_async_lines(size)
        numbered = list(enumerate(page, self._taken + 1))
        self._taken += len(page)
        return numbered

    async def _read_async_lines(self, size: int) -> list[Any]:
        page: list[Any] = []
        while self._later and len(page) < size and (line := await anext(self._later, _END)) is not _END:
            page.append(line)
        return page


# --- the lines of an export -------------------------------------------------------------------------------------------


FORMAT: Final = "memstone-export"
FORMATS: Final = formats_of("export")
VERSION: Final = 1
_OTHER_DATA: Final = "for exports of other systems, use import_from, `memstone import` or POST /v1/console/import"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "Instant": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "dict[str, Any]": (dict,),
}
_Names: TypeAlias = Mapping[str, frozenset[str]]
_SOURCES: Final = frozenset({"pattern", "digest", "facts", "manual", "import", "summary", "bootstrap"})
_KINDS: Final[_Names] = {"layer": frozenset(Layer), "kind": frozenset(Kind), "status": frozenset(Status)}
_NAMES: Final[_Names] = {**_KINDS, "origin": frozenset(Origin), "source": _SOURCES}
_EVENTS: Final[_Names] = {"event": frozenset(EventType)}
_ORIGINS: Final[_Names] = {"origin": frozenset({"direct", SHARED, MIRROR})}
_STATES: Final[_Names] = {"status": frozenset({"pending", "processed", "dead"})}
_COUNT: Final = 2**31 - 1
_RANGES: Final = {
    "version": (1, _COUNT),
    "trust": (0, 1),
    "salience": (0, 1),
    **dict.fromkeys(("source_count", "tokens", "use_count", "attempts"), (0, _COUNT)),
}
_ANY_SIZE: Final = Limits(metadata_bytes=1 << 62)
"""What was stored under a higher limit is restored under any."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a person deleted and must not come back: the name it was known by, and which memory it was."""

    dedupe: str
    memory_id: str
    created_at: Instant
    name_in_use: bool = False
    """Whether another memory is known by that name and holds, all the same."""


def _column_types(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """Return the fields of a dataclass that are exported, and what may be in each."""
    values = {item.name: str(item.type).partition(" | ") for item in fields(cls) if item.name not in but}
    return {name: _TYPES[kind] + ((type(None),) if or_none else ()) for name, (kind, or_none, _) in values.items()}


def _time_fields(*classes: type) -> frozenset[str]:
    return frozenset(item.name for cls in classes for item in fields(cls) if str(item.type).startswith("Instant"))


_RECORD: Final = _column_types(Record, "seq", "tenant_id")
_EVENT: Final = _column_types(Event, "seq", "scope")
_LINK: Final = _column_types(Link, "scope")
_SIGNAL: Final = _column_types(Signal, "scope")
_DELETION: Final = _column_types(Deletion, "name_in_use")
_TIMES: Final = _time_fields(Record, Event, Link, Signal, Deletion)
_SCOPE: Final = {"user_id": (str,), "agent_id": (str,), "run_id": (str,)}
_MESSAGE: Final = {"role": (str,), "content": (str,), "name": (str,)}
_LEARNED: Final = {"messages": (list,), "metadata": (dict,), "prompt": (str,), "dated": (bool,)}
_VERBATIM: Final = {"role": (str,), "name": (str,), "kind": (str,), "metadata": (dict,)}
_MAYBE: Final[Mapping[str, tuple[type, ...]]] = {"expires_at": (str, type(None)), "occurred_at": (str,)}
"""What may be missing in what waits."""

Restored: TypeAlias = tuple[Record, list[Link], bytes | None]
Read: TypeAlias = Restored | Event | Deletion | Signal


# --- writing ----------------------------------------------------------------------------------------------------------


def header_line() -> dict[str, Any]:
    """Return the first line."""
    return {"type": "header", "format": FORMAT, "version": VERSION}


def memory_line(record: Record, links: list[Link], more: Mapping[str, str]) -> dict[str, Any]:
    """Return a version of a memory, with those who see it."""
    values = {name: getattr(record, name) for name in _RECORD}
    return {"type": "memory", **values, "links": [_link_line(link) for link in links], **more}


def event_line(event: Event) -> dict[str, Any]:
    """Return what happened to it."""
    return {"type": "event", **{name: getattr(event, name) for name in _EVENT}, **_scope_line(event.scope)}


def deletion_line(deletion: Deletion) -> dict[str, Any]:
    """Return what must not come back."""
    stored = {"held": True} if deletion.name_in_use else {}
    return {"type": "suppressed", **{name: getattr(deletion, name) for name in _DELETION}, **stored}


def signal_line(signal: Signal) -> dict[str, Any]:
    """Return what still has to become memory."""
    return {"type": "signal", **{name: getattr(signal, name) for name in _SIGNAL}, **_scope_line(signal.scope)}


def _link_line(link: Link) -> dict[str, Any]:
    line = asdict(link)
    del line["scope"]
    return {**line, **_scope_line(link.scope)}


def _scope_line(scope: Scope) -> dict[str, str]:
    return {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}


# --- reading ----------------------------------------------------------------------------------------------------------


def check_header(line: object) -> None:
    """Raise ``InvalidInput`` when this is not the beginning of an export that can be read."""
    if not isinstance(line, Mapping) or line.get("format") not in FORMATS:
        raise InvalidInput("this is not a Memstone export", hint=_OTHER_DATA)
    if line.get("version") != VERSION:
        raise InvalidInput(f"unknown export version {line.get('version')!r}", hint="upgrade Memstone")


def read_line(tenant_id: str, line: Mapping[str, Any]) -> Read:
    """Return what a line says, as it is stored for a tenant; ``InvalidInput`` names what is wrong with it."""
    kind = line.get("type") if isinstance(line, Mapping) else None
    if kind == "memory":
        record = Record(**_read_values(line, _RECORD), tenant_id=tenant_id)
        links = line.get("links")
        if not isinstance(links, list) or not links:
            raise InvalidInput(f"{record.id} in the export has no links, so nobody could see it")
        return record, [_read_link(tenant_id, link) for link in links], read_carried(record, line)
    if kind == "event":
        return Event(**_read_values(line, _EVENT, _EVENTS), scope=_read_scope(tenant_id, line))
    if kind == "suppressed":
        return Deletion(**_read_values(line, _DELETION), name_in_use=line.get("held") is True)
    if kind == "signal":
        return _validate_signal(Signal(**_read_values(line, _SIGNAL, _STATES), scope=_read_scope(tenant_id, line)))
    raise InvalidInput(f"unknown line {kind!r} in the export")


def _validate_signal(signal: Signal) -> Signal:
    """Return a signal with all that it takes to learn from it."""
    signal.data = _validate_signal_part(signal.data, _LEARNED if signal.data.get("infer") else _VERBATIM)
    if signal.data.get("infer"):
        signal.data["messages"] = [_validate_signal_part(message, _MESSAGE) for message in signal.data["messages"]]
    return signal


def _validate_signal_part(value: object, columns: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return the same with what must be in it and what may be checked; the rest is left alone."""
    there = {name: types for name, types in _MAYBE.items() if isinstance(value, Mapping) and name in value}
    values = _read_values(value, {**columns, **there})
    return {**value, **values} if isinstance(value, Mapping) else values


def _read_values(line: object, columns: Mapping[str, tuple[type, ...]], names: _Names = _NAMES) -> dict[str, Any]:
    """Return what a line says, or ``InvalidInput`` naming what is missing or cannot be."""
    if not isinstance(line, Mapping):
        raise InvalidInput("a line of the export is damaged: a part of it is not an object")
    for name, types in columns.items():
        if name not in line or not _is_one_of(line[name], types) or line[name] not in names.get(name, (line[name],)):
            raise InvalidInput(f"a line of the export is damaged: {name}")
        if isinstance(line[name], str) and not _is_clean(line[name]):
            raise InvalidInput(f"a line of the export is damaged: {name} contains a character that cannot be stored")
    return {name: _checked_value(name, line[name]) for name in columns}


def _is_one_of(value: object, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _checked_value(name: str, value: Any) -> Any:
    """Return a value as it is stored, whoever wrote it: what Memstone has written is as it should be."""
    if name in _TIMES and value:
        return parse_when(value, name)
    if name in _TIMES and value == "" and name != "due_at":
        raise InvalidInput(f"a line of the export is damaged: {name} is empty")
    if name in _RANGES and not _RANGES[name][0] <= value <= _RANGES[name][1]:  # also what is not a number
        low, high = _RANGES[name]
        raise InvalidInput(f"{name} must be from {low} to {high}, not {value}")
    if name == "metadata":
        checked_metadata(value, _ANY_SIZE)
    elif isinstance(value, dict):
        _check_json(name, value)
    return value


def _check_json(name: str, value: dict[str, Any]) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a line of the export is damaged: {name} is not JSON: {error}") from error


def _is_clean(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _read_scope(tenant_id: str, line: object) -> Scope:
    return Scope(tenant_id, **_read_values(line, _SCOPE))


def _read_link(tenant_id: str, line: object) -> Link:
    return Link(scope=_read_scope(tenant_id, line), **_read_values(line, _LINK, _ORIGINS))


# --- ``export`` and ``load`` ------------------------------------------------------------------------------------------


_AT_ONCE: Final = 500
_COUNTED: Final = ("memories", "events", "deletions", "waiting", "already_there")
_Version: TypeAlias = tuple[Record, list[Link], dict[str, str]]


async def export_lines(engine: Engine, values: Mapping[str, Any], *, everybody: bool) -> AsyncIterator[dict[str, Any]]:
    """Yield lines of everything a scope holds, or everybody does."""
    await engine.open()
    runtime = engine.runtime
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    yield header_line()
    exported: set[str] = set()
    until = await runtime.ledger.read(lambda tx: tx.admin.cursor())
    async for record, links, more in _iterate_versions(runtime, scope, until):
        exported.add(record.id)
        yield memory_line(record, [link for link in links if scope.holds(link.scope)], more)
    lost: set[str] = set()
    async for event in _iterate_events(runtime, scope):
        if event.memory_id in exported:
            yield event_line(event if scope.is_open else _restrict_event(event, scope, exported))
        elif event.event == EventType.UNLINK:  # others hold it; these have deleted it
            lost.add(event.memory_id)
    async for deletion in _iterate_deletions(runtime):
        if scope.is_open or deletion.memory_id in exported or deletion.memory_id in lost:
            yield deletion_line(deletion)
    for signal in await runtime.ledger.read(lambda tx: tx.signals.list_unfinished(scope)):
        yield signal_line(signal)


async def _iterate_versions(runtime: Runtime, scope: Scope, until: int) -> AsyncIterator[_Version]:
    """Yield what there was when the export began; what is written meanwhile belongs to the next one."""
    after = 0
    while page := await runtime.ledger.read(partial(_read_version_page, scope=scope, after=after, until=until)):
        for version in page:
            yield version
        after = page[-1][0].seq


async def _read_version_page(tx: Tx, *, scope: Scope, after: int, until: int) -> list[_Version]:
    where = And((where_in_scope(scope), Condition("seq", Op.GT, after), Condition("seq", Op.LTE, until)))
    rows = await tx.memories.find(where, limit=_AT_ONCE, oldest_first=True)
    return [await _read_version(tx, found.record) for found in rows]


async def _read_version(tx: Tx, record: Record) -> _Version:
    return record, await tx.links.of(record.tenant_id, record.seq), await encode_own_vector(tx, record)


async def _iterate_events(runtime: Runtime, scope: Scope) -> AsyncIterator[Event]:
    """Yield what was done within a scope, oldest first."""
    after = 0
    while page := await runtime.ledger.read(_events_after(scope, after)):
        for event in page:
            yield event
        after = page[-1].seq


def _events_after(scope: Scope, after: int) -> Work[list[Event]]:
    return lambda tx: tx.events.feed(scope, after, _AT_ONCE)


def _restrict_event(event: Event, scope: Scope, exported: set[str]) -> Event:
    """Return an event without what it tells of those beyond a scope."""
    return replace(
        event,
        before=_restrict_state(event.before, scope, exported),
        after=_restrict_state(event.after, scope, exported),
    )


def _restrict_state(state: dict[str, Any] | None, scope: Scope, exported: set[str]) -> dict[str, Any] | None:
    if state is None:
        return None
    stored = {name: value for name, value in state.items() if name != "split" or value in exported}
    if "links" in stored:
        names = ("user_id", "agent_id", "run_id")
        seen = ((Scope(scope.tenant_id, *(one.get(name, "") for name in names)), one) for one in stored["links"])
        stored["links"] = [one for who, one in seen if scope.holds(who)]
    return stored


async def _iterate_deletions(runtime: Runtime) -> AsyncIterator[Deletion]:
    after = ""
    while page := await runtime.ledger.read(partial(_deleted_after, tenant_id=runtime.tenant_id, after=after)):
        for one in page:
            yield one
        after = page[-1].dedupe


async def _deleted_after(tx: Tx, *, tenant_id: str, after: str) -> list[Deletion]:
    page = await tx.suppressions.page(tenant_id, after, _AT_ONCE)
    existing = await tx.links.find_existing_dedupes(tenant_id, [dedupe for dedupe, _, _ in page])
    return [Deletion(*row, name_in_use=row[0] in existing) for row in page]


# --- and back ---------------------------------------------------------------------------------------------------------


async def load_export(runtime: Runtime, lines: ExportLines) -> LoadResult:
    """Put an export back; return what was restored and what was already there."""
    rest = IncomingLines(lines)
    if runtime.bounds is not None:
        raise Forbidden(
            "an export can contain anybody's memories", hint="use a key that is not bound to a user or an agent"
        )
    check_header(next((line for _, line in await rest.page(1)), None))
    counts = dict.fromkeys(_COUNTED, 0)
    while page := await rest.page(_AT_ONCE):
        await runtime.ledger.ensure_room()
        read = [_parse_line(runtime, number, line) for number, line in page]
        work = partial(_put_all, language=runtime.language, tenant_id=runtime.tenant_id, page=read, now=runtime.now())
        for name, count in (await runtime.ledger.write(work)).items():
            counts[name] += count
    if runtime.embedding.on:
        await _fill_vectors(runtime)
    if counts["waiting"]:
        from memstone.engine.learn.queue import wake_worker

        runtime.waiting.record_deferral(runtime.tenant_id)
        wake_worker(runtime)
    return {
        "memories": counts["memories"],
        "events": counts["events"],
        "deletions": counts["deletions"],
        "waiting": counts["waiting"],
        "already_there": counts["already_there"],
    }


def _parse_line(runtime: Runtime, number: int, line: Mapping[str, Any]) -> Read:
    """Return what a line says; an error names it."""
    try:
        read = read_line(runtime.tenant_id, line)
    except UsageError as error:
        raise type(error)(f"line {number}: {error.message}", hint=error.hint) from error
    return _refresh_edited_version(runtime, *read) if isinstance(read, tuple) else read


def _refresh_edited_version(runtime: Runtime, record: Record, links: list[Link], vector: bytes | None) -> Restored:
    """Return a version, with what follows from its text made again where somebody has edited that."""
    fits = text_hash(record.text)
    if record.text and record.hash != fits:  # the words of what was deleted long ago are gone, and so is their hash
        record.hash, record.tokens = fits, estimate_tokens(record.text)
        for link in links:
            link.dedupe = link.dedupe and _recompute_dedupe(runtime, link, record)
    return record, links, vector


def _recompute_dedupe(runtime: Runtime, link: Link, record: Record) -> str | None:
    """Return what an edited version is known by; an episode and what somebody is are not known by their words."""
    if record.layer == Layer.TURN:
        speaker = str(record.data.get("speaker") or record.source_role or "")
        return turn_dedupe(link.scope, speaker, record.text, None)
    return dedupe_of(runtime, link, record) if record.layer == Layer.FACT else link.dedupe


async def _fill_vectors(runtime: Runtime) -> None:
    try:
        await fill_missing(runtime)
    except MemstoneError as error:  # everything is back and found by its words; vectors can be made at any time
        log.warning("the restored memories have no vectors yet; run reindex: %s", error)


async def _put_all(tx: Tx, language: Language, *, tenant_id: str, page: Sequence[Read], now: Instant) -> dict[str, int]:
    counts = dict.fromkeys(_COUNTED, 0)
    for one in page:
        name, is_new = await _put_entry(tx, language, tenant_id, one)
        counts[name if is_new else "already_there"] += 1
    versions = [one[0] for one in page if isinstance(one, tuple)]
    deleted = {one.origin_id for one in versions if one.origin_id and one.status == Status.DELETED}
    await name_again(tx, language, tenant_id, deleted, now)  # the turns they came from were put back before them
    return counts


async def _put_entry(tx: Tx, language: Language, tenant_id: str, one: Read) -> tuple[str, bool]:
    """Put one thing back; return what it counts as, and whether it was not there."""
    if isinstance(one, Event):
        return "events", await _put_event(tx, one)
    if isinstance(one, Deletion):
        return "deletions", await _put_deletion(tx, tenant_id, one)
    if isinstance(one, Signal):
        return "waiting", await _put_signal(tx, one)
    return "memories", await _put_version(tx, language, *one)


async def _put_version(tx: Tx, language: Language, record: Record, links: list[Link], vector: bytes | None) -> bool:
    there = await tx.memories.version(record.tenant_id, record.id, record.version)
    if there is not None:
        if there.hash != record.hash:
            raise Conflict(f"{record.id} version {record.version} already exists with a different text")
        return False
    if record.valid_to is None:
        if not await _may_be_current(tx, record, links):
            return False
        await insert_version(tx, language, record, links, ())
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
        await end_version(tx, there, Status.SUPERSEDED, record.valid_from)
    for link in links:
        if link.dedupe and await tx.links.holder(record.tenant_id, link.dedupe) is not None:
            raise Conflict(
                f"another memory already says what {record.id} says, in the same scope",
                hint="restore into an empty store, or delete one of the two",
            )
    return True


async def _put_event(tx: Tx, event: Event) -> bool:
    if await tx.events.find_known_ids(event.scope.tenant_id, [event.id], event.memory_id):
        return False
    await tx.events.append([event])
    return True


async def _put_deletion(tx: Tx, tenant_id: str, one: Deletion) -> bool:
    """Remember a deletion, unless the same was said here since, and holds; where it came from, both may have held."""
    is_held = not one.name_in_use and await tx.links.holder(tenant_id, one.dedupe) is not None
    if is_held or await tx.suppressions.has(tenant_id, one.dedupe):
        return False
    await tx.suppressions.put(tenant_id, one.dedupe, one.memory_id, one.created_at)
    return True


async def _put_signal(tx: Tx, signal: Signal) -> bool:
    if await tx.signals.find_known_ids(signal.scope.tenant_id, [signal.id]):
        return False
    await tx.signals.put([signal])
    return True
