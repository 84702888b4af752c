"""Whose memory a call is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memstone.core.checks.filters import names_several
from memstone.engine.parts import Parts
from memstone.engine.storing.projects import project_scope
from memstone.errors import InvalidInput, ScopeError
from memstone.model.query import Where
from memstone.model.scope import Scope


def scope_in(
    parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str], project_id: object, rest: Where | None = None
) -> tuple[Scope, Scope | None]:
    """Whose memory a call is about, and in which project; the project's own when nobody else is named."""
    project = project_scope(parts, project_id)
    if project is not None and not inside and all(value is None for value in given.values()):
        return project, None
    return merged_scope(parts, given, inside, rest), project


def merged_scope(parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str], rest: Where | None = None) -> Scope:
    """The scope of a call: keywords first, then what stands in its filters. Both at once must agree.

    ``rest`` is what the filters ask beyond that: where it names several, the error says that it must be one.
    """
    merged = parts.scope(given)
    if not inside:
        return merged.required() if rest is None else _required(merged, rest)
    for name, value in inside.items():
        named = getattr(merged, name)
        if named and named != value:
            hint = "leave one of the two out"
            raise InvalidInput(f"{name} is {named!r} in the call and {value!r} in its filters", hint=hint)
    together = {name: getattr(merged, name) or inside.get(name) or None for name in given}
    return parts.scope(together).required()


def _required(scope: Scope, rest: Where) -> Scope:
    try:
        return scope.required()
    except ScopeError as error:
        if not names_several(rest):
            raise
        hint = "name one, as user_id=... or in filters; a list only narrows down what that one sees"
        raise ScopeError(error.message, hint=hint) from None
