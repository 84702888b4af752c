"""What an event remembers of a memory: its state before and after a change, as JSON, and back.

The text is not part of it: an event tells it beside, and the row of the version keeps it. So whoever erases a text
finds it in two places, not in four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any, Final

from memstone.model.memory import Link, Record, Status
from memstone.model.scope import Scope

ENDED: Final = frozenset({Status.DELETED, Status.SUPERSEDED})
"""The statuses of a memory without a current version."""

_SHOWN: Final = ("kind", "layer", "key", "status", "version", "metadata", "occurred_at", "expires_at")
_OF_THE_ROW: Final = frozenset({"id", "text", "hash", "tokens", "seq", "tenant_id", "valid_to"})
_ALWAYS: Final = frozenset({"kind", "layer", "status", "version"})
_KEPT: Final = {
    item.name: item.default if item.default_factory is MISSING else item.default_factory()
    for item in fields(Record)
    if item.name not in _OF_THE_ROW
}
"""The fields of a record that a state holds, and what each is when it is not named."""


def shown_of(record: Record) -> dict[str, Any]:
    """What is told about a version that needs no more: the row has the rest."""
    return {name: getattr(record, name) for name in _SHOWN if getattr(record, name) not in (None, {})}


def state_of(record: Record, links: Sequence[Link]) -> dict[str, Any]:
    """Everything about a version but its words, with all who see it."""
    kept = {name: getattr(record, name) for name in _KEPT}
    told = {name: value for name, value in kept.items() if name in _ALWAYS or value != _KEPT[name]}
    return {**told, "links": [link_state(link) for link in links]}


def link_state(link: Link) -> dict[str, Any]:
    """One who sees a memory."""
    who = link.scope
    told: dict[str, Any] = {"user_id": who.user_id, "agent_id": who.agent_id, "run_id": who.run_id}
    told |= {"origin": link.origin if link.origin != "direct" else None, "last_used_at": link.last_used_at}
    told |= {"use_count": link.use_count, "created_at": link.created_at}
    return {"dedupe": link.dedupe, **{name: value for name, value in told.items() if value}}


def record_of(state: Mapping[str, Any], row: Record) -> Record:
    """The version a state tells of; ``row`` is where its words are."""
    told = {name: state[name] for name in _KEPT if name in state}
    if "links" in state:  # a whole state: what it does not name is as it usually is
        told = {**{name: value for name, value in _KEPT.items() if value is not MISSING}, **told}
    return replace(row, **told)


def links_of(state: Mapping[str, Any], tenant_id: str) -> list[Link] | None:
    """Who saw it; None when the state does not say."""
    told = state.get("links")
    return None if told is None else [_link(one, tenant_id) for one in told]


def _link(told: Mapping[str, Any], tenant_id: str) -> Link:
    return Link(
        scope=Scope(tenant_id, *(told.get(name, "") for name in ("user_id", "agent_id", "run_id"))),
        created_at=told["created_at"],
        dedupe=told.get("dedupe"),
        origin=told.get("origin", "direct"),
        use_count=told.get("use_count", 0),
        last_used_at=told.get("last_used_at"),
    )


def ended_state(version: int, status: str, *, suppressed: bool) -> dict[str, Any]:
    """The state of a memory that is there no more; ``suppressed`` when a person said that it should not come back."""
    return {"status": str(status), "version": version, **({"suppressed": True} if suppressed else {})}


def is_live(state: Mapping[str, Any] | None) -> bool:
    """Whether a state is that of a memory that is there; an ADD has none before it."""
    return bool(state) and state is not None and state.get("status") not in ENDED
