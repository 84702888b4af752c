"""The lines of an export: what is written of each thing, and how it is read back and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, TypeAlias

from memstone.core.checks.arguments import checked_metadata
from memstone.engine.moving.carried import read_carried
from memstone.errors import InvalidInput
from memstone.model.event import Event, EventType, Signal
from memstone.model.former_name import formats_of
from memstone.model.instant import Instant, parse_when
from memstone.model.memory import MIRROR, SHARED, Kind, Layer, Link, Origin, Record, Status
from memstone.model.policy import Limits
from memstone.model.scope import Scope

FORMAT: Final = "memstone-export"
FORMATS: Final = formats_of("export")
VERSION: Final = 1
_OTHER_DATA: Final = "for what another system exported: import_from, `memstone import` or POST /v1/console/import"
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
    held: bool = False
    """Whether another memory is known by that name and holds, all the same."""


def _columns(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """The fields of a dataclass that are exported, and what may stand in each."""
    given = {item.name: str(item.type).partition(" | ") for item in fields(cls) if item.name not in but}
    return {name: _TYPES[kind] + ((type(None),) if or_none else ()) for name, (kind, or_none, _) in given.items()}


def _times(*classes: type) -> frozenset[str]:
    return frozenset(item.name for cls in classes for item in fields(cls) if str(item.type).startswith("Instant"))


_RECORD: Final = _columns(Record, "seq", "tenant_id")
_EVENT: Final = _columns(Event, "seq", "scope")
_LINK: Final = _columns(Link, "scope")
_SIGNAL: Final = _columns(Signal, "scope")
_DELETION: Final = _columns(Deletion, "held")
_TIMES: Final = _times(Record, Event, Link, Signal, Deletion)
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
    """The first line."""
    return {"type": "header", "format": FORMAT, "version": VERSION}


def memory_line(record: Record, links: list[Link], more: Mapping[str, str]) -> dict[str, Any]:
    """A version of a memory, with those who see it."""
    values = {name: getattr(record, name) for name in _RECORD}
    return {"type": "memory", **values, "links": [_link_line(link) for link in links], **more}


def event_line(event: Event) -> dict[str, Any]:
    """What happened to it."""
    return {"type": "event", **{name: getattr(event, name) for name in _EVENT}, **_scope_line(event.scope)}


def deletion_line(deletion: Deletion) -> dict[str, Any]:
    """What must not come back."""
    held = {"held": True} if deletion.held else {}
    return {"type": "suppressed", **{name: getattr(deletion, name) for name in _DELETION}, **held}


def signal_line(signal: Signal) -> dict[str, Any]:
    """What still has to become memory."""
    return {"type": "signal", **{name: getattr(signal, name) for name in _SIGNAL}, **_scope_line(signal.scope)}


def _link_line(link: Link) -> dict[str, Any]:
    line = asdict(link)
    del line["scope"]
    return {**line, **_scope_line(link.scope)}


def _scope_line(scope: Scope) -> dict[str, str]:
    return {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}


# --- reading ----------------------------------------------------------------------------------------------------------


def check_header(line: object) -> None:
    """``InvalidInput`` when this is not the beginning of an export that can be read."""
    if not isinstance(line, Mapping) or line.get("format") not in FORMATS:
        raise InvalidInput("this is not an export of Memstone", hint=_OTHER_DATA)
    if line.get("version") != VERSION:
        raise InvalidInput(f"export version {line.get('version')!r} is unknown", hint="upgrade Memstone")


def read_line(tenant_id: str, line: Mapping[str, Any]) -> Read:
    """What a line says, as it is stored for a tenant; ``InvalidInput`` names what is wrong with it."""
    kind = line.get("type") if isinstance(line, Mapping) else None
    if kind == "memory":
        record = Record(**_values(line, _RECORD), tenant_id=tenant_id)
        links = line.get("links")
        if not isinstance(links, list) or not links:
            raise InvalidInput(f"{record.id} in the export has no links: nobody could see it")
        return record, [_read_link(tenant_id, link) for link in links], read_carried(record, line)
    if kind == "event":
        return Event(**_values(line, _EVENT, _EVENTS), scope=_read_scope(tenant_id, line))
    if kind == "suppressed":
        return Deletion(**_values(line, _DELETION), held=line.get("held") is True)
    if kind == "signal":
        return _checked(Signal(**_values(line, _SIGNAL, _STATES), scope=_read_scope(tenant_id, line)))
    raise InvalidInput(f"unknown line {kind!r} in the export")


def _checked(signal: Signal) -> Signal:
    """A signal with all that it takes to learn from it."""
    signal.data = _waiting(signal.data, _LEARNED if signal.data.get("infer") else _VERBATIM)
    if signal.data.get("infer"):
        signal.data["messages"] = [_waiting(message, _MESSAGE) for message in signal.data["messages"]]
    return signal


def _waiting(given: object, columns: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """The same with what must be in it and what may be checked; the rest is left alone."""
    there = {name: types for name, types in _MAYBE.items() if isinstance(given, Mapping) and name in given}
    values = _values(given, {**columns, **there})
    return {**given, **values} if isinstance(given, Mapping) else values


def _values(line: object, columns: Mapping[str, tuple[type, ...]], names: _Names = _NAMES) -> dict[str, Any]:
    """What a line says, or ``InvalidInput`` naming what is missing or cannot be."""
    if not isinstance(line, Mapping):
        raise InvalidInput("a line of the export is damaged: a part of it is not an object")
    for name, types in columns.items():
        if name not in line or not _is_one_of(line[name], types) or line[name] not in names.get(name, (line[name],)):
            raise InvalidInput(f"a line of the export is damaged: {name}")
        if isinstance(line[name], str) and not _is_clean(line[name]):
            raise InvalidInput(f"a line of the export is damaged: {name} holds a character that cannot be stored")
    return {name: _checked_value(name, line[name]) for name in columns}


def _is_one_of(value: object, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _checked_value(name: str, value: Any) -> Any:
    """A value as it is stored, whoever wrote it: what Memstone has written is as it should be."""
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
    return Scope(tenant_id, **_values(line, _SCOPE))


def _read_link(tenant_id: str, line: object) -> Link:
    return Link(scope=_read_scope(tenant_id, line), **_values(line, _LINK, _ORIGINS))
