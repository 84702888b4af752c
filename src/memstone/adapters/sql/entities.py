"""Tables of entities, mentions and relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from memstone.adapters.sql.rows import Row, SqlConnection, placeholder_list, split_chunks
from memstone.model.memory import USER, EntityRow, RelationRow, owner_of
from memstone.model.scope import Scope
from memstone.ports.graph import GraphCounts, GraphMemory, GraphRows

_ENTITY: Final = (
    "e.id, e.tenant_id, e.user_id, e.agent_id, e.run_id, e.name, e.norm, e.type, e.description, e.updated_at"
)
_ENTITY_WIDTH: Final = 10
_RELATION: Final = (
    "r.id, r.source_id, r.target_id, r.type, r.valid_from, r.valid_to, r.memory_seq, r.updated_at, r.confidence"
)
_OWNED: Final = "e.tenant_id = ? AND e.user_id = ? AND e.agent_id = ? AND e.run_id = ?"
_PUT: Final = """
INSERT INTO entities (id, tenant_id, user_id, agent_id, run_id, name, norm, type, description, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  name = excluded.name, type = excluded.type, description = excluded.description, updated_at = excluded.updated_at"""
_MENTION: Final = "INSERT INTO mentions (tenant_id, entity_id, memory_seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_RELATE: Final = """
INSERT INTO relations
  (tenant_id, id, source_id, target_id, type, valid_from, valid_to, memory_seq, updated_at, confidence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  valid_from = excluded.valid_from, valid_to = excluded.valid_to, updated_at = excluded.updated_at,
  confidence = excluded.confidence"""
# Every index begins with the tenant, and without statistics the planner takes the tenant alone for choosy enough to
# read all its edges by the primary key. So the index is named, and CROSS JOIN keeps the order of the tables.
_BY_MEMORY: Final = "relations INDEXED BY relations_memory"
_ENTITIES_BY_SOURCE: Final = "relations INDEXED BY relations_source"
_BY_TARGET: Final = "relations INDEXED BY relations_target"
_TOUCHED: Final = f"""
SELECT entity_id FROM mentions WHERE tenant_id = ? AND memory_seq IN ({{seqs}})
UNION SELECT source_id FROM {_BY_MEMORY} WHERE tenant_id = ? AND memory_seq IN ({{seqs}})
UNION SELECT target_id FROM {_BY_MEMORY} WHERE tenant_id = ? AND memory_seq IN ({{seqs}})"""
_ORPHANS: Final = """
DELETE FROM entities AS e WHERE e.tenant_id = ? AND e.id IN ({ids})
  AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.tenant_id = e.tenant_id AND m.entity_id = e.id)
  AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.tenant_id = e.tenant_id AND r.source_id = e.id)
  AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.tenant_id = e.tenant_id AND r.target_id = e.id)"""
_SEEN: Final = "WITH seen AS MATERIALIZED (SELECT DISTINCT l.memory_seq FROM links l WHERE {condition})"
_SPOKEN_OF: Final = """
SELECT m.entity_id, 1 AS counts FROM seen CROSS JOIN mentions m INDEXED BY mentions_memory
    WHERE m.tenant_id = ? AND m.memory_seq = seen.memory_seq
UNION ALL SELECT r.source_id, 0 FROM seen CROSS JOIN relations r INDEXED BY relations_memory
    WHERE r.tenant_id = ? AND r.memory_seq = seen.memory_seq
UNION ALL SELECT r.target_id, 0 FROM seen CROSS JOIN relations r INDEXED BY relations_memory
    WHERE r.tenant_id = ? AND r.memory_seq = seen.memory_seq"""
_MENTIONED_BY: Final = (
    "SELECT m.memory_seq, m.entity_id FROM mentions m INDEXED BY mentions_memory "
    "WHERE m.tenant_id = ? AND m.memory_seq IN ({seqs})"
)
_NEXT: Final = f"""
SELECT {_ENTITY} FROM (
    SELECT id, max(valid_from) AS related FROM (
        SELECT target_id AS id, valid_from FROM {_ENTITIES_BY_SOURCE} WHERE tenant_id = ? AND source_id = ?
        UNION ALL SELECT source_id, valid_from FROM {_BY_TARGET} WHERE tenant_id = ? AND target_id = ?) b
    GROUP BY id) n
JOIN entities e ON e.tenant_id = ? AND e.id = n.id ORDER BY n.related DESC, e.id LIMIT ?"""


class EntitiesTable:
    """See ``memstone.ports.tables.Entities``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def find_by_norms(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        rows: list[Row] = []
        for part in split_chunks(norms):
            query = f"SELECT {_ENTITY} FROM entities e WHERE {_OWNED} AND e.norm IN ({placeholder_list(len(part))})"
            rows += await self._sql.rows(query, (*_owner_params(owner), *part))
        return [_entity_from_row(row) for row in rows]

    async def put(self, rows: Iterable[EntityRow]) -> None:
        await self._sql.many(_PUT, (_entity_params(row) for row in rows))

    async def mention(self, tenant_id: str, pairs: Iterable[tuple[str, int]]) -> None:
        await self._sql.many(_MENTION, ((tenant_id, entity, seq) for entity, seq in pairs))

    async def relate(self, tenant_id: str, rows: Iterable[RelationRow]) -> None:
        await self._sql.many(_RELATE, (_relation_params(tenant_id, row) for row in rows))

    async def leave(self, tenant_id: str, seqs: Iterable[int], owner: Scope | None = None) -> None:
        for part in split_chunks(list(seqs), 300):
            await self._leave(tenant_id, part, owner)

    async def _leave(self, tenant_id: str, seqs: Sequence[int], owner: Scope | None) -> None:
        listed = ", ".join(map(str, map(int, seqs)))
        touched = [row[0] for row in await self._sql.rows(_TOUCHED.format(seqs=listed), (tenant_id,) * 3)]
        if owner is not None and touched:
            touched = await self._find_owned_ids(owner, touched)
        for ids in split_chunks(touched):
            these = placeholder_list(len(ids))
            gone = f"tenant_id = ? AND memory_seq IN ({listed})"
            await self._sql.run(f"DELETE FROM mentions WHERE {gone} AND entity_id IN ({these})", (tenant_id, *ids))
            await self._sql.run(f"DELETE FROM {_BY_MEMORY} WHERE {gone} AND source_id IN ({these})", (tenant_id, *ids))
            await self._sql.run(_ORPHANS.format(ids=these), (tenant_id, *ids))

    async def _find_owned_ids(self, owner: Scope, ids: Sequence[str]) -> list[str]:
        found: list[Row] = []
        for part in split_chunks(ids):
            query = f"SELECT e.id FROM entities e WHERE {_OWNED} AND e.id IN ({placeholder_list(len(part))})"
            found += await self._sql.rows(query, (*_owner_params(owner), *part))
        return [row[0] for row in found]

    async def of(self, scope: Scope, norms: Sequence[str]) -> list[EntityRow]:
        if not norms:
            return []
        if scope.user_id:
            return await self.find_by_norms(Scope(scope.tenant_id, user_id=scope.user_id), norms)
        found: list[EntityRow] = []
        for owner in [] if scope.is_open else await self._owners(scope):
            found += await self.find_by_norms(owner, norms)
        return found

    async def _owners(self, scope: Scope) -> list[Scope]:
        """Return whose entities the memories linked to an agent or a run may mention."""
        condition, params = _link_condition(scope)
        index = "links_agent" if scope.agent_id else "links_run"
        query = f"SELECT DISTINCT l.user_id, l.agent_id, l.run_id FROM links l INDEXED BY {index} WHERE {condition}"
        rows = await self._sql.rows(query, params)
        return list(dict.fromkeys(_owner_of(scope.tenant_id, *row) for row in rows))

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        query = f"SELECT source_id FROM {_BY_TARGET} WHERE tenant_id = ? AND target_id = ? AND type = ?"
        found = [await self._sql.rows(query, (tenant_id, target, relation)) for relation, target in pairs]
        return list(dict.fromkeys(row[0] for rows in found for row in rows))

    async def memories_of(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> dict[str, list[int]]:
        query = "SELECT memory_seq FROM mentions WHERE tenant_id = ? AND entity_id = ? LIMIT ?"
        found = {one: await self._sql.rows(query, (tenant_id, one, most + 1)) for one in entity_ids}
        return {one: [row[0] for row in rows] for one, rows in found.items()}

    async def neighbours(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> list[tuple[str, EntityRow]]:
        found: list[tuple[str, EntityRow]] = []
        for one in entity_ids:
            rows = await self._sql.rows(_NEXT, (tenant_id, one, tenant_id, one, tenant_id, most))
            found += [(one, _entity_from_row(row)) for row in rows]
        return found

    async def rows_of(self, tenant_id: str, seqs: Sequence[int]) -> GraphRows:
        mentions: list[Row] = []
        relations: list[Row] = []
        for part in split_chunks(list(seqs), 300):
            listed = ", ".join(map(str, map(int, part)))
            mentions += await self._sql.rows(_MENTIONED_BY.format(seqs=listed), (tenant_id,))
            query = f"SELECT {_RELATION} FROM relations r INDEXED BY relations_memory"
            relations += await self._sql.rows(
                f"{query} WHERE r.tenant_id = ? AND r.memory_seq IN ({listed})", (tenant_id,)
            )
        edges = tuple(RelationRow(*row) for row in relations)
        by_seq: dict[int, list[str]] = {edge.memory_seq: [] for edge in edges}
        for seq, entity in mentions:
            by_seq.setdefault(seq, []).append(entity)
        ids = {entity for _, entity in mentions} | {end for edge in edges for end in (edge.source, edge.target)}
        names = await self._memory_ids(tenant_id, sorted(by_seq))
        memories = tuple(GraphMemory(seq, names[seq], tuple(sorted(found))) for seq, found in sorted(by_seq.items()))
        return GraphRows(memories, edges, tuple(await self.find_by_ids(tenant_id, sorted(ids))))

    async def _memory_ids(self, tenant_id: str, seqs: Sequence[int]) -> dict[int, str]:
        found: list[Row] = []
        for part in split_chunks(seqs):
            query = f"SELECT seq, id FROM memories WHERE tenant_id = ? AND seq IN ({placeholder_list(len(part))})"
            found += await self._sql.rows(query, (tenant_id, *part))
        return dict(found)

    async def find_by_ids(self, tenant_id: str, entity_ids: Sequence[str]) -> list[EntityRow]:
        rows: list[Row] = []
        for part in split_chunks(list(entity_ids)):
            query = (
                f"SELECT {_ENTITY} FROM entities e WHERE e.tenant_id = ? AND e.id IN ({placeholder_list(len(part))})"
            )
            rows += await self._sql.rows(query, (tenant_id, *part))
        return [_entity_from_row(row) for row in rows]

    async def counts(self, tenant_id: str) -> GraphCounts:
        tables = ("entities", "mentions", "relations")
        found = [await self._sql.one(f"SELECT count(*) FROM {one} WHERE tenant_id = ?", (tenant_id,)) for one in tables]
        return GraphCounts(*(int(row[0]) if row else 0 for row in found))

    async def list_entities(self, scope: Scope, limit: int, offset: int = 0) -> list[EntityRow]:
        condition, params = _link_condition(scope)
        owned, owner = _of_user(scope)
        query = f"""{_SEEN.format(condition=condition)}
            SELECT {_ENTITY}, sum(s.counts) AS n FROM ({_SPOKEN_OF}) s
            CROSS JOIN entities e WHERE e.tenant_id = ? AND e.id = s.entity_id AND e.norm <> ?{owned}
            GROUP BY e.tenant_id, e.seq ORDER BY n DESC, e.seq LIMIT ? OFFSET ?"""
        rows = await self._sql.rows(query, (*params, *(scope.tenant_id,) * 4, USER, *owner, limit, offset))
        return [_entity_from_row(row, row[_ENTITY_WIDTH]) for row in rows]

    async def edges(self, scope: Scope, limit: int, offset: int = 0) -> list[tuple[EntityRow, RelationRow, EntityRow]]:
        condition, params = _link_condition(scope)
        owned, owner = _of_user(scope)
        query = f"""{_SEEN.format(condition=condition)}
            SELECT {_ENTITY}, {_ENTITY.replace("e.", "t.")}, {_RELATION} FROM seen
            CROSS JOIN relations r INDEXED BY relations_memory
            JOIN entities e ON e.tenant_id = r.tenant_id AND e.id = r.source_id
            JOIN entities t ON t.tenant_id = r.tenant_id AND t.id = r.target_id
            WHERE r.tenant_id = ? AND r.memory_seq = seen.memory_seq{owned}
            ORDER BY r.valid_from DESC, r.memory_seq DESC, r.id LIMIT ? OFFSET ?"""
        rows = await self._sql.rows(query, (*params, scope.tenant_id, *owner, limit, offset))
        return [
            (_entity_from_row(row), RelationRow(*row[2 * _ENTITY_WIDTH :]), _entity_from_row(row[_ENTITY_WIDTH:]))
            for row in rows
        ]


def _owner_params(owner: Scope) -> tuple[str, str, str, str]:
    return owner.tenant_id, owner.user_id, owner.agent_id, owner.run_id


def _owner_of(tenant_id: str, user_id: str, agent_id: str, run_id: str) -> Scope:
    return owner_of(Scope(tenant_id, user_id, agent_id, run_id))


def _link_condition(scope: Scope) -> tuple[str, list[str]]:
    """Return the links that a scope names, and their parameters; "<> ''" lets the planner use the partial indexes."""
    items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    narrowed = "".join(f" AND l.{name} = ? AND l.{name} <> ''" for name, _ in items)
    return f"l.tenant_id = ?{narrowed}", [scope.tenant_id, *(value for _, value in items)]


def _of_user(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Test that an entity is the user's own.

    Others who hold the same memory know the same name by an entity of theirs.
    """
    return (" AND e.user_id = ?", (scope.user_id,)) if scope.user_id else ("", ())


def _entity_from_row(row: Row, mentions: int = 0) -> EntityRow:
    entity_id, tenant, user, agent, run, name, norm, kind, description, updated_at = row[:_ENTITY_WIDTH]
    owner = Scope(tenant, user, agent, run)
    return EntityRow(entity_id, owner, name, norm, kind, description, updated_at, mentions)


def _entity_params(row: EntityRow) -> tuple[Any, ...]:
    return (row.id, *_owner_params(row.owner), row.name, row.norm, row.type, row.description, row.updated_at)


def _relation_params(tenant_id: str, row: RelationRow) -> tuple[Any, ...]:
    ends = (tenant_id, row.id, row.source, row.target, row.type)
    return (*ends, row.valid_from, row.valid_to, row.memory_seq, row.updated_at, row.confidence)
