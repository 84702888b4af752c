"""FalkorDB: a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from memstone.adapters.graph.falkordb import FalkorDbConfig, FalkorDbStore
from memstone.ports.graph import GraphStore
from memstone.ports.io import Io
from memstone.testing.graph_store import GraphMemorySuite, GraphStoreSuite
from tests.stores.falkordb_server import FalkorDbServer, run_falkordb


@pytest.fixture(scope="module")
def server() -> Iterator[FalkorDbServer]:
    with run_falkordb() as running:
        yield running


@pytest.mark.req("C-42", "C-28", "R-12")
class TestFalkorDbStore(GraphStoreSuite):
    """What the database promises."""

    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, server: FalkorDbServer) -> None:
        self._url = server.url

    def connect(self, io: Io) -> GraphStore:
        """A connection to the server."""
        return FalkorDbStore(FalkorDbConfig(url=self._url), io)

    def interrupt(self) -> None:
        """End every other connection, on the server."""
        with redis.Redis.from_url(self._url) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


@pytest.mark.req("C-42", "C-29", "C-58.33", "C-58.34", "C-58.35", "D-19", "R-12")
class TestFalkorDbGraph(GraphMemorySuite):
    """A memory with this graph."""

    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, server: FalkorDbServer) -> None:
        self._url = server.url

    def graph_store(self) -> dict[str, Any]:
        """This server."""
        return {"provider": "falkordb", "config": {"url": self._url}}
