"""The description of a tool: arguments, permission, effects and answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.core.prompt.fence import neutralize_values
from memstone.engine.access.admission import resolve_owner
from memstone.engine.policy import apply_scope_policy
from memstone.errors import InvalidInput, MemstoneError, StorageError
from memstone.model.access import Verb
from memstone.model.policy import Policy
from memstone.server.errors import error_for_caller as shown_error
from memstone.server.errors import log_server_fault as log_failure
from memstone.server.observe import log

Json: TypeAlias = dict[str, Any]

STRING: Final = {"type": "string"}
_ERROR: Final = {
    "type": "object",
    "properties": {"code": STRING, "message": STRING, "hint": STRING, "retryable": {"type": "boolean"}},
    "required": ["code", "message"],
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One thing a tool takes; ``other`` is a second name of it."""

    name: str
    schema: Json
    description: str
    other: str = ""

    def properties(self) -> Json:
        """Return it as JSON Schema, under each of its names."""
        described = {self.name: {**self.schema, "description": self.description}}
        if self.other:
            described[self.other] = {**self.schema, "description": f"Another name for {self.name}."}
        return described


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One use of a tool: on which memory, with what, and about whom where it names nobody."""

    memory: AsyncMemoryVerbs
    arguments: Mapping[str, Any]
    user_id: str | None = None
    own_key: str = ""
    session_id: str | None = None
    """The session that is meant by ``scope`` session, where none is named."""

    @property
    def session(self) -> str | None:
        """The session it names."""
        return self.arguments.get("session_id")

    async def owner(self) -> str | None:
        """Return whose memory it is about, as far as the key may say so."""
        named, key_id = self.arguments.get("user_id"), self.arguments.get("apiKeyId")
        if key_id is None:
            return named or self.user_id
        owner = await self.memory.engine.run(resolve_owner, key_id, self.own_key)
        if named is not None and named != owner:
            raise InvalidInput("apiKeyId and user_id name different owners", hint="give one of them")
        return owner

    async def policy(self, owner: str | None) -> Policy:
        """Return the settings that hold for an owner."""
        engine = self.memory.engine
        return (await engine.run(apply_scope_policy, engine.runtime.scope({"user_id": owner}))).policy


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: what it is called, what it takes, which permission it needs, what it does and answers.

    ``fenced`` says that it answers with a block between markers, which was made harmless when it was put together.
    """

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    required: tuple[str, ...]
    verb: Verb
    run: Callable[[ToolUse], Awaitable[Json]]
    data: Json
    annotations: Json = field(default_factory=dict)
    fenced: bool = False

    @property
    def schema(self) -> Json:
        """What it takes, as JSON Schema."""
        properties = {name: form for one in self.arguments for name, form in one.properties().items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> Json:
        """What it answers, as JSON Schema: ``data`` where it succeeds, ``error`` where it does not."""
        data = {"type": "object", "properties": self.data, "required": list(self.data)}
        properties = {"success": {"type": "boolean"}, "data": data, "error": _ERROR}
        return {"type": "object", "properties": properties, "required": ["success"]}

    def without(self, *names: str) -> ToolSpec:
        """Return the same tool without some arguments, which are not for a model to choose everywhere."""
        return replace(self, arguments=tuple(one for one in self.arguments if one.name not in names))


async def call_tool(spec: ToolSpec, call: ToolUse) -> Json:
    """Return what a tool answers: ``success`` with ``data``, or an ``error`` that a model can act on."""
    try:
        data = await spec.run(replace(call, arguments=checked_arguments(spec, call.arguments)))
        return {"success": True, "data": data if spec.fenced else neutralize_values(data)}
    except StorageError as error:  # closed, full, out of reach: nothing a model can mend, and it may be over later
        log_failure(error)
        return {"success": False, "error": {**shown_error(error), "hint": "try again later", "retryable": True}}
    except MemstoneError as error:
        log_failure(error)
        return {"success": False, "error": shown_error(error)}
    except Exception as error:  # noqa: BLE001 - what would log it in our place tells what was said
        log.error("tool.crashed", tool=spec.name, kind=type(error).__name__, exc_info=error)
        return {"success": False, "error": MemstoneError("internal error").as_dict()}


# --- what a model sends -----------------------------------------------------------------------------------------------


def checked_arguments(spec: ToolSpec, values: Mapping[str, Any]) -> Json:
    """Return the arguments under their first names, without what was left empty; ``InvalidInput`` says what is wrong.

    Not all clients look at the schema, so it is checked here too, before anything is read or written.
    """
    names = {name: one for one in spec.arguments for name in one.properties()}
    if unknown := sorted(map(str, set(values) - set(names))):
        raise _argument_error(f"unknown argument {unknown[0]}", spec)
    checked = Json()
    for name, value in values.items():
        if value is None:  # how some models leave something out
            continue
        first, read = names[name].name, _checked_value(name, value, names[name].schema)
        if checked.setdefault(first, read) != read:
            raise _argument_error(f"{names[name].name} and {names[name].other} have different values", spec)
    if missing := [name for name in spec.required if name not in checked]:
        raise _argument_error(f"{missing[0]} is missing", spec)
    return checked


def _argument_error(problem: str, spec: ToolSpec) -> InvalidInput:
    return InvalidInput(
        f"invalid arguments: {problem}", hint=f"{spec.name} takes {', '.join(spec.schema['properties'])}"
    )


_TYPES: Final[dict[str, type]] = {"string": str, "integer": int, "object": dict, "boolean": bool}


def _checked_value(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value that fits its schema; 3.0 is 3 in JSON."""
    wanted = _TYPES[schema["type"]]
    read = int(value) if wanted is int and isinstance(value, float) and value.is_integer() else value
    if not isinstance(read, wanted) or isinstance(read, bool) != (wanted is bool):
        raise InvalidInput(f"invalid arguments: {name} must be of type {schema['type']}")
    if "enum" in schema and read not in schema["enum"]:
        raise InvalidInput(f"invalid arguments: {name} cannot be {read!r}", hint="one of " + ", ".join(schema["enum"]))
    if isinstance(read, str):
        _check_length(name, read, schema)
    low, high = schema.get("minimum", 0), schema.get("maximum", 0)
    if wanted is int and not low <= read <= high:
        raise InvalidInput(f"invalid arguments: {name} must be between {low:,} and {high:,}")
    return read


def _check_length(name: str, text: str, schema: Mapping[str, Any]) -> None:
    if not text.strip():  # ignoring it could widen a deletion
        raise InvalidInput(f"invalid arguments: {name} is empty", hint="leave it out")
    most = schema.get("maxLength", len(text))
    if len(text) > most:
        raise InvalidInput(f"invalid arguments: {name} is longer than {most:,} characters")
