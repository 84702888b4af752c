"""HNSW indexes over the vectors of the ledger, one for each vector space.

They are built by whoever owns the tables, on purpose and beside everything else (``CONCURRENTLY``): never by a search.
One that broke off is built again. Rows of all tenants stand in one index; row-level security is asked for every row
that comes out of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import sql

from memstone.adapters.ledger.postgres_connect import connected
from memstone.adapters.ledger.postgres_vectors import Graph
from memstone.errors import StorageBusy, StorageError

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


def build(url: str, tenants: Iterable[str], how: Build, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Build what is missing for the vector spaces of these tenants; a role above row-level security sees all tenants'.

    Gives what there is now: signature, dimension, name, and whether it was built just now.
    """
    with connected(url) as connection:
        # Not waited for: the build waits for everybody who looks at the tables, and so for whoever waits for it.
        if connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
            raise StorageBusy("an index is being built already", hint="wait until it is complete")
        connection.execute("SET statement_timeout = 0")  # however many vectors there are
        return [_space(url, connection, *space, how, progress) for space in _spaces(connection, tenants)]


def _spaces(connection: psycopg.Connection[Any], tenants: Iterable[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for tenant in tenants:
        connection.execute("SELECT set_config('memstone.tenant', %s, false)", (tenant,))
        found |= {str(signature): int(dim) for signature, dim in connection.execute(_SPACES).fetchall()}
    return sorted(found.items())


def _space(
    url: str, connection: psycopg.Connection[Any], signature: str, dim: int, how: Build, progress: Progress | None
) -> dict[str, Any]:
    half = how.half or dim > _MOST[False]
    if dim > _MOST[half]:
        raise StorageError(f"pgvector indexes vectors of at most {_MOST[True]} dimensions, not {dim}")
    graph = Graph.of(signature, half=half)
    row = connection.execute(_STATE, (graph.name,)).fetchone()
    told = {"signature": signature, "dim": dim, "name": graph.name, "halfvec": half}
    if row == (True,):
        return {**told, "built": False}
    if row is not None:  # a build that broke off leaves an index that nobody uses and everybody fills
        connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier("memstone", graph.name)))
    try:
        with _watched(url, connection.info.backend_pid, progress):
            connection.execute(_statement(connection, graph, signature, dim, how))
    except psycopg.errors.InsufficientPrivilege as error:
        raise StorageError(
            f"{graph.name}: {error.diag.message_primary}", hint="connect as the role that owns the tables"
        ) from error
    return {**told, "built": True}


def _statement(connection: psycopg.Connection[Any], graph: Graph, signature: str, dim: int, how: Build) -> sql.Composed:
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


class _watched:  # noqa: N801 - reads as what it does
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
            with connected(self._url) as connection:
                while not self._over.wait(0.5):
                    row = connection.execute(_DONE, (self._pid,)).fetchone()
                    if row is not None and row[1]:
                        self._progress(int(row[0]), int(row[1]))
        except psycopg.Error:
            return  # how far it is matters less than that it goes on
