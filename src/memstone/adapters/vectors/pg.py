"""Nearest neighbours where the ledger is in PostgreSQL.

Those of a user with few memories are held in this process, as over a file. Of a user with many, nothing is held when
an HNSW index was built (``memstone migrate --index-vectors``): the database looks for them. What a filter left over, if
it is little, is compared there one by one. Row-level security binds whichever it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from pydantic import Field

from memstone.adapters.ledger.postgres_vectors import Graph, PostgresVectors, Reach
from memstone.adapters.vectors.local import LocalConfig, LocalVectors
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx

_ASK_AGAIN: Final = 256
"""After so many searches it is looked again how much there is, and whether there is an index."""

_COUNTED: Final = 300_000
"""How far is counted; beyond, more makes no difference."""

_BYTES: Final = 5
"""What a number of a vector takes in this process: four, and room to grow."""

_REMEMBERED: Final = 10_000
_Key: TypeAlias = tuple[str, str, str, str, str]


class PgConfig(LocalConfig):
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
class _Known:
    """What is known of a scope: how many links it has, the index, and for how many searches that is good."""

    rows: int
    graph: Graph | None
    left: int = _ASK_AGAIN


class PgVectors:
    """See ``memstone.ports.index.VectorIndex``."""

    Config = PgConfig
    in_process = False
    embedded = True

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
        if query.among is None or len(query.among) > self._config.exact_rows:
            found = await self._proposed(ledger, query, known)
            if found is not None:
                return found
            if known.graph is None and self._fits(query, known):
                return await self._local.search(query)
        return await ledger.peek(lambda tx: _vectors(tx).nearest(query))

    async def _proposed(self, ledger: Ledger, query: VectorQuery, known: _Known) -> list[DenseHit] | None:
        graph, reach = known.graph, Reach(self._config.ef_search, self._config.max_scan_tuples)
        if graph is None or not self._pays(query, known, graph):
            return None
        return await ledger.peek(lambda tx: _vectors(tx).proposed(query, graph, reach))

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        for key in [key for key in self._known if key[0] == tenant_id]:
            self._known.pop(key, None)
        await self._local.forget(tenant_id)

    def _pays(self, query: VectorQuery, known: _Known, graph: Graph) -> bool:
        """Whether enough of the candidates that an index looks at can be expected to be of the scope."""
        rows = known.rows if query.among is None else min(known.rows, len(query.among))
        return query.limit * max(graph.rows, known.rows) <= rows * self._config.max_scan_tuples / 2

    def _fits(self, query: VectorQuery, known: _Known) -> bool:
        """Whether all of it can be held in this process beside that of others."""
        return bool(query.scope.user_id) and known.rows * len(query.vector) * _BYTES <= self._config.memory_mb * 500_000

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
        rows = await _vectors(tx).size(scope, max(self._config.in_process_rows + 1, _COUNTED))
        if rows <= self._config.in_process_rows:
            return _Known(rows, None)
        return _Known(rows, await _vectors(tx).graph(signature))


def _key(scope: Scope, signature: str) -> _Key:
    return scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id, signature


def _vectors(tx: Tx) -> PostgresVectors:
    return cast("PostgresVectors", tx.vectors)
