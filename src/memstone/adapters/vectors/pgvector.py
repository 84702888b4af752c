"""A vector store in PostgreSQL: one table for each collection, with pgvector.

``id``, ``vector``, ``payload`` and ``created_at``, in a schema of their own. The ledger may be anywhere: a file beside
it, or another database. Small collections are compared one by one; larger ones by an index, which filters while it
looks, and one by one again when it found too few.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

import numpy as np
import psycopg
from psycopg import sql
from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.io.aio import AsyncIo
from memstone.adapters.io.http import DOWN_HINT
from memstone.adapters.postgres.connection import PgVector, open_connection, setting_up
from memstone.adapters.postgres.pools import AsyncPool, BlockingPool, Options, Pool, PooledConnection
from memstone.adapters.postgres.statements import Statement, Wire, to_numbered_placeholders
from memstone.errors import (
    BackendError,
    BackendUnavailable,
    DimensionMismatch,
    InvalidFilter,
    InvalidInput,
    Unsupported,
    VectorStoreError,
)
from memstone.model.query import DATA, FIELDS, INT64, METADATA, UNSET_WHEN_EMPTY, And, Condition, Not, Op, Or, Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

# --- filters in SQL over a payload of JSON ----------------------------------------------------------------------------


_SIGNS: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_NEGATIONS: Final = {Op.NE: Op.EQ, Op.NIN: Op.IN}


@dataclass(frozen=True, slots=True)
class Test:
    """A piece of a statement with ``?`` for its bound values."""

    text: str
    params: tuple[Any, ...] = ()


def compile_filter(where: Where | None) -> Test:
    """Return a test of a row's ``payload`` that is true or false, never NULL."""
    if where is None:
        return Test("TRUE")
    if isinstance(where, Not):
        test = compile_filter(where.part)
        return Test(f"NOT ({test.text})", test.params)
    if isinstance(where, Condition):
        return _compile_condition(where)
    return _join_tests(
        "AND" if isinstance(where, And) else "OR", map(compile_filter, where.parts), empty=isinstance(where, And)
    )


def _join_tests(word: str, tests: Iterable[Test], *, empty: bool) -> Test:
    parts = list(tests)
    if not parts:
        return Test(str(empty))
    text = f" {word} ".join(f"({part.text})" for part in parts)
    return Test(text, tuple(param for part in parts for param in part.params))


def _compile_condition(condition: Condition) -> Test:
    field, op, value = condition.field, condition.op, condition.value
    if field not in FIELDS and not field.startswith((METADATA, DATA)):
        raise InvalidFilter(f"{field!r} is not a field")
    if op in _NEGATIONS:
        return compile_filter(Not(Condition(field, _NEGATIONS[op], value)))
    if op is Op.IN:
        return (
            compile_filter(Or(tuple(Condition(field, Op.EQ, each) for each in value if each is None)))
            if not value
            else (_equality_test(field, tuple(value)))
        )
    if op is Op.EXISTS:
        return _presence_test(field) if value else compile_filter(Not(Condition(field, Op.EXISTS, value=True)))
    if op is Op.EQ:
        return _equality_test(field, (value,))
    return _compile_operator(field, op, value)


def _presence_test(field: str) -> Test:
    empty = " AND payload -> ? <> '\"\"'" if field in UNSET_WHEN_EMPTY else ""
    text = f"coalesce(jsonb_typeof(payload -> ?) <> 'null'{empty}, FALSE)"
    return Test(text, (field, field) if empty else (field,))


def _equality_test(field: str, values: tuple[Any, ...]) -> Test:
    """Test that it equals one of the values: ``jsonb`` compares types and numbers as the reference evaluator does."""
    absent = [each for each in values if each is None]
    wanted = [_to_json(each) for each in values if each is not None and _is_comparable(field, each)]
    tests = [Test("coalesce(payload -> ? = ANY (?::jsonb[]), FALSE)", (field, wanted))] if wanted else []
    if absent:
        tests.append(compile_filter(Condition(field, Op.EXISTS, value=False)))
    return _join_tests("OR", tests, empty=False)


def _is_comparable(field: str, value: object) -> bool:
    return isinstance(value, (bool, int, float, str)) and not (field in UNSET_WHEN_EMPTY and value == "")


def _compile_operator(field: str, op: Op, value: Any) -> Test:
    if op in _SIGNS:
        return _comparison_test(field, _SIGNS[op], value)
    if op is not Op.CONTAINS:
        raise Unsupported(
            f"a pgvector store does not support {op}", hint="use contains, or filter by a field of the memory"
        )
    members = (
        "CASE jsonb_typeof(payload -> ?) WHEN 'array' THEN payload -> ? @> ?::jsonb",
        (field, field, _to_json(value)),
    )
    if not isinstance(value, str):
        return Test(f"coalesce({members[0]} END, FALSE)", members[1])
    text = f"coalesce({members[0]} WHEN 'string' THEN strpos(payload ->> ?, ?) > 0 END, FALSE)"
    return Test(text, (*members[1], field, value))


def _comparison_test(field: str, sign: str, value: Any) -> Test:
    """Compare within CASE, which keeps the conversion from being tried on anything but a number."""
    if isinstance(value, str):
        unset = "nullif(payload ->> ?, '')" if field in UNSET_WHEN_EMPTY else "payload ->> ?"
        text = f"CASE jsonb_typeof(payload -> ?) WHEN 'string' THEN ({unset}) COLLATE \"C\" {sign} ? END"
        return Test(f"coalesce({text}, FALSE)", (field, field, value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Test("FALSE")
    text = f"CASE jsonb_typeof(payload -> ?) WHEN 'number' THEN (payload ->> ?)::numeric {sign} ? END"
    return Test(f"coalesce({text}, FALSE)", (field, field, Decimal(repr(_to_comparable_number(value)))))


def _to_comparable_number(value: float) -> int | float:
    """Return a whole number beyond 64 bits as a float."""
    return float(value) if isinstance(value, int) and value not in INT64 else value


def _to_json(value: object) -> str:
    return json.dumps(_to_comparable_number(value) if isinstance(value, int) and not isinstance(value, bool) else value)


# --- a vector store in PostgreSQL -------------------------------------------------------------------------------------


_LONGEST_NAME: Final = 63
_MOST_INDEXED: Final = 2000
_DIMENSION: Final = """
SELECT a.atttypmod, c.reltuples::float8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'vector'
WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'r'"""
_THERE: Final = """
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector'), to_regnamespace(%s) IS NOT NULL"""
_TABLES: Final = """
SELECT c.relname::text, a.atttypmod FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'vector'
WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname"""


_SCHEMA: Final = "memstone_vectors"
_FORMER_SCHEMA: Final = "retain_vectors"
"""What the schema was called by default before the product got its name; it is renamed when it is first met."""


class PgVectorConfig(BaseModel):
    """``url`` of the database and the schema in it; ``index`` is made with a collection.

    Collections of at most ``exact_rows`` points are compared one by one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(repr=False)
    schema_name: str = Field(default=_SCHEMA, min_length=1)
    index: Literal["hnsw", "ivfflat", "none"] = "hnsw"
    exact_rows: int = Field(default=20_000, ge=0)
    ef_search: int = Field(default=200, ge=1, le=1000)
    pool_size: int = Field(default=4, ge=1)


class PgVectorStore:
    """See ``memstone.ports.index.VectorStore``."""

    Config = PgVectorConfig
    in_process = False
    capabilities = StoreCapabilities(operators=frozenset(Op) - {Op.ICONTAINS}, exact=False)

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the database of the environment, where they name none."""
        named = options.get("url") is not None or not env.get("DATABASE_URL")
        return dict(options) if named else {**options, "url": env["DATABASE_URL"]}

    def __init__(self, config: PgVectorConfig, io: Io) -> None:
        self._config, self._io = config, io
        self._pool: Pool | None = None
        self._guard = ForkSafeLock()
        self._path = ""

    async def check_health(self) -> None:
        async with self._unit() as wire:
            await wire.fetch("SELECT 1", ())

    async def create(self, collection: str, dimension: int) -> None:
        """Make a table, and with it the index."""
        if dimension < 1:
            raise DimensionMismatch(f"collection {collection!r} cannot have {dimension} dimensions")
        async with self._unit() as wire:
            await wire.fetch("SELECT pg_advisory_xact_lock(hashtext($1))", (self._config.schema_name,))
            known = await self._read_collection(wire, collection)
            if known is None:
                await self._make(wire, collection, dimension)
            elif known[0] != dimension:
                raise DimensionMismatch(
                    f"collection {collection!r} cannot have {dimension} dimensions, it has {known[0]}",
                    hint="use another name, or drop it",
                )

    async def drop(self, collection: str) -> None:
        async with self._unit() as wire:
            await wire.change(f"DROP TABLE IF EXISTS {self._table(collection)}", ())

    async def collections(self) -> list[CollectionInfo]:
        async with self._unit() as wire:
            tables = await wire.fetch(_TABLES, (self._config.schema_name,))
            return [
                CollectionInfo(name, await _count_rows(wire, self._table(name)), dimension)
                for name, dimension in tables
            ]

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        """Write all of them or, when one vector is wrong, none; of those with the same id the last one."""
        items = list(points)
        async with self._unit() as wire:
            dimension, _ = await self._there(wire, collection)
            rows = {
                one.id: (one.id, self._unit_vector(collection, one.vector, dimension), _payload_json(one))
                for one in items
            }
            statement = (
                f"INSERT INTO {self._table(collection)} (id, vector, payload) VALUES ($1, $2, $3::jsonb) "
                "ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, payload = excluded.payload"
            )
            if rows:
                await wire.send(statement, list(rows.values()))

    async def patch(self, collection: str, point_id: str, payload: dict[str, Any]) -> bool:
        async with self._unit() as wire:
            await self._there(wire, collection)
            statement = f"UPDATE {self._table(collection)} SET payload = $1::jsonb WHERE id = $2"
            return await wire.change(statement, (json.dumps(payload), point_id)) > 0

    async def delete(self, collection: str, ids: Iterable[str]) -> None:
        async with self._unit() as wire:
            await self._there(wire, collection)
            await wire.change(f"DELETE FROM {self._table(collection)} WHERE id = ANY ($1::text[])", (list(ids),))

    async def get(self, collection: str, point_id: str) -> Point | None:
        async with self._unit() as wire:
            await self._there(wire, collection)
            statement = f"SELECT id, vector, payload FROM {self._table(collection)} WHERE id = $1"
            rows = await wire.fetch(statement, (point_id,))
        return _point_from_row(*rows[0]) if rows else None

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        """Search by the index where there is much to compare, and one by one where that found too few."""
        test = compile_filter(where)
        async with self._unit() as wire:
            dimension, size = await self._there(wire, collection)
            asked = self._unit_vector(collection, vector, dimension)
            rows: list[Any] = []
            if self._config.index != "none" and size > self._config.exact_rows:
                rows = await self._nearest(wire, collection, asked, limit, test)
            if len(rows) < limit:
                await wire.change("SET LOCAL enable_indexscan = off", ())
                rows = await self._nearest(wire, collection, asked, limit, test)
        return [PointHit(point_id, _similarity_score(distance), payload) for point_id, distance, payload in rows]

    async def scan(self, collection: str, where: Where | None = None, limit: int = 100) -> list[Point]:
        test = compile_filter(where)
        async with self._unit() as wire:
            await self._there(wire, collection)
            statement = (
                f"SELECT id, vector, payload FROM {self._table(collection)} WHERE {test.text} "
                'ORDER BY id COLLATE "C" LIMIT ?'
            )
            rows = await wire.fetch(to_numbered_placeholders(statement), (*test.params, max(0, limit)))
        return [_point_from_row(*row) for row in rows]

    async def reset(self) -> None:
        async with self._unit() as wire:
            for name, _ in await wire.fetch(_TABLES, (self._config.schema_name,)):
                await wire.change(f"DROP TABLE IF EXISTS {self._table(name)}", ())

    async def close(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            await self._pool.close()

    # --- statements ---------------------------------------------------------------------------------------------------

    async def _make(self, wire: Wire, collection: str, dimension: int) -> None:
        table = self._table(collection)
        columns = (
            f'id TEXT COLLATE "C" PRIMARY KEY, vector VECTOR({dimension}) NOT NULL, payload JSONB NOT NULL, '
            "created_at TIMESTAMPTZ NOT NULL DEFAULT now()"
        )
        await wire.change(f"CREATE TABLE {table} ({columns})", ())
        if self._config.index != "none" and dimension <= _MOST_INDEXED:
            await wire.change(f"CREATE INDEX ON {table} USING {self._config.index} (vector vector_cosine_ops)", ())

    async def _nearest(self, wire: Wire, collection: str, asked: PgVector, limit: int, test: Test) -> list[Any]:
        statement = (
            f"SELECT id, vector <=> ?, payload FROM {self._table(collection)} WHERE {test.text} "
            "ORDER BY vector <=> ? LIMIT ?"
        )
        return await wire.fetch(to_numbered_placeholders(statement), (asked, *test.params, asked, max(0, limit)))

    async def _read_collection(self, wire: Wire, collection: str) -> tuple[int, float] | None:
        rows = await wire.fetch(_DIMENSION, (self._config.schema_name, collection))
        return (int(rows[0][0]), float(rows[0][1])) if rows else None

    async def _there(self, wire: Wire, collection: str) -> tuple[int, float]:
        known = await self._read_collection(wire, collection)
        if known is None:
            raise self._store_error(f"the collection {collection!r} does not exist", "create it first")
        return known

    def _table(self, collection: str) -> str:
        if len(collection.encode()) > _LONGEST_NAME or "\0" in collection or not collection:
            raise InvalidInput(f"{collection!r} is not a valid table name", hint="at most 63 bytes")
        return sql.Identifier(self._config.schema_name, collection).as_string()

    def _unit_vector(self, collection: str, vector: Sequence[float], dimension: int) -> PgVector:
        """Return the vector with length one; a zero vector stays zero."""
        try:
            row = np.asarray(vector, dtype=np.float64)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (dimension,) or not np.isfinite(row).all():
            raise DimensionMismatch(
                f"collection {collection!r} takes vectors of {dimension} finite numbers",
                hint="use the embedder that the collection was created for",
            )
        row = row / (np.abs(row).max() or 1.0)  # first to a size whose square is neither 0 nor infinite
        return PgVector((row / (np.linalg.norm(row) or 1.0)).astype("<f4").tobytes())

    # --- connections --------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _unit(self) -> AsyncIterator[Wire]:
        """Run one transaction; whatever goes wrong leaves nothing behind."""
        try:
            pool = self._pool if self._pool is not None else await self._io.run(self._open_pool)
            lent = await self._begin_transaction(pool)
            try:
                yield lent.wire
                await lent.wire.commit()
            finally:
                await lent.wire.abandon()
                await pool.give(lent)
        except psycopg.Error as error:
            raise self._translate_error(error) from error

    def _translate_error(self, error: psycopg.Error) -> BackendError:
        """Return the typed error; without its detail, which may quote what somebody stored."""
        text = error.diag.message_primary
        if text is None and isinstance(error, psycopg.ProgrammingError):
            return self._store_error(
                "the url of vector_store is no address of PostgreSQL", "postgresql://host/database"
            )
        if text is None and isinstance(error, psycopg.OperationalError):  # there is no connection to say more
            text = str(error).strip().partition("\n")[0]
            return BackendUnavailable(f"PostgreSQL: {text}", kind="vectors", name="pgvector", hint=DOWN_HINT)
        return self._store_error(text or type(error).__name__, "check that the database exists and has pgvector 0.8")

    async def _begin_transaction(self, pool: Pool) -> PooledConnection:
        """Return a connection that has answered; those that were lost while nobody used them are left."""
        for last in [False] * self._config.pool_size + [True]:
            lent = await pool.take()
            try:
                await lent.wire.begin(self._begin_statements())
                await lent.wire.read_last_row()
            except psycopg.Error:
                lost = lent.wire.is_lost
                await lent.wire.abandon()
                await pool.give(lent)
                if last or not lost:
                    raise
            else:
                return lent
        raise AssertionError  # the last one returns or raises

    def _begin_statements(self) -> list[Statement]:
        settings = {
            "search_path": self._path,
            "hnsw.iterative_scan": "strict_order",
            "hnsw.ef_search": str(self._config.ef_search),
            "ivfflat.iterative_scan": "relaxed_order",
        }
        text = ", ".join(f"set_config('{name}', ${at}, true)" for at, name in enumerate(settings, start=1))
        return [("BEGIN", ()), (f"SELECT {text}", tuple(settings.values()))]

    def _open_pool(self) -> Pool:
        with open_connection(self._config.url) as connection:
            schema = sql.Identifier(self._config.schema_name)
            extension, folder = connection.execute(_THERE, (schema.as_string(),)).fetchone() or (False, False)
            if not (extension and folder):
                with setting_up(connection):
                    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                    if not folder and not self._rename_former_schema(connection):
                        # even to find it there takes the right to make one
                        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            row = connection.execute(
                "SELECT t.oid, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
                "JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'vector' WHERE e.extname = 'vector'"
            ).fetchone()
        oid, where = row or (0, "public")
        self._path = f"pg_catalog, {sql.Identifier(where).as_string()}, pg_temp"
        options = Options(self._config.url, self._config.pool_size, 30.0, oid)
        with self._guard:  # of those who open it at the same moment, the first
            if self._pool is None:
                self._pool = AsyncPool(options) if isinstance(self._io, AsyncIo) else BlockingPool(options)
            return self._pool

    def _rename_former_schema(self, connection: psycopg.Connection[Any]) -> bool:
        """Rename the default schema of the former name; tells whether there was one."""
        found = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (_FORMER_SCHEMA,)).fetchone()
        if self._config.schema_name != _SCHEMA or found != (True,):
            return False
        connection.execute(f"ALTER SCHEMA {_FORMER_SCHEMA} RENAME TO {_SCHEMA}")
        return True

    def _store_error(self, message: str, hint: str) -> VectorStoreError:
        return VectorStoreError(message, kind="vectors", name="pgvector", hint=hint)


async def _count_rows(wire: Wire, table: str) -> int:
    return int((await wire.fetch(f"SELECT count(*) FROM {table}", ()))[0][0])


def _payload_json(point: Point) -> str:
    return json.dumps(point.payload)


def _point_from_row(point_id: str, vector: bytes, payload: dict[str, Any]) -> Point:
    return Point(point_id, np.frombuffer(vector, "<f4").tolist(), payload)


def _similarity_score(distance: float) -> float:
    """Return 1 - distance, within [0, 1]; the distance to a zero vector is no number."""
    return min(1.0, max(0.0, 1.0 - distance)) if distance == distance else 0.0  # noqa: PLR0124 - NaN differs from itself
