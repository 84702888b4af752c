"""Nearest neighbours for a ledger in PostgreSQL.

Those of a user with few memories are held in this process, as over a file. Of a user with many, nothing is held when
an HNSW index was built (``memstone migrate --index-vectors``): the database looks for them. What a filter left over, if
it is little, is compared there one by one. Row-level security binds whichever it is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import psycopg
from psycopg import sql
from pydantic import Field

from memstone.adapters.postgres.connection import open_connection
from memstone.adapters.postgres.vectors import HnswIndex, PostgresVectors, SearchReach
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.errors import StorageBusy, StorageError
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx

# --- nearest neighbours where the ledger is in PostgreSQL -------------------------------------------------------------


_ASK_AGAIN: Final = 256
"""After so many searches it is looked again how much there is, and whether there is an index."""

_COUNTED: Final = 300_000
"""How far is counted; beyond, more makes no difference."""

_BYTES: Final = 5
"""What a number of a vector takes in this process: four, and room to grow."""

_REMEMBERED: Final = 10_000
_Key: TypeAlias = tuple[str, str, str, str, str]


class PgConfig(LocalVectorsConfig):
    """``in_process_rows``: the vectors of users with at most so many memories are held in this process.

    Beyond, an HNSW index is asked if there is one: ``ef_search`` candidates at a time, ``max_scan_tuples`` at most.
    What a filter chose is compared one by one up to ``exact_rows``. Without an index, what fits into half of
    ``memory_mb`` is held all the same: nothing else is as quick.
    """

    in_process_rows: int = Field(default=20_000, ge=0)
    exact_rows: int = Field(default=2_000, ge=0)
    ef_search: int = Field(default=200, ge=1, le=1000)
    max_scan_tuples: int = Field(default=20_000, ge=1, le=2**31 - 1)  # as far as pgvector counts


@dataclass(slots=True)
class _ScopeState:
    """What is known of a scope: how many links it has, the index, and for how many searches that is good."""

    rows: int
    graph: HnswIndex | None
    left: int = _ASK_AGAIN


class PgVectors:
    """See ``memstone.ports.index.VectorIndex``."""

    Config = PgConfig
    in_process = False
    is_embedded = True

    def __init__(self, config: PgConfig, io: Io, ledger: Ledger) -> None:
        self._ledger, self._config = ledger, config
        self._local = LocalVectors(config, io, ledger)
        self._known: OrderedDict[_Key, _ScopeState] = OrderedDict()

    @property
    def quant(self) -> str:
        """How the vectors that are held in this process are rounded."""
        return self._local.quant

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Return the nearest of a scope, from here or from the database."""
        known = await self._get_scope_info(query)
        if known.rows <= self._config.in_process_rows:
            return await self._local.search(query)
        ledger = self._ledger.of(query.scope.tenant_id)
        if query.among is None or len(query.among) > self._config.exact_rows:
            found = await self._search_index(ledger, query, known)
            if found is not None:
                return found
            if known.graph is None and self._fits(query, known):
                return await self._local.search(query)
        return await ledger.peek(lambda tx: _postgres_vectors(tx).nearest(query))

    async def _search_index(self, ledger: Ledger, query: VectorQuery, known: _ScopeState) -> list[DenseHit] | None:
        graph, reach = known.graph, SearchReach(self._config.ef_search, self._config.max_scan_tuples)
        if graph is None or not self._pays(query, known, graph):
            return None
        return await ledger.peek(lambda tx: _postgres_vectors(tx).search_index(query, graph, reach))

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        for key in [key for key in self._known if key[0] == tenant_id]:
            self._known.pop(key, None)
        await self._local.forget(tenant_id)

    def _pays(self, query: VectorQuery, known: _ScopeState, graph: HnswIndex) -> bool:
        """Return whether enough of the candidates that an index looks at can be expected to be of the scope."""
        rows = known.rows if query.among is None else min(known.rows, len(query.among))
        return query.limit * max(graph.rows, known.rows) <= rows * self._config.max_scan_tuples / 2

    def _fits(self, query: VectorQuery, known: _ScopeState) -> bool:
        """Return whether all of it can be held in this process beside that of others."""
        return bool(query.scope.user_id) and known.rows * len(query.vector) * _BYTES <= self._config.memory_mb * 500_000

    async def _get_scope_info(self, query: VectorQuery) -> _ScopeState:
        scope = query.scope
        # What is held in this process is held of a user, whichever agent and run are asked for.
        counted = Scope(scope.tenant_id, scope.user_id) if scope.user_id else scope
        key = _cache_key(counted, query.signature)
        known = self._known.get(key)
        if known is not None and known.left > 0:
            known.left -= 1
            return known
        found = await self._ledger.of(scope.tenant_id).read(lambda tx: self._look(tx, counted, query.signature))
        self._known[key] = found
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _look(self, tx: Tx, scope: Scope, signature: str) -> _ScopeState:
        rows = await _postgres_vectors(tx).size(scope, max(self._config.in_process_rows + 1, _COUNTED))
        if rows <= self._config.in_process_rows:
            return _ScopeState(rows, None)
        return _ScopeState(rows, await _postgres_vectors(tx).graph(signature))


def _cache_key(scope: Scope, signature: str) -> _Key:
    return scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id, signature


def _postgres_vectors(tx: Tx) -> PostgresVectors:
    return cast("PostgresVectors", tx.vectors)


# --- hNSW indexes over the vectors of the ledger, one for each vector space -------------------------------------------


Progress: TypeAlias = Callable[[int, int], None]

_LOCK: Final = 0x52544E32  # "RTN2"
_MOST: Final = {False: 2000, True: 4000}
"""How many dimensions an index takes, in 32 and in 16 bits."""

_SPACES: Final = "SELECT DISTINCT signature, dim FROM memstone.indexes WHERE state <> 'stale' ORDER BY signature"
_STATE: Final = """
SELECT i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'memstone'::regnamespace AND c.relname = %s"""
_DONE: Final = """
SELECT p.tuples_done, greatest(c.reltuples, p.tuples_done)::bigint
FROM pg_stat_progress_create_index p JOIN pg_class c ON c.oid = p.relid WHERE p.pid = %s"""


@dataclass(frozen=True, slots=True)
class Build:
    """How an index is built: in 16 bits or 32, with how many neighbours for a vector, chosen from how many."""

    half: bool = False
    m: int = 16
    ef_construction: int = 128


def build_indexes(
    url: str, tenants: Iterable[str], how: Build, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Build the missing indexes for the vector spaces of these tenants.

    A role above row-level security sees those of all tenants.

    Gives what there is now: signature, dimension, name, and whether it was built just now.
    """
    with open_connection(url) as connection:
        # Not waited for: the build waits for everybody who looks at the tables, and so for whoever waits for it.
        if connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
            raise StorageBusy("an index is already being built", hint="wait until it is finished")
        connection.execute("SET statement_timeout = 0")  # however many vectors there are
        return [
            _build_space_index(url, connection, *space, how, progress)
            for space in _read_vector_spaces(connection, tenants)
        ]


def _read_vector_spaces(connection: psycopg.Connection[Any], tenants: Iterable[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for tenant in tenants:
        connection.execute("SELECT set_config('memstone.tenant', %s, false)", (tenant,))
        found |= {str(signature): int(dim) for signature, dim in connection.execute(_SPACES).fetchall()}
    return sorted(found.items())


def _build_space_index(
    url: str, connection: psycopg.Connection[Any], signature: str, dim: int, how: Build, progress: Progress | None
) -> dict[str, Any]:
    half = how.half or dim > _MOST[False]
    if dim > _MOST[half]:
        raise StorageError(f"pgvector indexes vectors of at most {_MOST[True]} dimensions, not {dim}")
    graph = HnswIndex.of(signature, half=half)
    row = connection.execute(_STATE, (graph.name,)).fetchone()
    answer = {"signature": signature, "dim": dim, "name": graph.name, "halfvec": half}
    if row == (True,):
        return {**answer, "built": False}
    if row is not None:  # a build that broke off leaves an index that nobody uses and everybody fills
        connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier("memstone", graph.name)))
    try:
        with _watch_build(url, connection.info.backend_pid, progress):
            connection.execute(_create_index_statement(connection, graph, signature, dim, how))
    except psycopg.errors.InsufficientPrivilege as error:
        raise StorageError(
            f"{graph.name}: {error.diag.message_primary}", hint="connect as the role that owns the tables"
        ) from error
    return {**answer, "built": True}


def _create_index_statement(
    connection: psycopg.Connection[Any], graph: HnswIndex, signature: str, dim: int, how: Build
) -> sql.Composed:
    connection.execute(
        "SELECT set_config('search_path', 'pg_catalog, memstone, ' || quote_ident(n.nspname), false) "
        "FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    kind = "halfvec" if graph.half else "vector"
    return sql.SQL(
        "CREATE INDEX CONCURRENTLY {name} ON memstone.vectors USING hnsw ((vector::{kind}({dim})) {operators}) "
        "WITH (m = {m}, ef_construction = {ef}) WHERE signature = {signature}"
    ).format(
        name=sql.Identifier(graph.name),
        kind=sql.SQL(kind),
        dim=sql.Literal(dim),
        operators=sql.SQL(f"{kind}_ip_ops"),
        m=sql.Literal(how.m),
        ef=sql.Literal(how.ef_construction),
        signature=sql.Literal(signature),
    )


class _watch_build:  # noqa: N801 - reads as what it does
    """Tell how far a build is, as the server counts, while another connection waits for it."""

    def __init__(self, url: str, pid: int, progress: Progress | None) -> None:
        self._url, self._pid, self._progress = url, pid, progress
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        if self._progress is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._progress is not None:
            self._thread.join()

    def _watch(self) -> None:
        assert self._progress is not None  # noqa: S101 - otherwise nobody watches
        try:
            with open_connection(self._url) as connection:
                while not self._over.wait(0.5):
                    row = connection.execute(_DONE, (self._pid,)).fetchone()
                    if row is not None and row[1]:
                        self._progress(int(row[0]), int(row[1]))
        except psycopg.Error:
            return  # how far it is matters less than that it goes on
