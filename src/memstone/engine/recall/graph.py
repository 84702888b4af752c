"""Search by the graph: from names in a question to the memories that mention them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.request_scope import merged_scope
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit, checked_offset
from memstone.errors import BackendError
from memstone.model.instant import Instant
from memstone.model.memory import USER, EntityRow, RelationRow
from memstone.model.scope import Scope
from memstone.ports.graph import GraphMirror, GraphReader
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import EntityItem, EntityList, RelationItem, RelationList

MOST: Final = 0.5
"""What naming an entity adds to the score of a memory at most."""

_HOP: Final = 0.5
_ASKED: Final = 8
_NEXT_TO_ONE: Final = 8
_FEW: Final = 12
"""A step leads somewhere only if the second entity is in no more memories than this."""

_TOO_OFTEN: Final = 128
"""An entity in more memories than this tells nothing apart: its boost would be less than 0.03."""

_LISTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Bridge:
    """A step from an entity that a question names to one that is related to it.

    ``via`` are the versions that mention both, ``to`` those that mention the second one alone.
    """

    via: frozenset[int]
    to: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GraphConnections:
    """Where a question leads by the names in it: what each version gains by its mentions, and the steps beyond them.

    ``failure`` is why a graph database did not answer; the ledger did in its place.
    """

    boosts: Mapping[int, float] = field(default_factory=dict)
    bridges: Sequence[Bridge] = ()
    failure: BackendError | None = None


NO_CONNECTIONS: Final = GraphConnections()


async def find_connections(runtime: Runtime, query: str, scope: Scope) -> GraphConnections:
    """Return the versions that a question points to by name, directly or by one step.

    Entities are those of the scope's owner; whether a version may be seen is decided by whoever reads it.
    """
    names = runtime.language.names
    forms, roles = names.list_forms(query), names.list_roles(query)
    if not forms and not roles:
        return NO_CONNECTIONS
    norms, failure = list(dict.fromkeys([*forms, *(owner for owner, _ in roles)])), None
    if runtime.graph is not None and scope.user_id:
        try:
            return await _ask_database(runtime.graph, scope, norms, forms, roles) or await _ask_ledger(
                runtime, scope, norms, forms, roles
            )
        except BackendError as error:
            failure = error
    return replace(await _ask_ledger(runtime, scope, norms, forms, roles), failure=failure)


async def _ask_database(
    graph: GraphMirror, scope: Scope, norms: list[str], forms: Mapping[str, float], roles: Sequence[tuple[str, str]]
) -> GraphConnections | None:
    """Return what a graph database knows, or None while it is filled."""
    reader = await graph.current(scope.tenant_id)
    if reader is None:
        return None
    try:
        rows = await reader.find_by_norms(Scope(scope.tenant_id, user_id=scope.user_id), norms)
        return await _read_connections(reader, scope.tenant_id, rows, forms, roles)
    except BackendError as error:
        graph.record_failure(error)
        raise


async def _ask_ledger(
    runtime: Runtime, scope: Scope, norms: list[str], forms: Mapping[str, float], roles: Sequence[tuple[str, str]]
) -> GraphConnections:
    async def work(tx: Tx) -> GraphConnections:
        rows = await tx.entities.of(scope, norms)
        return await _read_connections(tx.entities, scope.tenant_id, rows, forms, roles)

    return await runtime.ledger.read(work)


async def _read_connections(
    reader: GraphReader,
    tenant: str,
    rows: Sequence[EntityRow],
    forms: Mapping[str, float],
    roles: Sequence[tuple[str, str]],
) -> GraphConnections:
    if not rows:
        return NO_CONNECTIONS
    weights, steps = await _weigh_entities(reader, tenant, rows, forms, roles)
    mentioned = await reader.memories_of(tenant, list(weights), _TOO_OFTEN)
    return GraphConnections(compute_boosts(weights, mentioned), build_bridges(steps, mentioned))


async def _weigh_entities(
    reader: GraphReader,
    tenant: str,
    rows: Sequence[EntityRow],
    forms: Mapping[str, float],
    roles: Sequence[tuple[str, str]],
) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """Return the entities that are meant, and those next to them, each with how surely it is meant; and the steps."""
    order = {form: place for place, form in enumerate(forms)}
    entity_rows = sorted(
        (row for row in rows if row.norm in forms and row.norm != USER), key=lambda row: order[row.norm]
    )
    weights = {row.id: forms[row.norm] for row in entity_rows[:_ASKED]}
    played = [(relation, row.id) for owner, relation in roles for row in rows if row.norm == owner]
    weights |= dict.fromkeys(await reader.by_role(tenant, played), 1.0)
    meant, steps = set(weights), list[tuple[str, str]]()
    for entity, near in await reader.neighbours(tenant, list(weights), _NEXT_TO_ONE):
        if near.norm != USER:  # everything is next to the user
            weights.setdefault(near.id, weights[entity] * _HOP)
            steps += [(entity, near.id)] if near.id not in meant else []
    return weights, steps


def compute_boosts(weights: Mapping[str, float], mentioned: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """Return what each version gains: the rarer an entity is, the more its mention says."""
    total: dict[int, float] = {}
    for entity, weight in weights.items():
        seqs = mentioned.get(entity, ())
        if len(seqs) <= _TOO_OFTEN:
            gain = MOST * weight / (1.0 + 0.001 * (len(seqs) - 1) ** 2)
            if total:
                total |= {seq: min(MOST, total.get(seq, 0.0) + gain) for seq in seqs}
            else:
                total = dict.fromkeys(seqs, gain)
    return total


def build_bridges(steps: Sequence[tuple[str, str]], mentioned: Mapping[str, Sequence[int]]) -> list[Bridge]:
    """Return the steps that lead from memories of one entity to a few of another."""
    found = []
    for entity, near in steps:
        other = mentioned.get(near, ())
        if not 1 < len(other) <= _FEW:
            continue
        own = frozenset(mentioned.get(entity, ()))
        # Of an entity in too many memories not all are known: then any that mentions the other one may be the bridge.
        via = own.intersection(other) if len(own) <= _TOO_OFTEN else frozenset(other)
        to = tuple(seq for seq in other if seq not in own)
        found += [Bridge(via, to)] if to else []
    return found


def choose_connected(connections: GraphConnections, best: Sequence[int]) -> set[int]:
    """Return the memories that one of the best hits leads to: it tells how they belong to what is asked about."""
    return {seq for bridge in connections.bridges if not bridge.via.isdisjoint(best) for seq in bridge.to} - set(best)


async def read_entities(runtime: Runtime, scope: Scope, limit: int = 100, offset: int = 0) -> list[EntityItem]:
    """Return what the memories of a scope mention, most often mentioned first."""
    rows = await runtime.ledger.peek(lambda tx: tx.entities.list_entities(scope, limit, offset))
    return [_format_entity(row) for row in rows]


async def read_relations(runtime: Runtime, scope: Scope, limit: int = 100, offset: int = 0) -> list[RelationItem]:
    """Return how that is related, what was stated last first; ``valid_to`` tells what no longer holds."""
    stated = await runtime.ledger.peek(lambda tx: tx.entities.edges(scope, _LISTED))
    names = {one.id: one for source, _, target in stated for one in (source, target)}

    found = build_edges(row for _, row, _ in stated)
    return [_format_edge(one, names) for one in found[offset : offset + limit]]


async def list_entities(runtime: Runtime, values: Mapping[str, Any], limit: int, offset: int) -> EntityList:
    """Return what the memories of somebody mention, as callers see it."""
    scope, most = merged_scope(runtime, values, {}), checked_limit(limit, runtime.policy.limits.page)
    return {"results": await read_entities(runtime, scope, most, checked_offset(offset))}


async def edges_listed(runtime: Runtime, values: Mapping[str, Any], limit: int, offset: int) -> RelationList:
    """Return how that is related, as callers see it."""
    scope, most = merged_scope(runtime, values, {}), checked_limit(limit, runtime.policy.limits.page)
    return {"results": await read_relations(runtime, scope, most, checked_offset(offset))}


def _format_entity(row: EntityRow) -> EntityItem:
    return {
        "id": row.id,
        "name": row.name,
        "type": row.type,
        "description": row.description,
        "mentions": row.mentions,
        "updated_at": row.updated_at,
    }


def _format_edge(edge: Edge, names: Mapping[str, EntityRow]) -> RelationItem:
    source, target = names[edge.source], names[edge.target]
    return {
        "source": source.name,
        "source_id": source.id,
        "relation": edge.type,
        "target": target.name,
        "target_id": target.id,
        "confidence": edge.confidence,
        "valid_from": edge.valid_from,
        "valid_to": edge.valid_to,
        "memories": len(edge.seqs),
    }


ONE_VALUED: Final = frozenset({"works_at", "lives_in", "located_in"})
"""Relations that a later statement takes the place of."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two entities (by id) and the memories that state it; ``valid_to`` is None while it holds."""

    source: str
    type: str
    target: str
    valid_from: Instant
    valid_to: Instant | None
    stated_at: Instant
    confidence: float
    seqs: tuple[int, ...]


def build_edges(rows: Iterable[RelationRow]) -> list[Edge]:
    """Return each edge once, what was stated last first."""
    stated: defaultdict[tuple[str, str, str], list[RelationRow]] = defaultdict(list)
    for row in rows:
        stated[row.source, row.type, row.target].append(row)
    joined = [
        _merge_relation_rows(sorted(same, key=lambda row: (row.valid_from, row.memory_seq))) for same in stated.values()
    ]
    rivals: defaultdict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in joined:
        rivals[edge.source, edge.type].append(edge)
    settled = [_ended_by(edge, rivals[edge.source, edge.type]) for edge in joined]
    return sorted(settled, key=lambda edge: (edge.stated_at, edge.seqs), reverse=True)


def _merge_relation_rows(rows: Sequence[RelationRow]) -> Edge:
    first, last = rows[0], rows[-1]
    seqs = tuple(sorted({row.memory_seq for row in rows}))
    sure = max(row.confidence for row in rows)
    return Edge(last.source, last.type, last.target, first.valid_from, last.valid_to, last.valid_from, sure, seqs)


def _ended_by(edge: Edge, rivals: Iterable[Edge]) -> Edge:
    """End a relation that somebody has with one thing at a time by what was said later."""
    if edge.type not in ONE_VALUED or edge.valid_to is not None:
        return edge
    later = [
        other.valid_from
        for other in rivals
        if other.target != edge.target and other.valid_to is None and other.valid_from > edge.stated_at
    ]
    return replace(edge, valid_to=min(later)) if later else edge
