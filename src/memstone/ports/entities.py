"""Entities, where they are mentioned, and how they are related: part of the ledger's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from memstone.model.entity import EntityRow, RelationRow
from memstone.model.scope import Scope


class Entities(Protocol):
    """Rows of ``entities``, ``mentions`` and ``relations``.

    An entity belongs to an owner (``memstone.model.entity.owner_of``) and is known there by its normal form and type;
    there is no way to reach the entity of another owner or tenant by name.
    """

    async def known(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """The owner's entities with exactly these normal forms, whatever their type; ``mentions`` is not counted."""
        ...

    async def put(self, rows: Iterable[EntityRow]) -> None:
        """Store entities; one that its id names already gets the name, type, description and time given."""
        ...

    async def mention(self, tenant_id: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Say which entity (by id) stands in which version of a memory; what is known already stays."""
        ...

    async def relate(self, tenant_id: str, rows: Iterable[RelationRow]) -> None:
        """Store edges; one that its id names already gets the confidence, validity and time given."""
        ...

    async def leave(self, tenant_id: str, seqs: Iterable[int], owner: Scope | None = None) -> None:
        """Forget that versions mention or relate anything, for all owners or for one.

        An entity goes with the last memory that speaks of it.
        """
        ...

    async def of(self, scope: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """Entities with these normal forms of every owner that a scope reaches."""
        ...

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """The ids of entities that stand in a relation to an entity: pairs of the relation and the target's id."""
        ...

    async def memories_of(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> dict[str, list[int]]:
        """The versions that mention each entity; of one in more than ``most`` only that many and one more."""
        ...

    async def neighbours(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> list[tuple[str, EntityRow]]:
        """One hop over relations, either way: an entity's id and who is next to it; at most ``most`` for each."""
        ...

    async def listed(self, scope: Scope, limit: int, offset: int = 0) -> list[EntityRow]:
        """The entities that memories linked to this scope mention or relate, most often mentioned first.

        ``mentions`` counts only the memories of this scope.
        """
        ...

    async def edges(self, scope: Scope, limit: int, offset: int = 0) -> list[tuple[EntityRow, RelationRow, EntityRow]]:
        """The edges that memories linked to this scope state, newest first, with what they connect."""
        ...
