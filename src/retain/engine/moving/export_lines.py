"""The lines of an export: what is written of each thing, and how it is read back and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, TypeAlias

from retain.engine.moving.carried import read_carried
from retain.errors import InvalidInput
from retain.model.event import Event, Signal
from retain.model.instant import Instant
from retain.model.memory import Kind, Layer, Link, Record, Status
from retain.model.scope import Scope

FORMAT: Final = "retain-export"
VERSION: Final = 1
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "Instant": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "dict[str, Any]": (dict,),
}
_Names: TypeAlias = Mapping[str, frozenset[str]]
_NAMES: Final[_Names] = {"layer": frozenset(Layer), "kind": frozenset(Kind), "status": frozenset(Status)}
_STATES: Final[_Names] = {"status": frozenset({"pending", "processed", "dead"})}


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a person deleted and must not come back: the name it was known by, and which memory it was."""

    dedupe: str
    memory_id: str
    created_at: Instant


def _columns(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """The fields of a dataclass that are exported, and what may stand in each."""
    given = {item.name: str(item.type).partition(" | ") for item in fields(cls) if item.name not in but}
    return {name: _TYPES[kind] + ((type(None),) if or_none else ()) for name, (kind, or_none, _) in given.items()}


_RECORD: Final = _columns(Record, "seq", "tenant_id")
_EVENT: Final = _columns(Event, "seq", "scope")
_LINK: Final = _columns(Link, "scope")
_SIGNAL: Final = _columns(Signal, "scope")
_DELETION: Final = _columns(Deletion)
_SCOPE: Final = {"user_id": (str,), "agent_id": (str,), "run_id": (str,)}
_MESSAGE: Final = {"role": (str,), "content": (str,), "name": (str,)}
_LEARNED: Final = {"messages": (list,), "metadata": (dict,), "prompt": (str,), "dated": (bool,)}
_VERBATIM: Final = {"role": (str,), "name": (str,), "kind": (str,), "metadata": (dict,)}

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
    return {"type": "suppressed", **asdict(deletion)}


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
    if not isinstance(line, Mapping) or line.get("format") != FORMAT:
        raise InvalidInput("this is not an export of Retain", hint="to take in other data, use import")
    if line.get("version") != VERSION:
        raise InvalidInput(f"export version {line.get('version')!r} is unknown", hint="upgrade Retain")


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
        return Event(**_values(line, _EVENT), scope=_read_scope(tenant_id, line))
    if kind == "suppressed":
        return Deletion(**_values(line, _DELETION))
    if kind == "signal":
        return _checked(Signal(**_values(line, _SIGNAL, _STATES), scope=_read_scope(tenant_id, line)))
    raise InvalidInput(f"unknown line {kind!r} in the export")


def _checked(signal: Signal) -> Signal:
    """A signal with all that it takes to learn from it."""
    if not signal.data.get("infer"):
        _values(signal.data, _VERBATIM)
        return signal
    for message in _values(signal.data, _LEARNED)["messages"]:
        _values(message, _MESSAGE)
    return signal


def _values(line: object, columns: Mapping[str, tuple[type, ...]], names: _Names = _NAMES) -> dict[str, Any]:
    """What a line says, or ``InvalidInput`` naming what is missing or cannot be."""
    if not isinstance(line, Mapping):
        raise InvalidInput("a line of the export is damaged: a part of it is not an object")
    for name, types in columns.items():
        if name not in line or not isinstance(line[name], types) or line[name] not in names.get(name, (line[name],)):
            raise InvalidInput(f"a line of the export is damaged: {name}")
        if isinstance(line[name], str) and not _is_clean(line[name]):
            raise InvalidInput(f"a line of the export is damaged: {name} holds a character that cannot be stored")
    return {name: line[name] for name in columns}


def _is_clean(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _read_scope(tenant_id: str, line: object) -> Scope:
    return Scope(tenant_id, **_values(line, _SCOPE))


def _read_link(tenant_id: str, line: object) -> Link:
    return Link(scope=_read_scope(tenant_id, line), **_values(line, _LINK))
