"""People, places and things that memories speak of, and how they are related."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memstone.model.instant import Instant
from memstone.model.scope import Scope

USER: Final = "user"
"""The name and the normal form of the person whose memories these are."""


class EntityType(StrEnum):
    """What sort of thing it is; a concept is anything that nothing better is known about."""

    PERSON = "person"
    ORGANIZATION = "organization"
    CONCEPT = "concept"
    LOCATION = "location"
    EVENT = "event"
    TECHNOLOGY = "technology"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something named in a text; two names are the same when their normal forms are equal, and never otherwise."""

    name: str
    norm: str
    type: str = EntityType.CONCEPT
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """How two entities are related, by their normal forms; ``ended`` when the text says that it is over."""

    source: str
    relation: str
    target: str
    evidence: str = ""
    ended: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """What one text names; the ends of every relation are among the entities."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


NOTHING: Final = Found()


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity as it is stored."""

    id: str
    owner: Scope
    name: str
    norm: str
    type: str
    description: str | None
    updated_at: Instant
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class RelationRow:
    """An edge as one memory states it; ``source`` and ``target`` are ids of entities."""

    id: str
    source: str
    target: str
    type: str
    valid_from: Instant
    valid_to: Instant | None
    memory_seq: int
    updated_at: Instant
    confidence: float = 1.0


def owner_of(scope: Scope) -> Scope:
    """Whose entities a memory's names become.

    One person is one entity in all runs and for all agents of a user, so the owner is the user; where no user is named
    it is the agent, else the run. Nothing is ever shared between two owners or two tenants.
    """
    if scope.user_id:
        return Scope(scope.tenant_id, user_id=scope.user_id)
    if scope.agent_id:
        return Scope(scope.tenant_id, agent_id=scope.agent_id)
    return Scope(scope.tenant_id, run_id=scope.run_id)
