"""Nearest neighbours through the product, through the same SQL by itself and through the peer, in turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg

from benchmarks.postgres.corpus import LARGE, TENANT, Corpus, know_vectors, stored
from benchmarks.postgres.peer import Peer
from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.postgres.ledger import PostgresConfig, PostgresLedger
from memstone.adapters.postgres.vectors import HnswIndex
from memstone.adapters.vectors.postgres import PgConfig, PgVectors
from memstone.drive import drive
from memstone.literals import LayerName
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope

LIMIT: Final = 10
_LINKED: Final = """
SELECT v.memory_seq, -(v.vector <#> %(asked)s) AS cosine FROM memstone.vectors v
JOIN memstone.links k ON k.tenant_id = v.tenant_id AND k.memory_seq = v.memory_seq
WHERE k.tenant_id = %(tenant)s AND k.user_id = %(user)s AND v.signature = %(signature)s{filter}
ORDER BY cosine DESC LIMIT %(limit)s"""
_GRAPH: Final = """
SELECT v.memory_seq, -(v.vector <#> %(asked)s) FROM memstone.vectors v
WHERE v.tenant_id = %(tenant)s AND v.signature = '{signature}' AND EXISTS (
    SELECT 1 FROM memstone.links k
    WHERE k.tenant_id = v.tenant_id AND k.memory_seq = v.memory_seq AND k.user_id = %(user)s){filter}
ORDER BY (v.{column}) <#> %(asked)s{half} LIMIT %(limit)s"""
_LAYER: Final = """
 AND EXISTS (SELECT 1 FROM memstone.memories m
             WHERE m.tenant_id = v.tenant_id AND m.seq = v.memory_seq AND m.layer = 'fact')"""


@dataclass(slots=True)
class Reading:
    """What one way of asking took, by call: wall time, CPU time of this process and of the server's, and recall."""

    name: str
    wall: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)

    def add(self, times: Sequence[float], recall: float) -> None:
        """Add one call more."""
        for remaining, one in zip((self.wall, self.client, self.server, self.recall), (*times, recall), strict=True):
            remaining.append(one)

    def median(self, what: str) -> float:
        """Return the median of the wall, client or server times, in milliseconds."""
        return float(np.median(getattr(self, what))) * 1000

    @property
    def cpu(self) -> float:
        """What a call costs on both sides on average, in milliseconds."""
        return float(np.mean(self.client) + np.mean(self.server)) * 1000


def exact(corpus: Corpus, user: str, query: Any, *, facts: bool) -> set[int]:
    """Return the right answer, by arithmetic."""
    seqs = corpus.seqs(user)
    if facts:
        seqs = seqs[np.isin(seqs % 5, (0, 1))]
    scores = np.vecdot(corpus.vectors[seqs - 1], query)  # no threads that would go on spinning beside what is measured
    return {int(seq) for seq in seqs[np.argsort(-scores)[:LIMIT]]}


class QuestionEmbedder:
    """An embedder that knows the questions."""

    def __init__(self, corpus: Corpus) -> None:
        self._known = dict(zip(corpus.asked, corpus.queries, strict=True))

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return one row per text."""
        return np.stack([self._known[text] for text in texts])


class Product:
    """The index over the ledger, as the role that row-level security binds."""

    def __init__(self, url: str, corpus: Corpus, **options: Any) -> None:
        io = BlockingIo()
        self.ledger = PostgresLedger(PostgresConfig(url=url, tenant=TENANT, pool_size=1), io)  # whose time is counted
        self.index = PgVectors(PgConfig(**options), io, self.ledger)
        self._corpus, self._signature = corpus, corpus.size.signature
        self.pid = drive(self.ledger.peek(_pid))

    def ask(self, user: str, number: int, *, facts: bool) -> set[int]:
        """Return the nearest ten."""
        layers = ("fact",) if facts else ()
        asked = VectorQuery(self._signature, self._corpus.queries[number], LIMIT, Scope(TENANT, user), layers)
        return {hit.seq for hit in drive(self.index.search(asked))}


class Searching:
    """The whole of ``search``: words and vectors, as the role that row-level security binds."""

    def __init__(self, url: str, corpus: Corpus) -> None:
        store = {"url": url, "pool_size": 1}
        self._memory = Memory({"store": store}, embedder=QuestionEmbedder(corpus))
        self._corpus = corpus
        self.pid = drive(self._memory.engine.runtime.ledger.peek(_pid))

    def ask(self, user: str, number: int, *, facts: bool) -> set[int]:
        """Return the best ten."""
        layers: list[LayerName] | None = ["fact"] if facts else None
        found = self._memory.search(self._corpus.asked[number], user_id=user, limit=LIMIT, layers=layers)
        return {int(one["id"][1:]) for one in found["results"]}


class Raw:
    """One connection as a role above the wall, one statement, no features."""

    def __init__(self, url: str, corpus: Corpus, graph: HnswIndex | None = None, spare: int = 0) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        know_vectors(self._connection)
        self._corpus, self._size, self._graph, self._spare = corpus, corpus.size, graph, spare
        row = self._connection.execute("SELECT pg_backend_pid()").fetchone()
        self.pid = int(row[0]) if row else 0
        if graph is not None:
            for name, value in {"iterative_scan": "relaxed_order", "ef_search": PgConfig().ef_search}.items():
                self._connection.execute(f"SET hnsw.{name} = '{value}'")

    def ask(self, user: str, number: int, *, facts: bool) -> set[int]:
        """Return the nearest ten."""
        asked = stored(self._corpus.queries[number])
        wanted = LIMIT + self._spare * (3 if facts else 1)  # as many as the product takes
        params = {"asked": asked, "tenant": TENANT, "user": user, "limit": wanted}
        params["signature"] = self._size.signature
        statement = _LINKED.format(filter=_LAYER if facts else "")
        if self._graph is not None:
            statement = _GRAPH.format(
                signature=self._size.signature,
                column=self._graph.column(self._size.dim),
                half="::halfvec" if self._graph.half else "",
                filter=_LAYER if facts else "",
            )
        rows = self._connection.execute(statement, params, binary=True).fetchall()
        return {int(seq) for seq, _ in sorted(rows, key=lambda row: -row[1])[:LIMIT]}


class Asked:
    """One of the peer's calls."""

    def __init__(self, peer: Peer, call: str) -> None:
        self._peer, self._call = peer, call

    def timed(self, user: str, number: int, *, facts: bool) -> tuple[list[float], set[int]]:
        """Return its own times, and what it found."""
        return self._peer.timed(self._call, user, number, facts=facts)


def compare(corpus: Corpus, user: str, ways: dict[str, Any], *, facts: bool, calls: int) -> list[Reading]:
    """Ask all ways the same questions in turns, so that whatever else the machine does meets all of them.

    Each begins as often as the others: whoever comes first brings the pages into the server's memory.
    """
    readings = {name: Reading(name) for name in ways}
    for number in range(-_WARM, calls):
        at = number % len(corpus.queries)
        right = exact(corpus, user, corpus.queries[at], facts=facts)
        for name, way in _from(list(ways.items()), number):
            timed = way.timed if hasattr(way, "timed") else partial(_timed, way)
            times, found = timed(user, at, facts=facts)
            if number >= 0:
                readings[name].add(times, len(found & right) / max(1, len(right)))
    return list(readings.values())


def _from(ways: list[tuple[str, Any]], number: int) -> list[tuple[str, Any]]:
    first = number % len(ways)
    return ways[first:] + ways[:first]


def _timed(way: Any, user: str, number: int, *, facts: bool) -> tuple[list[float], set[int]]:
    wall, client, server = time.perf_counter(), time.process_time(), _server_cpu(way.pid)
    found = way.ask(user, number, facts=facts)
    return [time.perf_counter() - wall, time.process_time() - client, _server_cpu(way.pid) - server], found


_WARM: Final = 6
"""So many calls are not counted: plans are made and pages read. A statement is prepared from the fifth on."""


def _server_cpu(pid: int) -> float:
    """Return the seconds of processor time that a process of the server has used, as Linux counts them."""
    fields = Path(f"/proc/{pid}/schedstat").read_text("ascii").split()
    return int(fields[0]) / 1e9


async def _pid(tx: Any) -> int:
    row = await tx.vectors._sql.one("SELECT pg_backend_pid()")  # noqa: SLF001 - no part of the port asks this
    return int(row[0])


def users(corpus: Corpus) -> dict[str, str]:
    """Return one of the many, and the large one if there is one."""
    found = {"one of many": corpus.users[0] if corpus.users[0] != LARGE else "user0000"}
    return {**found, "the large one": LARGE} if corpus.size.large else found
