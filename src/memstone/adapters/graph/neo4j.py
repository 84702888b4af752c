"""Neo4j over Bolt, through its own driver.

The graphs of all tenants share one database, as its free edition has no more than one: every node carries the name of
its graph. The driver blocks, so each call is one unit of work of the Io.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import neo4j
from neo4j.exceptions import AuthError, ConfigurationError, DriverError, Neo4jError, ServiceUnavailable, SessionExpired
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from memstone.adapters.graph.cypher import ENTITY, GRAPH, MEMORY, CypherStore, page_statements
from memstone.errors import BackendTimeout, BackendUnavailable, ConfigError
from memstone.ports.graph import GraphInfo, GraphPage
from memstone.ports.io import Io

T = TypeVar("T")
_SCHEMA: Final = (
    f"CREATE CONSTRAINT memstone_graph_name IF NOT EXISTS FOR (g:{GRAPH}) REQUIRE g.name IS UNIQUE",
    f"CREATE CONSTRAINT memstone_entity_id IF NOT EXISTS FOR (e:{ENTITY}) REQUIRE (e.graph, e.id) IS UNIQUE",
    f"CREATE CONSTRAINT memstone_memory_seq IF NOT EXISTS FOR (m:{MEMORY}) REQUIRE (m.graph, m.seq) IS UNIQUE",
    f"CREATE INDEX memstone_entity_norm IF NOT EXISTS FOR (e:{ENTITY}) ON (e.graph, e.norm)",
    f"CREATE FULLTEXT INDEX memstone_entity_text IF NOT EXISTS FOR (e:{ENTITY}) ON EACH [e.name, e.description]",
    "CALL db.awaitIndexes(120)",
)
_DROPPED: Final = -1
"""The position of a graph that is being removed: nobody applies a page to it, and whoever finds it goes on."""

_BATCH: Final = 5_000
# The property is set before the position is read, because setting it waits for whoever holds the node.
_HOLD: Final = f"MATCH (g:{GRAPH} {{name: $graph}}) SET g.held = true WITH g"
_CLAIM: Final = f"{_HOLD} WHERE g.position = $start SET g.position = $end RETURN g.position"
_CREATE: Final = f"MERGE (g:{GRAPH} {{name: $graph}}) ON CREATE SET g.position = 0"
_CONDEMN: Final = f"MATCH (g:{GRAPH} {{name: $graph}}) SET g.position = {_DROPPED}"
_REMOVE_SOME: Final = tuple(
    f"{_HOLD} WHERE g.position = {_DROPPED} "
    f"MATCH (n:{label} {{graph: $graph}}) WITH n LIMIT {_BATCH} DETACH DELETE n RETURN count(*)"
    for label in (MEMORY, ENTITY)
)
_REMOVE_GRAPH: Final = f"{_HOLD} WHERE g.position = {_DROPPED} DELETE g"
_ADDRESS: Final = re.compile(r"(?:bolt|neo4j)(?:\+s|\+ssc)?://[^/]")
_RETRY_SECONDS: Final = 1.0
_LONG_SECONDS: Final = 3_600.0
"""How long making and removing a graph may take."""


class Neo4jConfig(BaseModel):
    """``url`` of the server (``bolt://``, ``neo4j://`` or with ``+s`` for TLS); ``database`` is its default one."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str = Field(default="bolt://localhost:7687", repr=False)  # it may hold a password
    username: str = "neo4j"
    password: SecretStr | None = None
    database: str | None = None
    timeout: float = Field(default=10.0, gt=0)

    @field_validator("url")
    @classmethod
    def _over_bolt(cls, value: str) -> str:
        if _ADDRESS.match(value) is None:
            raise ValueError("write it as bolt://host:7687, or neo4j+s://host for a cluster or a hosted database")
        return value


class Neo4jStore(CypherStore):
    """See ``memstone.ports.graph.GraphStore``."""

    Config = Neo4jConfig
    name = "neo4j"

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with what the environment says, where they say nothing."""
        named = {
            "url": env.get("NEO4J_URL") or env.get("NEO4J_URI"),
            "username": env.get("NEO4J_USER") or env.get("NEO4J_USERNAME"),
            "password": env.get("NEO4J_PASSWORD"),
            "database": env.get("NEO4J_DATABASE"),
        }
        return {**{name: value for name, value in named.items() if value}, **options}

    def __init__(self, config: Neo4jConfig, io: Io) -> None:
        super().__init__(io)
        self._database, self._timeout = config.database, config.timeout
        password = config.password.get_secret_value() if config.password else ""
        try:
            self._driver: Any = neo4j.GraphDatabase.driver(
                config.url,
                auth=(config.username, password) if password else None,
                connection_timeout=min(5.0, config.timeout),
                connection_acquisition_timeout=config.timeout,
                max_transaction_retry_time=min(_RETRY_SECONDS, config.timeout),
                telemetry_disabled=True,
                notifications_min_severity="OFF",
            )
        except (ConfigurationError, ValueError) as error:
            raise ConfigError(
                f"graph_store neo4j: {error}", hint="write the url as bolt://host:7687 or neo4j+s://host"
            ) from error

    async def check_health(self) -> None:
        await self._run(lambda: self._ask("RETURN 1", {}))

    async def close(self) -> None:
        """Close every connection."""
        await self._io.run(self._driver.close)

    async def graphs(self) -> list[GraphInfo]:
        query = f"MATCH (g:{GRAPH}) WHERE g.position >= 0 RETURN g.name, g.position ORDER BY g.name"
        rows = await self._run(lambda: self._ask(query, {}))
        return [GraphInfo(name, int(position), await self.count(name)) for name, position in rows]

    async def create(self, graph: str) -> None:
        def work() -> None:
            for statement in _SCHEMA:
                self._change(statement, {})
            if self._ask(f"MATCH (g:{GRAPH} {{name: $graph}}) RETURN g.position", {"graph": graph}) == [[_DROPPED]]:
                self._remove(graph)
            self._change(_CREATE, {"graph": graph})

        await self._run(work, _LONG_SECONDS)

    async def drop(self, graph: str) -> None:
        def work() -> None:
            self._change(_CONDEMN, {"graph": graph})
            self._remove(graph)

        await self._run(work, _LONG_SECONDS)

    def _remove(self, graph: str) -> None:
        """Remove what a condemned graph holds, and then itself; who finds that somebody else has done it stops."""
        for statement in _REMOVE_SOME:
            while self._change(statement, {"graph": graph}) not in ([], [[0]]):
                pass
        self._change(_REMOVE_GRAPH, {"graph": graph})

    async def apply(self, graph: str, page: GraphPage) -> bool:
        statements = page_statements(graph, page)
        claim = {"graph": graph, "start": page.start, "end": page.end}

        def write(tx: Any) -> bool:
            if not list(tx.run(_CLAIM, claim)):
                return False
            for text in statements.texts:
                tx.run(text, statements.params).consume()
            return True

        def work() -> bool:
            with self._session() as session:
                return bool(session.execute_write(write))

        return await self._run(work)

    async def _read(self, graph: str, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        return await self._run(lambda: self._ask(query, {**params, "graph": graph}))

    def _subquery(self, variable: str, inner: str) -> str:
        return f"CALL ({variable}) {{ {inner} }}"

    def _session(self) -> Any:
        bookmarks = self._driver.execute_query_bookmark_manager  # so that a read elsewhere in a cluster sees the write
        return self._driver.session(database=self._database, bookmark_manager=bookmarks)

    def _ask(self, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        with self._session() as session:
            rows: list[Sequence[Any]] = session.execute_read(lambda tx: tx.run(query, dict(params)).values())
            return rows

    def _change(self, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        with self._session() as session:
            rows: list[Sequence[Any]] = session.execute_write(lambda tx: tx.run(query, dict(params)).values())
            return rows

    async def _run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        try:
            return await self._io.run(lambda: _run_within(work, seconds or self._timeout))
        except AuthError as error:
            hint = "check username and password of graph_store, or NEO4J_USER and NEO4J_PASSWORD"
            raise self.store_error("Neo4j refused the name or the password", hint) from error
        except (ServiceUnavailable, SessionExpired, OSError) as error:
            raise BackendUnavailable("Neo4j does not answer", kind="graph", name=self.name) from error
        except Neo4jError as error:
            if error.is_retryable():
                raise BackendUnavailable(f"Neo4j: {error.code}", kind="graph", name=self.name) from error
            raise self.store_error(
                f"Neo4j: {error.message or error.code}"[:300], "see the log of the server"
            ) from error
        except DriverError as error:
            raise self.store_error(f"Neo4j: {error}"[:300], "check the options of graph_store") from error


def _run_within(work: Callable[[], T], seconds: float) -> T:
    """Return the result of work, or raise ``BackendTimeout`` after so many seconds.

    The driver has no time-out for reading: while a server is frozen it would wait for minutes. So it waits on a thread
    of its own, which ends when the driver gives up.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            failures.append(error)

    thread = threading.Thread(target=run, name="memstone-neo4j", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not results:
        raise BackendTimeout(f"Neo4j did not answer within {seconds:g} s", kind="graph", name="neo4j")
    return results[0]
