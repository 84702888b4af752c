"""The tools a model may use: five at most, with short schemas, over the memory that a caller reaches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from memstone.async_memory import AsyncMemory
from memstone.core.showing.neutralize import neutralize_values
from memstone.core.text.tokens import estimate_tokens
from memstone.engine.learning.remember import AddRequest
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.access import Verb
from memstone.server.errors import note, shown
from memstone.server.observe import log

Json: TypeAlias = dict[str, Any]

LAYERS: Final = {"pinned": "fact", "episodes": "episode", "transcript": "turn"}
"""The parts of a memory as a model names them."""

_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 50_000}
_ID: Final = {"type": "string", "minLength": 1, "maxLength": 256}
_KIND: Final = {"type": "string", "enum": ["factual", "episodic", "procedural", "semantic"]}
_USER: Final = {"user_id": {**_ID, "description": "Whose memory; leave it out if there is only one user."}}
_SESSION: Final = {"session_id": _ID}


@dataclass(frozen=True, slots=True)
class Asked:
    """One use of a tool: by whom, on which memory, with what."""

    memory: AsyncMemory
    arguments: Mapping[str, Any]
    user_id: str | None = None

    @property
    def user(self) -> str | None:
        """Whose memory it is."""
        return self.arguments.get("user_id") or self.user_id


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: what it is called, what it takes, what it needs, and what it does.

    ``fenced`` says that it answers with a block between markers, which was made harmless when it was put together.
    """

    name: str
    description: str
    properties: Json
    required: tuple[str, ...]
    verb: Verb
    run: Callable[[Asked], Awaitable[Json]]
    fenced: bool = False

    @property
    def schema(self) -> Json:
        """What it takes, as JSON Schema."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


async def _search(asked: Asked) -> Json:
    given = asked.arguments
    layers = [LAYERS[given["scope"]]] if given.get("scope") else None
    if layers and layers != ["fact"] and given.get("kind"):
        raise InvalidInput("kind is for the scope pinned", hint="leave it out")
    found = await asked.memory.search(
        given["query"],
        user_id=asked.user,
        limit=int(given.get("limit", 10)),
        layers=layers,
        filters={"memory.kind": given["kind"]} if given.get("kind") else None,
    )
    return _counted(found["results"] if isinstance(found, dict) else found, given.get("max_tokens"))


def _counted(found: list[Json], most: int | None) -> Json:
    """The hits as a model reads them, within its budget; the first is always there."""
    memories, total = list[Json](), 0
    for one in found:
        cost = estimate_tokens(one["memory"])
        if most is not None and memories and total + cost > most:
            break
        shown = {"id": one["id"], "memory": one["memory"], "date": one["occurred_at"][:10], "score": one.get("score")}
        memories.append(shown)
        total += cost
    return {"memories": memories, "count": len(memories), "totalTokens": total}


async def _add(asked: Asked) -> Json:
    given = asked.arguments
    named: Json = {"key": given.get("key"), "kind": given.get("kind")}
    said: Json = {"user_id": asked.user, "run_id": given.get("session_id"), "metadata": given.get("metadata")}
    if any(named.values()):
        stored = await asked.memory.add(given["content"], **said, **named, infer=False)
        answer = stored if isinstance(stored, dict) else {"results": stored, "status": "ok"}
    else:
        from memstone.engine.learning.noting import (
            note,  # it brings all the rules, which nobody has asked for yet at the start
        )

        request = AddRequest(given["content"], **said)
        answer = await asked.memory._engine.run(note, request)  # noqa: SLF001 - only a model asks for it so
    changes = [{"id": one["id"], "event": one["event"], "memory": one["memory"]} for one in answer["results"]]
    return {"changes": changes, "status": answer["status"], "message": _told(answer)}


def _told(answer: Json) -> str:
    """What became of it, in words a model understands."""
    if answer["results"]:
        changed = sum(one["event"] != "NONE" for one in answer["results"])
        return f"{changed} change{'s' * (changed > 1)}" if changed else "it was known already"
    if answer.get("left_out"):
        return "nothing was stored: the user has deleted or changed it, or it asks to forget what is not known"
    return str(answer.get("reason") or next(iter(answer.get("warnings") or ()), "nothing was stored"))


async def _clear(asked: Asked) -> Json:
    given, wanted = asked.arguments, list[Json]()
    if given.get("kind"):
        wanted.append({"field": "memory.kind", "operator": "eq", "value": given["kind"]})
    if given.get("older_than"):
        wanted.append({"field": "created_at", "operator": "lt", "value": given["older_than"]})
    filters: Json | None = {"AND": wanted} if wanted else None
    gone = await asked.memory.delete_all(user_id=asked.user, run_id=given.get("session_id"), filters=filters)
    return {"deletedCount": gone["deleted"], "message": f"{gone['deleted']} memories deleted"}


async def _context(asked: Asked) -> Json:
    pack = await asked.memory.context(
        asked.arguments["query"], user_id=asked.user, budget=asked.arguments.get("budget")
    )
    return {"text": pack.text, "tokens": pack.tokens, "receipt_id": pack.receipt_id}


_SEARCHED: Final = {
    "query": _TEXT,
    "scope": {"type": "string", "enum": list(LAYERS), "description": "Facts (pinned), sessions, or what was said."},
    "kind": _KIND,
    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 8_000},
    **_USER,
}


def tools(prefix: str = "") -> dict[str, ToolSpec]:
    """Every tool by its name."""
    specs = (
        ToolSpec(
            f"{prefix}memory_search",
            "Find what is remembered about the user, by words and meaning.",
            _SEARCHED,
            ("query",),
            Verb.READ,
            _search,
        ),
        ToolSpec(
            f"{prefix}memory_add",
            "Remember something: what it teaches, else its words. With a key or a kind it is stored as it is, once.",
            {"content": _TEXT, "key": _ID, "kind": _KIND, "metadata": {"type": "object"}, **_SESSION, **_USER},
            ("content",),
            Verb.WRITE,
            _add,
        ),
        ToolSpec(
            f"{prefix}memory_clear",
            "Delete memories: all, of one kind, or older than a date.",
            {"kind": _KIND, "older_than": {"type": "string", "maxLength": 40}, **_SESSION, **_USER},
            (),
            Verb.WRITE,
            _clear,
        ),
        ToolSpec(
            f"{prefix}memory_context",
            "What is worth knowing before answering a message, within a budget of tokens; empty if nothing helps.",
            {"query": _TEXT, "budget": {"type": "integer", "minimum": 0, "maximum": 16_000}, **_USER},
            ("query",),
            Verb.READ,
            _context,
            fenced=True,
        ),
        ToolSpec(
            "search_memory",
            "Search one part of the memory: pinned, episodes or transcript.",
            {"scope": _SEARCHED["scope"], "query": _TEXT, **_USER},
            ("scope", "query"),
            Verb.READ,
            _search,
        ),
    )
    return {one.name: one for one in specs}


async def used(spec: ToolSpec, asked: Asked) -> Json:
    """What a tool answers: ``success`` with ``data``, or an ``error`` that a model can act on."""
    try:
        given = _checked(spec, asked.arguments)
        data = await spec.run(replace(asked, arguments=given))
        return {"success": True, "data": data if spec.fenced else neutralize_values(data)}
    except MemstoneError as error:
        note(error)
        return {"success": False, "error": shown(error)}
    except Exception as error:  # noqa: BLE001 - what would log it in our place tells what was said
        log.error("tool.crashed", tool=spec.name, kind=type(error).__name__, exc_info=error)
        return {"success": False, "error": MemstoneError("something went wrong in here").as_dict()}


def _checked(spec: ToolSpec, given: Mapping[str, Any]) -> Json:
    """What a model sends, without what it left empty; it is checked here too, not all clients look at the schema."""
    unknown = sorted(set(given) - set(spec.properties))
    missing = [name for name in spec.required if given.get(name) in (None, "")]
    if unknown or missing:
        what = f"unknown argument {unknown[0]}" if unknown else f"{missing[0]} is missing"
        raise InvalidInput(f"invalid arguments: {what}", hint=f"it takes {', '.join(spec.properties)}")
    values = {name: _whole(value) for name, value in given.items() if value is not None}
    for name, value in values.items():
        _check_value(name, value, spec.properties[name])
    return values


def _whole(value: Any) -> Any:
    """3.0 is 3 in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_TYPES: Final[dict[str, tuple[type, ...]]] = {"string": (str,), "integer": (int,), "object": (dict,)}


def _check_value(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    if not isinstance(value, _TYPES[schema["type"]]) or isinstance(value, bool):
        raise InvalidInput(f"invalid arguments: {name} must be of type {schema['type']}")
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidInput(f"invalid arguments: {name} cannot be {value!r}", hint=", ".join(schema["enum"]))
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        raise InvalidInput(f"invalid arguments: {name} is longer than {schema['maxLength']:,} characters")
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, int) and ((low is not None and value < low) or (high is not None and value > high)):
        raise InvalidInput(f"invalid arguments: {name} must be between {low} and {high}")
