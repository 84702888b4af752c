"""Common parts of graph databases with Cypher: nodes and edges, statements, and reading rows.

A memory is a node with its number and id, never with its text. It points to the entities that it mentions
(``MENTIONS``) and to both ends of every relation that it states (``STATES``), so that all that comes from it is found
from there. A relation is an edge from entity to entity, of a type of its own, one for each memory that states it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from memstone.errors import GraphStoreError
from memstone.model.memory import EntityRow, RelationRow
from memstone.model.scope import Scope
from memstone.ports.graph import GraphCounts, GraphPage
from memstone.ports.io import Io

ENTITY: Final = "MemstoneEntity"
MEMORY: Final = "MemstoneMemory"
GRAPH: Final = "MemstoneGraph"

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")
_OTHER_TYPE: Final = "RELATED_TO"
_FIELDS: Final = "id tenant_id user_id agent_id run_id name norm type description updated_at".split()

POSITION: Final = f"MATCH (g:{GRAPH} {{name: $graph}}) RETURN g.position"
TOUCHED: Final = f"""
UNWIND $seqs AS seq
MATCH (m:{MEMORY} {{graph: $graph, seq: seq}})-[:MENTIONS|STATES]->(e:{ENTITY})
RETURN DISTINCT e.id"""
COUNTS: Final = (
    f"MATCH (e:{ENTITY} {{graph: $graph}}) RETURN count(e)",
    f"MATCH (m:{MEMORY} {{graph: $graph}})-[r:MENTIONS]->(:{ENTITY}) RETURN count(r)",
    f"MATCH (e:{ENTITY} {{graph: $graph}})-[r]->(:{ENTITY}) RETURN count(r)",
)
_FIND: Final = f"""
UNWIND $norms AS norm
MATCH (e:{ENTITY} {{graph: $graph, norm: norm}})
WHERE e.user_id = $user_id AND e.agent_id = $agent_id AND e.run_id = $run_id
RETURN {", ".join(f"e.{name}" for name in _FIELDS)}"""
_BY_ROLE: Final = f"""
UNWIND $pairs AS pair
MATCH (e:{ENTITY} {{graph: $graph, id: pair.target}})<-[r]-(s:{ENTITY})
WHERE r.relation = pair.relation
RETURN DISTINCT s.id"""
_NEXT: Final = f"""
UNWIND $ids AS one
MATCH (e:{ENTITY} {{graph: $graph, id: one}})-[r]-(n:{ENTITY})
WITH one, n, max(r.valid_from) AS related ORDER BY related DESC, n.id
WITH one, collect(n)[..$most] AS near
UNWIND near AS n
RETURN one, {", ".join(f"n.{name}" for name in _FIELDS)}"""

_REMOVE_RELATIONS: Final = f"""
MATCH (m:{MEMORY} {{graph: $graph}}) WHERE m.seq IN $seqs
MATCH (m)-[:STATES]->(e:{ENTITY})
WITH DISTINCT e
MATCH (e)-[r]->(:{ENTITY}) WHERE r.seq IN $seqs
DELETE r"""
_REMOVE_MEMORIES: Final = f"UNWIND $seqs AS seq MATCH (m:{MEMORY} {{graph: $graph, seq: seq}}) DETACH DELETE m"
_REMOVE_ENTITIES: Final = f"UNWIND $gone AS id MATCH (e:{ENTITY} {{graph: $graph, id: id}}) DETACH DELETE e"
_PUT_ENTITIES: Final = (
    f"UNWIND $entities AS one MERGE (e:{ENTITY} {{graph: $graph, id: one.id}}) "
    f"SET {', '.join(f'e.{name} = one.{name}' for name in _FIELDS[1:])}"
)
_PUT_MEMORIES: Final = f"UNWIND $memories AS one MERGE (m:{MEMORY} {{graph: $graph, seq: one.seq}}) SET m.id = one.id"
_TIE: Final = f"""
UNWIND ${{pairs}} AS one
MATCH (m:{MEMORY} {{{{graph: $graph, seq: one.seq}}}})
MATCH (e:{ENTITY} {{{{graph: $graph, id: one.entity}}}})
MERGE (m)-[:{{kind}}]->(e)"""
_RELATE: Final = f"""
UNWIND ${{rows}} AS one
MATCH (s:{ENTITY} {{{{graph: $graph, id: one.source}}}})
MATCH (t:{ENTITY} {{{{graph: $graph, id: one.target}}}})
MERGE (s)-[r:{{type}} {{{{id: one.id}}}}]->(t)
SET r.relation = one.relation, r.seq = one.seq, r.valid_from = one.valid_from, r.valid_to = one.valid_to,
    r.updated_at = one.updated_at, r.confidence = one.confidence"""


class PageStatements(NamedTuple):
    """The statements that apply a page, in their order, and the parameters of all of them."""

    texts: list[str]
    params: dict[str, Any]


def page_statements(graph: str, page: GraphPage) -> PageStatements:
    """Return what applies a page, except for its position; statements with nothing to do are left out."""
    rows = page.rows
    mentions = [{"seq": one.seq, "entity": entity} for one in rows.memories for entity in one.mentions]
    ends = {(one.memory_seq, end): None for one in rows.relations for end in (one.source, one.target)}
    params: dict[str, Any] = {
        "graph": graph,
        "seqs": list(page.seqs),
        "gone": list(page.gone),
        "entities": [_entity_values(row) for row in rows.entities],
        "memories": [{"seq": one.seq, "id": one.id} for one in rows.memories],
        "mentions": mentions,
        "ends": [{"seq": seq, "entity": entity} for seq, entity in ends],
    }
    steps = (
        ("seqs", _REMOVE_RELATIONS),
        ("seqs", _REMOVE_MEMORIES),
        ("gone", _REMOVE_ENTITIES),
        ("entities", _PUT_ENTITIES),
        ("memories", _PUT_MEMORIES),
        ("mentions", _TIE.format(pairs="mentions", kind="MENTIONS")),
        ("ends", _TIE.format(pairs="ends", kind="STATES")),
    )
    texts = [text for name, text in steps if params[name]]
    for number, (kind, same) in enumerate(_relations_by_type(rows.relations)):
        name = f"relations_{number}"
        params[name] = [_relation_values(row) for row in same]
        texts.append(_RELATE.format(rows=name, type=kind))
    return PageStatements(texts, params)


def edge_type(relation: str) -> str:
    """Return the type of the edges of a relation: ``works_at`` is ``WORKS_AT``. A type cannot be a parameter."""
    return relation.upper() if _TYPE.fullmatch(relation) else _OTHER_TYPE


def _relations_by_type(rows: Iterable[RelationRow]) -> Iterator[tuple[str, list[RelationRow]]]:
    found: defaultdict[str, list[RelationRow]] = defaultdict(list)
    for row in rows:
        found[edge_type(row.type)].append(row)
    yield from sorted(found.items())


def _entity_values(row: EntityRow) -> dict[str, Any]:
    owner = row.owner
    values = (row.id, owner.tenant_id, owner.user_id, owner.agent_id, owner.run_id)
    return dict(zip(_FIELDS, (*values, row.name, row.norm, row.type, row.description, row.updated_at), strict=True))


def _relation_values(row: RelationRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "source": row.source,
        "target": row.target,
        "relation": row.type,
        "seq": row.memory_seq,
        "valid_from": row.valid_from,
        "valid_to": row.valid_to,
        "updated_at": row.updated_at,
        "confidence": row.confidence,
    }


def _entity_from(values: Sequence[Any]) -> EntityRow:
    entity_id, tenant, user, agent, run, name, norm, kind, description, updated_at = values
    return EntityRow(entity_id, Scope(tenant, user, agent, run), name, norm, kind, description, updated_at)


class CypherStore:
    """What ``memstone.ports.graph.GraphStore`` asks for, as far as it is the same in every database with Cypher."""

    name: ClassVar[str]

    def __init__(self, io: Io) -> None:
        self._io = io

    async def position(self, graph: str) -> int | None:
        rows = await self._read(graph, POSITION, {})
        return int(rows[0][0]) if rows and rows[0][0] is not None and rows[0][0] >= 0 else None

    async def find_touched(self, graph: str, seqs: Sequence[int]) -> list[str]:
        if not seqs:
            return []
        return [str(row[0]) for row in await self._read(graph, TOUCHED, {"seqs": list(seqs)})]

    def reader(self, graph: str) -> CypherReader:
        """Return what answers from a graph."""
        return CypherReader(self, graph)

    async def count(self, graph: str) -> GraphCounts:
        """Return how much a graph holds."""
        found = [await self._read(graph, query, {}) for query in COUNTS]
        return GraphCounts(*(int(rows[0][0]) if rows else 0 for rows in found))

    async def read(self, graph: str, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return the rows of a query that changes nothing."""
        return await self._read(graph, query, params)

    def query_mentions(self, most: int) -> str:
        """Return the query for the versions that mention entities: so many of each, and one more."""
        inner = f"MATCH (e)<-[:MENTIONS]-(m:{MEMORY}) RETURN m.seq AS seq LIMIT {int(most) + 1}"
        return f"""
            UNWIND $ids AS one
            MATCH (e:{ENTITY} {{graph: $graph, id: one}})
            {self._subquery("e", inner)}
            RETURN one, seq"""

    def store_error(self, message: str, hint: str) -> GraphStoreError:
        """Return an error of this store."""
        return GraphStoreError(message, kind="graph", name=self.name, hint=hint)

    # --- what a database says ---------------------------------------------------------------------------------------

    async def _read(self, graph: str, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return the rows of a query over a graph, which gets ``$graph``; none where there is no such graph."""
        raise NotImplementedError

    def _subquery(self, variable: str, inner: str) -> str:
        """Return a subquery that runs once for each value of a variable."""
        raise NotImplementedError


class CypherReader:
    """See ``memstone.ports.graph.GraphReader``."""

    def __init__(self, store: CypherStore, graph: str) -> None:
        self._store, self._graph = store, graph

    async def find_by_norms(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        if not norms:
            return []
        params = {"norms": list(norms), "user_id": owner.user_id, "agent_id": owner.agent_id, "run_id": owner.run_id}
        return [_entity_from(row) for row in await self._store.read(self._graph, _FIND, params)]

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:  # noqa: ARG002 - one tenant
        wanted = [{"relation": relation, "target": target} for relation, target in pairs]
        if not wanted:
            return []
        return [str(row[0]) for row in await self._store.read(self._graph, _BY_ROLE, {"pairs": wanted})]

    async def neighbours(
        self,
        tenant_id: str,  # noqa: ARG002 - a graph has one tenant
        entity_ids: Sequence[str],
        most: int,
    ) -> list[tuple[str, EntityRow]]:
        if not entity_ids:
            return []
        rows = await self._store.read(self._graph, _NEXT, {"ids": list(entity_ids), "most": most})
        return [(str(row[0]), _entity_from(row[1:])) for row in rows]

    async def memories_of(
        self,
        tenant_id: str,  # noqa: ARG002 - a graph has one tenant
        entity_ids: Sequence[str],
        most: int,
    ) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {one: [] for one in entity_ids}
        if not found:
            return {}
        for one, seq in await self._store.read(self._graph, self._store.query_mentions(most), {"ids": list(found)}):
            found[str(one)].append(int(seq))
        return {one: sorted(seqs) for one, seqs in found.items()}
