"""The vectors of the ledger in PostgreSQL, and nearest neighbours by pgvector.

Vectors have length one, so that the inner product is the cosine; and unlike the cosine distance it says 0 of a zero
vector. Whatever an index proposes is compared by the vectors as they are stored: scores are exact either way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from memstone.adapters.postgres.connection import PgVector
from memstone.adapters.postgres.statements import PostgresSql
from memstone.adapters.sql.indexes import VectorsTable, words_of
from memstone.adapters.sql.rows import placeholder_list
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit

_PUT: Final = """
INSERT INTO vectors (tenant_id, memory_seq, signature, vector, words) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, memory_seq, signature) DO UPDATE SET vector = excluded.vector, words = excluded.words"""
_FILL: Final = """
INSERT INTO vectors (tenant_id, memory_seq, signature, vector, words)
SELECT tenant_id, seq, ?, ?, ?::bytea FROM memories WHERE tenant_id = ? AND seq = ? AND valid_to IS NULL
ON CONFLICT (tenant_id, memory_seq, signature) DO UPDATE SET vector = excluded.vector, words = excluded.words"""
_BUILT: Final = """
SELECT c.relname::text, c.reltuples::float8 FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'memstone'::regnamespace AND c.relname IN (?, ?) AND i.indisvalid"""
_OWN: Final = "(m.layer = 'turn' OR m.source = 'manual')"
_MEMORY: Final = "memories m WHERE m.tenant_id = v.tenant_id AND m.seq = v.memory_seq"
_MOST_AT_ONCE: Final = 1000
"""The largest ``hnsw.ef_search`` that pgvector takes."""


@dataclass(frozen=True, slots=True)
class HnswIndex:
    """An HNSW index over the vectors of one signature; ``half`` when it holds them in 16 bits."""

    name: str
    half: bool
    rows: float

    @classmethod
    def of(cls, signature: str, *, half: bool, rows: float = 0) -> HnswIndex:
        """Return the index of a signature as it is called."""
        digest = hashlib.sha256(signature.encode()).hexdigest()[:16]
        return cls(f"vectors_hnsw{'16' if half else ''}_{digest}", half, rows)

    def column(self, dim: int) -> str:
        """Return the expression it is built over: the column itself holds vectors of every dimension."""
        return f"vector::{'halfvec' if self.half else 'vector'}({dim})"


@dataclass(frozen=True, slots=True)
class SearchReach:
    """How far a search in an index goes: candidates looked at together, and at most."""

    at_once: int
    most: int


class PostgresVectors(VectorsTable):
    """See ``memstone.ports.ledger.VectorRows``; ``size``, ``graphs`` and ``nearest`` are PostgreSQL's own."""

    _sql: PostgresSql

    async def put(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        rows = ((tenant_id, seq, signature, PgVector(one), words_of(one)) for seq, one in vectors)
        await self._sql.many(_PUT, rows)

    async def fill(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        params = ((signature, PgVector(one), words_of(one), tenant_id, seq) for seq, one in vectors)
        return sum([await self._sql.run(_FILL, each) for each in params])

    async def size(self, scope: Scope, most: int) -> int:
        """Return how many links a scope has; counting ends at ``most``."""
        linked = _link_conditions(scope)
        rows = f"SELECT 1 FROM links k WHERE k.tenant_id = ?{linked.text} LIMIT ?"
        row = await self._sql.one(f"SELECT count(*) FROM ({rows}) counted", (scope.tenant_id, *linked.params, most))
        return int(row[0]) if row else 0

    async def graph(self, signature: str) -> HnswIndex | None:
        """Return the index of a signature, if one is complete; the one that holds vectors as they are comes first."""
        kinds = [HnswIndex.of(signature, half=half) for half in (False, True)]
        built: dict[str, float] = dict(await self._sql.rows(_BUILT, tuple(kind.name for kind in kinds)))
        return next((HnswIndex(one.name, one.half, built[one.name]) for one in kinds if one.name in built), None)

    async def nearest(self, query: VectorQuery) -> list[DenseHit]:
        """Return the exact answer: every vector of the scope is compared.

        Of equal ones, what was written last comes first.
        """
        which = _exact_search_clause(query)
        near = (
            f"SELECT v.memory_seq, {_cosine_expression(query)} AS cosine, FALSE FROM vectors v{which.text} "
            "ORDER BY cosine DESC, v.memory_seq DESC LIMIT ?"
        )
        params = (*_query_vectors(query), *which.params, query.limit)
        return _to_dense_hits(query, await self._with_others(query, near, params))

    async def search_index(self, query: VectorQuery, graph: HnswIndex, reach: SearchReach) -> list[DenseHit] | None:
        """Return the answer by way of an index; None when it ran out of candidates and there may be others."""
        for name, value in _scan_settings(query, reach).items():
            await self._sql.say(name, value)
        arms = _query_arms(query)
        near = " UNION ALL ".join(
            f"(SELECT * FROM ({_arm_statement(query, graph, own=arm)}) a{at})" for at, arm in enumerate(arms)
        )
        params = [param for arm in arms for param in _arm_params(query, own=arm)]
        rows = await self._with_others(query, near, params)
        if sum(not extra for _, _, extra in rows) < query.limit * len(arms):
            return None
        return _to_dense_hits(query, rows)

    async def _with_others(self, query: VectorQuery, near: str, params: Sequence[Any]) -> list[Any]:
        """Return the rows of a search and those that ``also`` asks for, in one statement."""
        if not query.also:
            return await self._sql.rows(near, params)
        linked = _link_conditions(Scope(query.scope.tenant_id, query.scope.user_id))
        others = (
            f"SELECT v.memory_seq, {_cosine_expression(query)}, TRUE FROM vectors v "
            "WHERE v.tenant_id = ? AND v.signature = ? "
            "AND v.memory_seq = ANY (?::bigint[]) AND EXISTS (SELECT 1 FROM links k "
            f"WHERE k.tenant_id = v.tenant_id AND k.memory_seq = v.memory_seq{linked.text})"
        )
        more = (*_query_vectors(query), query.scope.tenant_id, query.signature, list(query.also), *linked.params)
        return await self._sql.rows(f"({near}) UNION ALL ({others})", (*params, *more))


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    params: tuple[Any, ...]


def _link_conditions(scope: Scope) -> _Piece:
    named = {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}
    values = {name: value for name, value in named.items() if value}
    return _Piece("".join(f" AND k.{name} = ?" for name in values), tuple(values.values()))


def _cosine_expression(query: VectorQuery) -> str:
    """Return the cosine; what is held in somebody's own words is compared with the question as spoken."""
    if query.spoken is None:
        return "-(v.vector <#> ?)"
    return f"-(v.vector <#> CASE WHEN (SELECT {_OWN} FROM {_MEMORY}) THEN ? ELSE ? END)"


def _query_vectors(query: VectorQuery) -> tuple[PgVector, ...]:
    return (
        (_to_pgvector(query.vector),)
        if query.spoken is None
        else (_to_pgvector(query.spoken), _to_pgvector(query.vector))
    )


def _to_pgvector(vector: Any) -> PgVector:
    return PgVector(np.ascontiguousarray(vector, dtype="<f4").tobytes())


def _exact_search_clause(query: VectorQuery) -> _Piece:
    """Return which vectors are compared: joined with the links, so that only those of the scope are read."""
    linked, tenant = _link_conditions(query.scope), query.scope.tenant_id
    text = (
        f" JOIN (SELECT DISTINCT k.memory_seq FROM links k WHERE k.tenant_id = ?{linked.text}) k "
        "ON k.memory_seq = v.memory_seq"
    )
    params: tuple[Any, ...] = (tenant, *linked.params)
    if query.layers:
        text += (
            " JOIN memories m ON m.tenant_id = v.tenant_id AND m.seq = v.memory_seq "
            f"AND m.layer IN ({placeholder_list(len(query.layers))})"
        )
        params = (*params, *query.layers)
    text, params = f"{text} WHERE v.tenant_id = ? AND v.signature = ?", (*params, tenant, query.signature)
    if query.among is None:
        return _Piece(text, params)
    return _Piece(f"{text} AND v.memory_seq = ANY (?::bigint[])", (*params, sorted(query.among)))


def _query_arms(query: VectorQuery) -> tuple[bool | None, ...]:
    """Return an index orders by one question: with two of them, it is asked twice, for own words and for all others."""
    return (None,) if query.spoken is None else (True, False)


def _arm_statement(query: VectorQuery, graph: HnswIndex, *, own: bool | None) -> str:
    """Return what an index is asked.

    The conditions are subqueries that the planner cannot turn into joins, so that rows are taken in the order of the
    index and looked at one by one.
    """
    linked = "SELECT TRUE FROM links k WHERE k.tenant_id = v.tenant_id AND k.memory_seq = v.memory_seq"
    column = f"v.{graph.column(_query_dimension(query))}"
    asked = "?::halfvec" if graph.half else "?"
    text = (
        "SELECT v.memory_seq, -(v.vector <#> ?) AS cosine, FALSE FROM vectors v "
        f"WHERE v.tenant_id = ? AND v.signature = {_quote_literal(query.signature)} "
        f"AND ({linked}{_link_conditions(query.scope).text} LIMIT 1)"
    )
    tests = [] if own is None else [_OWN if own else f"NOT {_OWN}"]
    if query.layers:
        tests.append(f"m.layer IN ({placeholder_list(len(query.layers))})")
    if tests:
        text += f" AND (SELECT {' AND '.join(tests)} FROM {_MEMORY})"
    if query.among is not None:
        text += " AND v.memory_seq = ANY (?::bigint[])"
    return f"{text} ORDER BY ({column}) <#> {asked} LIMIT ?"


def _arm_params(query: VectorQuery, *, own: bool | None) -> tuple[Any, ...]:
    vector = _to_pgvector(query.spoken if own else query.vector)
    among = () if query.among is None else (sorted(query.among),)
    linked = _link_conditions(query.scope).params
    return (vector, query.scope.tenant_id, *linked, *query.layers, *among, vector, _candidate_limit(query))


def _candidate_limit(query: VectorQuery) -> int:
    """Return how many candidates to read: some more than asked for.

    An index returns its rows only nearly in order.

    With a filter it is read in several rounds, and the rows are further out of order: more are taken.
    """
    if query.layers or query.among is not None:
        return query.limit + max(30, query.limit // 2)
    return query.limit + max(10, query.limit // 4)


def _scan_settings(query: VectorQuery, reach: SearchReach) -> dict[str, str]:
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(min(_MOST_AT_ONCE, max(reach.at_once, 2 * _candidate_limit(query)))),
        "hnsw.max_scan_tuples": str(reach.most),
        "enable_sort": "off",  # where it is on, the planner may prefer to compare everything
    }


def _to_dense_hits(query: VectorQuery, rows: Iterable[Any]) -> list[DenseHit]:
    """Return the hits best first, then those that only ``also`` asked for, each memory once."""
    found = [(int(seq), float(cosine), bool(extra)) for seq, cosine, extra in rows]
    near = sorted({one[:2] for one in found if not one[2]}, key=lambda one: (-one[1], -one[0]))[: query.limit]
    known = {seq for seq, _ in near}
    others = {seq: cosine for seq, cosine, extra in found if extra and seq not in known}
    return [DenseHit(*one) for one in near] + [DenseHit(*one, extra=True) for one in others.items()]


def _query_dimension(query: VectorQuery) -> int:
    return len(query.vector)


def _quote_literal(text: str) -> str:
    """Quote a text of our own in a statement.

    Only then can the planner tell that a partial index covers it.
    """
    return "'" + text.replace("'", "''") + "'"
