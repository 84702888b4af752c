"""Nearest neighbours where the ledger is in PostgreSQL.

Those of a user with few memories are held in this process, as over a file. Of a user with many, nothing is held: the
database compares, all of the user's vectors one by one, or by way of an HNSW index when there are many more and one was
built (``retain migrate --index-vectors``). Row-level security binds whichever it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from pydantic import Field

from retain.adapters.ledger.postgres_vectors import Graph, PostgresVectors, Reach
from retain.adapters.vectors.local import LocalConfig, LocalVectors
from retain.model.query import VectorQuery
from retain.model.scope import Scope
from retain.ports.index import DenseHit
from retain.ports.io import Io
from retain.ports.ledger import Ledger, Tx

_ASK_AGAIN: Final = 256
"""After so many searches it is looked again how much there is, and whether there is an index."""

_TIMES: Final = 10
"""So many times the larger limit is counted; beyond, more makes no difference."""

_REMEMBERED: Final = 10_000
_Key: TypeAlias = tuple[str, str, str, str, str]


class PgConfig(LocalConfig):
    """``in_process_rows``: the vectors of users with at most so many memories are held in this process.

    ``exact_rows``: up to so many the database compares one by one; beyond, it asks an HNSW index if there is one.
    ``ef_search`` and ``max_scan_tuples`` are how far that goes: candidates at a time, and at most.
    """

    in_process_rows: int = Field(default=20_000, ge=0)
    exact_rows: int = Field(default=30_000, ge=0)
    ef_search: int = Field(default=200, ge=1, le=1000)
    max_scan_tuples: int = Field(default=20_000, ge=1)


@dataclass(slots=True)
class _Known:
    """What is known of a scope: how many links it has, the index, and for how many searches that is good."""

    rows: int
    graph: Graph | None
    left: int = _ASK_AGAIN


class PgVectors:
    """See ``retain.ports.index.VectorIndex``."""

    Config = PgConfig
    in_process = False

    def __init__(self, config: PgConfig, io: Io, ledger: Ledger) -> None:
        self._ledger, self._config = ledger, config
        self._local = LocalVectors(config, io, ledger)
        self._known: OrderedDict[_Key, _Known] = OrderedDict()

    @property
    def quant(self) -> str:
        """How the vectors that are held in this process are rounded."""
        return self._local.quant

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """The nearest of a scope, from here or from the database."""
        known = await self._looked(query)
        if known.rows <= self._config.in_process_rows:
            return await self._local.search(query)
        ledger = self._ledger.of(query.scope.tenant_id)
        graph = known.graph
        if graph is not None and self._pays(query, known, graph):
            reach = Reach(self._config.ef_search, self._config.max_scan_tuples)
            found = await ledger.peek(lambda tx: _vectors(tx).proposed(query, graph, reach))
            if found is not None:
                return found
        return await ledger.peek(lambda tx: _vectors(tx).nearest(query))

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        for key in [key for key in self._known if key[0] == tenant_id]:
            self._known.pop(key, None)
        await self._local.forget(tenant_id)

    def _pays(self, query: VectorQuery, known: _Known, graph: Graph) -> bool:
        """Whether an index has enough candidates of the scope among those it looks at, and there are enough to gain."""
        rows = known.rows if query.among is None else min(known.rows, len(query.among))
        if rows <= self._config.exact_rows:
            return False
        return query.limit * max(graph.rows, known.rows) <= rows * self._config.max_scan_tuples / 2

    async def _looked(self, query: VectorQuery) -> _Known:
        scope = query.scope
        # What is held in this process is held of a user, whichever agent and run are asked for.
        counted = Scope(scope.tenant_id, scope.user_id) if scope.user_id else scope
        key = _key(counted, query.signature)
        known = self._known.get(key)
        if known is not None and known.left > 0:
            known.left -= 1
            return known
        found = await self._ledger.of(scope.tenant_id).read(lambda tx: self._look(tx, counted, query.signature))
        self._known[key] = found
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _look(self, tx: Tx, scope: Scope, signature: str) -> _Known:
        most = max(self._config.in_process_rows, self._config.exact_rows) * _TIMES + 1
        rows = await _vectors(tx).size(scope, most)
        if rows <= self._config.in_process_rows:
            return _Known(rows, None)
        return _Known(rows, await _vectors(tx).graph(signature))


def _key(scope: Scope, signature: str) -> _Key:
    return scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id, signature


def _vectors(tx: Tx) -> PostgresVectors:
    return cast("PostgresVectors", tx.vectors)
