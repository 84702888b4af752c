"""Whom a request is about, as far as its key may say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Query

from memstone.errors import InvalidInput
from memstone.server.schemas.base import Given

ScopeId = Annotated[str | None, Query(max_length=256)]
DryRun = Annotated[bool, Query(description="say what would be deleted, and delete nothing")]
Confirm = Annotated[
    str | None,
    Query(max_length=256, description="needed where nothing narrows it: whom the key speaks for, or the tenant"),
]


class Named:
    """The user, agent and run of a request's query."""

    def __init__(self, user_id: ScopeId = None, agent_id: ScopeId = None, run_id: ScopeId = None) -> None:
        self.user_id, self.agent_id, self.run_id = user_id or None, agent_id or None, run_id or None

    def as_dict(self) -> dict[str, Any]:
        """The keywords of a call."""
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}


NamedScope = Annotated[Named, Depends()]


def merge_body(query: Mapping[str, Any], body: Given | None) -> dict[str, Any]:
    """Return what the query and the body say together; raise if they say different things."""
    merged = dict[str, Any]()
    for name, value in query.items():
        said = getattr(body, name, None)
        if value is not None and said is not None and said != value:
            raise InvalidInput(f"{name} is {value!r} in the query and {said!r} in the body", hint="give one of them")
        merged[name] = said if value is None else value
    return merged
