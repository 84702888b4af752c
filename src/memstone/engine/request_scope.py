"""Read the scope and the filters of a call: whose memory it is about, and which part."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from memstone.core.checks.filters import Filters, names_several, read_filters, where_in_bounds, where_in_scope
from memstone.core.talk.transcript import TranscriptInput
from memstone.engine.runtime import Runtime
from memstone.engine.store.holders import project_scope
from memstone.errors import Forbidden, InvalidFilter, InvalidInput, ScopeError
from memstone.model.access import Bounds, Users
from memstone.model.ids import clean_id
from memstone.model.instant import When
from memstone.model.query import METADATA, And, Condition, Not, Op, Or, Where
from memstone.model.scope import NO_SCOPE, Scope

# --- whose memory a call is about, and which part of it ---------------------------------------------------------------


_MOST_NAMES: Final = 10_000
"""Many users may each be the bounds of a key."""


async def admit_filters(runtime: Runtime, filters: Filters | None) -> Where | None:
    """Parse a caller's filters, and refuse ambiguous names of fields.

    Raise ``InvalidFilter`` for a bare name that is a field of memories and that no row within reach ever carried as
    metadata: whoever wrote it means the field, and would be answered from metadata that is not there.
    """
    parsed = read_filters(filters)
    for name in sorted(parsed.bare_fields):
        if not await _is_metadata(runtime, name):
            raise InvalidFilter(
                f"metadata cannot be called {name!r}",
                hint=f"write memory.{name} for the field of a memory, or metadata.{name} for metadata",
            )
    return parsed.where


async def _is_metadata(runtime: Runtime, name: str) -> bool:
    """Return whether any row that the caller has access to has this metadata key.

    What was once carried stays so, which is why a yes is looked for once in a process.
    """
    reach = runtime.bounds or Scope(runtime.tenant_id)
    if (reach, name) in runtime.metadata_names:
        return True
    current = where_in_scope(reach) if isinstance(reach, Scope) else where_in_bounds(reach)
    carried = And((current, Condition(METADATA + name, Op.EXISTS, value=True)))
    if not await runtime.ledger.read(lambda tx: tx.memories.find(carried, limit=1)):
        return False
    if len(runtime.metadata_names) >= _MOST_NAMES:
        runtime.metadata_names.clear()
    runtime.metadata_names.add((reach, name))
    return True


def scope_or_everybody(
    runtime: Runtime,
    values: Mapping[str, Any],
    inside: Mapping[str, str] | None = None,
    *,
    everybody: bool,
    reading: bool = False,
) -> Scope:
    """Return the scope of a call that is about one scope or, if the caller says so, about everybody.

    ``inside`` is whom its filters name, ``reading`` is as in ``Runtime.scope``. Whoever is meant by naming nobody need
    not be named.
    """
    together = _merge_scope_ids(values, inside or {})
    if not everybody:
        return _one_scope(runtime, together, reading=reading)
    if runtime.bounds is not None:
        raise Forbidden(
            "this key has no access to everybody's memories",
            hint="leave out everybody, or use a key for the whole tenant",
        )
    if any(value is not None for value in values.values()):
        raise InvalidInput("everybody cannot be combined with an id", hint="give only one of them")
    return runtime.scope(together)


def _one_scope(runtime: Runtime, together: Mapping[str, Any], *, reading: bool) -> Scope:
    try:
        return runtime.required_scope(together, reading=reading)
    except ScopeError as error:
        if error.message != NO_SCOPE:
            raise
        raise ScopeError(NO_SCOPE, hint="everybody=True means everybody in this tenant") from None


def scope_in(
    runtime: Runtime,
    values: Mapping[str, Any],
    inside: Mapping[str, str],
    project_id: object,
    rest: Where | None = None,
    *,
    reading: bool = False,
) -> tuple[Scope, Scope | None]:
    """Return the scope of a call and its project; the project's own scope if nobody else is named."""
    project = project_scope(runtime, project_id)
    if project is not None and not inside and all(value is None for value in values.values()):
        return project, None
    return merged_scope(runtime, values, inside, rest, reading=reading), project


def merged_scope(
    runtime: Runtime,
    values: Mapping[str, Any],
    inside: Mapping[str, str],
    rest: Where | None = None,
    *,
    reading: bool = False,
) -> Scope:
    """Return the scope of a call that must name somebody, in its arguments or its filters.

    ``rest`` is what the filters ask beyond that: where it names several, the error says that it must be one.
    ``reading`` is as in ``Runtime.scope``.
    """
    together = _merge_scope_ids(values, inside)
    try:
        return runtime.required_scope(together, reading=reading)
    except ScopeError as error:
        if error.message != NO_SCOPE:
            raise
        raise no_scope(rest) from None


def no_scope(rest: Where | None) -> ScopeError:
    """Return the error for a call that names nobody; ``rest`` is the rest of its filters."""
    several = rest is not None and names_several(rest)
    hint = "give one, as user_id=... or in filters; a list only narrows what that one sees" if several else ""
    return ScopeError(NO_SCOPE, hint=hint)


def _merge_scope_ids(values: Mapping[str, Any], inside: Mapping[str, str]) -> dict[str, Any]:
    for name, value in inside.items():
        keyword = clean_id(values.get(name), name)
        if keyword and keyword != value:
            hint = "leave out one of them"
            raise InvalidInput(f"{name} is {keyword!r} in the call and {value!r} in its filters", hint=hint)
    return {name: value if (value := values[name]) is not None else inside.get(name) for name in values}


def rename_filter_users(runtime: Runtime, where: Where | None) -> Where | None:
    """Replace names in a filter by stored user ids, for keys with pools."""
    bounds = runtime.bounds
    return where if bounds is None or where is None else _rename_users_in_tree(bounds, where)


def _rename_users_in_tree(bounds: Bounds, where: Where) -> Where:
    if isinstance(where, Not):
        return Not(_rename_users_in_tree(bounds, where.part))
    if isinstance(where, (And, Or)):
        return type(where)(tuple(_rename_users_in_tree(bounds, part) for part in where.parts))
    if where.field != "user_id" or where.op is Op.EXISTS:
        return where
    if isinstance(where.value, str) and where.op in (Op.EQ, Op.NE):
        return replace(where, value=bounds.rename(where.value))
    if where.op in (Op.IN, Op.NIN):
        return replace(where, value=tuple(bounds.rename(one) if isinstance(one, str) else one for one in where.value))
    if bounds.users is Users.POOLS:
        raise InvalidFilter(f"this key cannot compare user_id by {where.op.value}", hint="use eq, ne, in or nin")
    return where


# --- what callers ask for, apart from the code that answers -----------------------------------------------------------


Progress: TypeAlias = Callable[[int, int], object]
"""Called with how many are done and how many there are; ``AsyncMemory`` awaits one that is async."""


async def report_progress(progress: Progress | None, done: int, total: int) -> object:
    """Call the progress function, if there is one, and return its answer."""
    answer = None if progress is None else progress(done, total)
    return await answer if isawaitable(answer) else answer


@runtime_checkable
class ByteSource(Protocol):
    """An object that can be read as bytes."""

    def read(self, size: int = -1, /) -> Any:
        """Return at most this many of the next bytes."""
        ...


Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | ByteSource"
"""What is imported: a path, the bytes themselves, or something to read them from."""

ExportLines: TypeAlias = "Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]]"
"""The lines of an export, as either face gives them."""


@dataclass(slots=True)
class ContextRequest:
    """The arguments of ``context``; ``route`` bypasses the gate.

    ``scope`` says how far is looked: ``session``, ``owner`` or ``global``. ``until`` is when the caller stops
    waiting, by the monotonic clock: an embedder elsewhere must leave time for the words. ``without_search`` shows what
    needs no search, and says that the rest was not in time.
    """

    query: str
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    budget: int | None = None
    gate: str | None = None
    route: str | None = None
    project_id: Any = None
    as_of: When | None = None
    scope: str | None = None
    until: float | None = None
    without_search: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A chat whose model may call the caller's tools; ``goes_on`` if a tool has answered since the user spoke."""

    session: str | None
    goes_on: bool


@dataclass(slots=True)
class IngestRequest:
    """The arguments of ``ingest``."""

    turns: TranscriptInput
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    metadata: Mapping[str, Any] | None = None
    occurred_at: When | None = None
    expires_at: When | None = None
    learn: bool = False
    progress: Progress | None = None
