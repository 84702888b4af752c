"""Neo4j: a real server, of its community edition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import neo4j
import pytest

from memstone import Memory
from memstone.adapters.graph.neo4j import Neo4jConfig, Neo4jStore
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.engine.transfer import graph_mirror
from memstone.errors import BackendTimeout, BackendUnavailable, GraphStoreError
from memstone.ports.graph import GraphStore
from memstone.ports.io import Io
from memstone.testing.graph_store import (
    NAME,
    GraphMemorySuite,
    GraphScene,
    GraphStoreSuite,
    make_page,
    make_relation,
    make_rows,
)
from tests.patience import LONG, until
from tests.stores.neo4j_server import PASSWORD, Neo4jServer, run_neo4j

pytestmark = pytest.mark.system
_AGENT: Final = "tests/1"
_PEOPLE: Final = ("Anna", "Felix", "Mirela")
_TOWNS: Final = ("Oslo", "Rome", "Lima", "Kyoto")
_OTHERS: Final = "CALL dbms.listConnections() YIELD connectionId, userAgent WHERE userAgent <> $own RETURN connectionId"


@pytest.fixture(scope="module")
def server() -> Iterator[Neo4jServer]:
    with run_neo4j() as running:
        yield running


def connect_to(server: Neo4jServer, io: Io, **options: Any) -> Neo4jStore:
    # Patient: a virtual machine that has just started takes its time for the first of each kind of query.
    return Neo4jStore(Neo4jConfig(**{"url": server.url, "password": PASSWORD, "timeout": LONG, **options}), io)


@pytest.mark.req("C-42", "C-28", "R-12")
class TestNeo4jStore(GraphStoreSuite):
    """What the database promises."""

    _server: Neo4jServer

    @pytest.fixture(autouse=True)
    def _running(self, server: Neo4jServer) -> None:
        self._server = server

    def connect(self, io: Io) -> GraphStore:
        """A connection to the server."""
        return connect_to(self._server, io)

    def interrupt(self) -> None:
        """End every other connection, on the server."""
        account = ("neo4j", PASSWORD)
        driver = neo4j.GraphDatabase.driver(self._server.url, auth=account, user_agent=_AGENT)
        with driver, driver.session() as own:
            rows = own.run(_OTHERS, own=_AGENT).value()
            for one in rows:
                own.run("CALL dbms.killConnection($one)", one=one).consume()


@pytest.mark.req("C-42", "C-29", "C-58.33", "C-58.34", "C-58.35", "D-19", "R-12")
class TestNeo4jGraph(GraphMemorySuite):
    """A memory with this graph."""

    _server: Neo4jServer

    @pytest.fixture(autouse=True)
    def _running(self, server: Neo4jServer) -> None:
        self._server = server

    def graph_store(self) -> dict[str, Any]:
        """This server."""
        config = {"url": self._server.url, "username": "neo4j", "password": PASSWORD, "timeout": LONG}
        return {"provider": "neo4j", "config": config}


def ask(server: Neo4jServer, query: str, **values: Any) -> list[list[Any]]:
    """Return the rows of a query, by the vendor's own driver."""
    with neo4j.GraphDatabase.driver(server.url, auth=("neo4j", PASSWORD)) as driver, driver.session() as session:
        rows: list[list[Any]] = session.run(query, values).values()
        return rows


@pytest.mark.req("C-42")
def test_the_graph_can_be_looked_at_with_cypher_and_by_words(server: Neo4jServer, io: BlockingIo) -> None:
    store = connect_to(server, io)
    drive(store.drop(NAME))
    drive(store.create(NAME))
    rows = make_rows({1: ["Anna", "Contoso"]}, make_relation("Anna", "works_at", "Contoso", 1))
    drive(store.apply(NAME, make_page(0, 1, rows)))

    edges = "MATCH (a:MemstoneEntity {graph: $graph})-[r:WORKS_AT]->(b) RETURN a.name, b.name, r.seq"
    assert ask(server, edges, graph=NAME) == [["Anna", "Contoso", 1]]
    ask(server, "CALL db.awaitIndexes(120)")
    words = "CALL db.index.fulltext.queryNodes('memstone_entity_text', 'anna') YIELD node RETURN DISTINCT node.name"
    assert ask(server, words) == [["Anna"]]
    assert {row[0] for row in ask(server, "SHOW CONSTRAINTS YIELD name RETURN name")} >= {
        "memstone_graph_name",
        "memstone_entity_id",
        "memstone_memory_seq",
    }
    drive(store.drop(NAME))
    assert ask(server, "MATCH (n {graph: $graph}) RETURN count(n)", graph=NAME) == [[0]]
    drive(store.close())


def test_a_removal_that_was_interrupted_is_finished_before_a_graph_is_made_again(
    server: Neo4jServer, io: BlockingIo
) -> None:
    store = connect_to(server, io)
    drive(store.drop(NAME))
    drive(store.create(NAME))
    drive(store.apply(NAME, make_page(0, 1, make_rows({1: ["Anna"]}))))
    ask(server, "MATCH (g:MemstoneGraph {name: $graph}) SET g.position = -1", graph=NAME)
    assert drive(store.position(NAME)) is None
    drive(store.create(NAME))
    assert drive(store.position(NAME)) == 0
    assert ask(server, "MATCH (n {graph: $graph}) RETURN count(n)", graph=NAME) == [[0]]
    drive(store.drop(NAME))
    drive(store.close())


@pytest.mark.req("C-57")
def test_a_wrong_password_and_a_frozen_server_are_told_apart(server: Neo4jServer, io: BlockingIo) -> None:
    stranger = connect_to(server, io, password="wrong")  # noqa: S106 - that is the point
    with pytest.raises(GraphStoreError, match="refused the name or the password") as refused:
        drive(stranger.check_health())
    assert "NEO4J_PASSWORD" in refused.value.hint
    patient, hasty = connect_to(server, io), connect_to(server, io, timeout=3.0)
    drive(patient.check_health())
    with server.frozen(), pytest.raises((BackendTimeout, BackendUnavailable)):
        drive(hasty.check_health())
    drive(patient.check_health())
    for one in (stranger, patient, hasty):
        drive(one.close())


@pytest.mark.req("C-57", "D-19")
def test_a_server_that_is_killed_in_the_middle_of_a_fill_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_mirror, "_PAGE", 4)
    monkeypatch.setattr(graph_mirror, "_PROBE_SECONDS", 0.2)
    settings = {"store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}, "embedder": {"provider": "none"}}
    texts = [f"{name} moved to {town} with box {box}." for name in _PEOPLE for town in _TOWNS for box in range(10)]
    with Memory(settings) as memory:
        memory.add_many([{"messages": text, "user_id": "alice", "infer": False} for text in texts])
    with run_neo4j() as server:
        config = {"url": server.url, "password": PASSWORD, "timeout": 30}
        with Memory({**settings, "graph_store": {"provider": "neo4j", "config": config}}) as memory:
            memory.stats()
            until(lambda: ask(server, "MATCH (g:MemstoneGraph) WHERE g.position > 40 RETURN 1"))
            server.kill()
            answer = memory.search("Where is Anna?", user_id="alice")
            assert [one["channel"] for one in answer["degraded"]] == ["graph_store"]
            server.start()
            until(lambda: memory.admin.status()["graph_store"]["available"])
            drive(GraphScene(memory).agree("alice"))
            report = memory.graph.check()
    assert report["agrees"]
    assert report["mirror"] == {"entities": 7, "mentions": 2 * len(texts), "relations": len(texts)}
