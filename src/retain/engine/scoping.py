"""Whose memory a call is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retain.engine.parts import Parts
from retain.engine.storing.projects import project_scope
from retain.errors import InvalidInput
from retain.model.scope import Scope


def scope_in(
    parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str], project_id: object
) -> tuple[Scope, Scope | None]:
    """Whose memory a call is about, and in which project; the project's own when nobody else is named."""
    project = project_scope(parts, project_id)
    if project is not None and not inside and all(value is None for value in given.values()):
        return project, None
    return merged_scope(parts, given, inside), project


def merged_scope(parts: Parts, given: Mapping[str, Any], inside: Mapping[str, str]) -> Scope:
    """The scope of a call: keywords first, then what stands in its filters. Both at once must agree."""
    merged = parts.scope(given)
    if not inside:
        return merged.required()
    for name, value in inside.items():
        named = getattr(merged, name)
        if named and named != value:
            raise InvalidInput(f"{name} is {named!r} in the call and {value!r} in its filters")
    together = {name: getattr(merged, name) or inside.get(name) or None for name in given}
    return parts.scope(together).required()
