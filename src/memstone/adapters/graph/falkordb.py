"""FalkorDB over the protocol of Redis, through its own client.

Each graph is a key of its own, and one query changes it as a whole or not at all: so a page is one query. The client
blocks and talks to the server when it is made, so each call is one unit of work of the Io, and the first one connects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import falkordb
import redis
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.graph.cypher import ENTITY, GRAPH, MEMORY, CypherStore, page_statements
from memstone.errors import BackendUnavailable
from memstone.ports.graph import GraphInfo, GraphPage
from memstone.ports.io import Io

T = TypeVar("T")
_INDEXES: Final = (
    f"CREATE INDEX FOR (e:{ENTITY}) ON (e.id)",
    f"CREATE INDEX FOR (e:{ENTITY}) ON (e.norm)",
    f"CREATE INDEX FOR (m:{MEMORY}) ON (m.seq)",
    f"CALL db.idx.fulltext.createNodeIndex('{ENTITY}', 'name', 'description')",
)
_UNIQUE: Final = ((ENTITY, "id"), (MEMORY, "seq"))
_CLAIM: Final = f"MATCH (g:{GRAPH} {{name: $graph}}) WHERE g.position = $start SET g.position = $end WITH g"
_CREATE: Final = f"MERGE (g:{GRAPH} {{name: $graph}}) ON CREATE SET g.position = 0"


class FalkorDbConfig(BaseModel):
    """``url`` of the server; the key of every graph begins with ``prefix``."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str = Field(default="redis://localhost:6379", repr=False)  # it may hold a password
    username: str | None = None
    password: SecretStr | None = None
    prefix: str = Field(default="memstone", min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    timeout: float = Field(default=10.0, gt=0)


class FalkorDbStore(CypherStore):
    """See ``memstone.ports.graph.GraphStore``."""

    Config = FalkorDbConfig
    name = "falkordb"

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with what the environment says, where they say nothing."""
        named = {
            "url": env.get("FALKORDB_URL"),
            "username": env.get("FALKORDB_USERNAME"),
            "password": env.get("FALKORDB_PASSWORD"),
        }
        return {**{name: value for name, value in named.items() if value}, **options}

    def __init__(self, config: FalkorDbConfig, io: Io) -> None:
        super().__init__(io)
        self._config = config
        self._connected: Any = None
        self._lock = threading.Lock()

    async def check_health(self) -> None:
        await self._run(lambda: self._client().list_graphs())

    async def close(self) -> None:
        """Close every connection."""
        client, self._connected = self._connected, None
        if client is not None:
            await self._io.run(client.connection.close)

    async def graphs(self) -> list[GraphInfo]:
        begins = f"{self._config.prefix}:"
        keys = [str(key) for key in await self._run(lambda: self._client().list_graphs())]
        names = [unquote(key.removeprefix(begins)) for key in sorted(keys) if key.startswith(begins)]
        found = [(name, await self.position(name)) for name in names]
        return [GraphInfo(name, at, await self.count(name)) for name, at in found if at is not None]

    async def create(self, graph: str) -> None:
        def work() -> None:
            one = self._graph(graph)
            for statement in _INDEXES:
                _tolerate_repeat(lambda text=statement: one.query(text))  # type: ignore[misc]
            for label, field in _UNIQUE:
                _tolerate_repeat(lambda of=label, by=field: one.create_node_unique_constraint(of, by))  # type: ignore[misc]
            one.query(_CREATE, {"graph": graph})

        await self._run(work)

    async def drop(self, graph: str) -> None:
        def work() -> None:
            with suppress(_NoGraph):
                _or_no_graph(self._graph(graph).delete)

        await self._run(work)

    async def apply(self, graph: str, page: GraphPage) -> bool:
        texts, params = page_statements(graph, page)
        steps = "\n".join(f"CALL {{ {text} }}" for text in texts)
        query = f"{_CLAIM}\n{steps}\nRETURN g.position"
        claim = {"start": page.start, "end": page.end}

        def work() -> bool:
            with suppress(_NoGraph):
                return bool(_or_no_graph(lambda: self._graph(graph).query(query, {**params, **claim})).result_set)
            return False

        return await self._run(work)

    async def _read(self, graph: str, query: str, params: Mapping[str, Any]) -> list[Sequence[Any]]:
        def work() -> list[Sequence[Any]]:
            with suppress(_NoGraph):
                answer = _or_no_graph(lambda: self._graph(graph).ro_query(query, {**params, "graph": graph}))
                return list(answer.result_set)
            return []

        return await self._run(work)

    def _subquery(self, variable: str, inner: str) -> str:
        return f"CALL {{ WITH {variable} {inner} }}"

    def _graph(self, graph: str) -> Any:
        return self._client().select_graph(f"{self._config.prefix}:{quote(graph, safe='')}")

    def _client(self) -> Any:
        with self._lock:
            if self._connected is None:
                config = self._config
                password = config.password.get_secret_value() if config.password else None
                account = {"username": config.username, "password": password}
                self._connected = falkordb.FalkorDB.from_url(
                    config.url,
                    socket_timeout=config.timeout,
                    socket_connect_timeout=min(5.0, config.timeout),
                    **{name: value for name, value in account.items() if value is not None},
                )
            return self._connected

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await self._io.run(work)
        except redis.AuthenticationError as error:
            hint = "check username and password of graph_store, or FALKORDB_PASSWORD"
            raise self.store_error("FalkorDB refused the name or the password", hint) from error
        except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
            raise BackendUnavailable("FalkorDB does not answer", kind="graph", name=self.name) from error
        except redis.RedisError as error:
            raise self.store_error(f"FalkorDB: {error}"[:300], "check that the module is loaded") from error


class _NoGraph(Exception):
    """There is no graph of that name."""


def _or_no_graph(call: Callable[[], T]) -> T:
    try:
        return call()
    except redis.ResponseError as error:
        if "empty key" in str(error):
            raise _NoGraph from error
        raise


def _tolerate_repeat(call: Callable[[], object]) -> None:
    """Make an index or a constraint that may be there already."""
    try:
        call()
    except redis.ResponseError as error:
        if "already" not in str(error):
            raise
