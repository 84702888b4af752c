"""Whose memory a call is about, and which part of it: the scope and the filters that callers give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.core.checks.filters import Filters, names_several, read_filters
from memstone.core.checks.visible import within
from memstone.engine.parts import Parts
from memstone.engine.storing.projects import project_scope
from memstone.errors import InvalidFilter, InvalidInput, ScopeError
from memstone.model.query import METADATA, And, Condition, Op, Where
from memstone.model.scope import Scope

_MOST_NAMES: Final = 10_000
"""Many users may each be the bounds of a key."""


async def admit_filters(parts: Parts, filters: Filters | None) -> Where | None:
    """Return the tree of a caller's filters.

    Raise ``InvalidFilter`` for a bare name that is a field of memories and that no row within reach ever carried as
    metadata: whoever wrote it means the field, and would be answered from metadata that is not there.
    """
    parsed = read_filters(filters)
    for name in sorted(parsed.bare_fields):
        if not await _is_metadata(parts, name):
            raise InvalidFilter(
                f"no memory has metadata called {name!r}",
                hint=f"write memory.{name} for the field of a memory, metadata.{name} for metadata",
            )
    return parsed.where


async def _is_metadata(parts: Parts, name: str) -> bool:
    """Whether any row within reach, of whatever status, carries a key in its metadata.

    What was once carried stays so, which is why a yes is looked for once in a process.
    """
    reach = parts.bounds or Scope(parts.tenant_id)
    if (reach, name) in parts.metadata_names:
        return True
    carried = And((within(reach), Condition(METADATA + name, Op.EXISTS, value=True)))
    if not await parts.ledger.read(lambda tx: tx.memories.find(carried, limit=1)):
        return False
    if len(parts.metadata_names) >= _MOST_NAMES:
        parts.metadata_names.clear()
    parts.metadata_names.add((reach, name))
    return True


def scope_in(
    parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str], project_id: object, rest: Where | None = None
) -> tuple[Scope, Scope | None]:
    """Whose memory a call is about, and in which project; the project's own when nobody else is named."""
    project = project_scope(parts, project_id)
    if project is not None and not inside and all(value is None for value in given.values()):
        return project, None
    return merged_scope(parts, given, inside, rest), project


def merged_scope(parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str], rest: Where | None = None) -> Scope:
    """The scope of a call that must name somebody, in its keywords or its filters.

    ``rest`` is what the filters ask beyond that: where it names several, the error says that it must be one.
    """
    scope = named_scope(parts, given, inside)
    return scope.required() if rest is None else _required(scope, rest)


def named_scope(parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str]) -> Scope:
    """The scope of a call: keywords first, then what stands in its filters. Both at once must agree."""
    merged = parts.scope(given)
    for name, value in inside.items():
        named = getattr(merged, name)
        if named and named != value:
            hint = "leave one of the two out"
            raise InvalidInput(f"{name} is {named!r} in the call and {value!r} in its filters", hint=hint)
    together = {name: getattr(merged, name) or inside.get(name) or None for name in given}
    return parts.scope(together) if inside else merged


def _required(scope: Scope, rest: Where) -> Scope:
    try:
        return scope.required()
    except ScopeError as error:
        if not names_several(rest):
            raise
        hint = "name one, as user_id=... or in filters; a list only narrows down what that one sees"
        raise ScopeError(error.message, hint=hint) from None
