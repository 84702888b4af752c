"""The graph in the tables of the ledger, on both databases: the suite that graph databases are put to as well."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.testing.graph_store import GraphMemorySuite
from tests.postgres.server import Server


@pytest.mark.req("C-29", "C-58.33", "C-58.34", "C-58.35", "D-19", "R-12")
class TestGraphInSqlite(GraphMemorySuite):
    """The default."""


@pytest.mark.req("C-29", "C-58.33", "C-58.34", "C-58.35", "D-19", "R-12")
class TestGraphInPostgres(GraphMemorySuite):
    """The same tables in PostgreSQL."""

    _url = ""

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Server) -> None:
        self._url = postgres.url(postgres.name)

    def store(self) -> dict[str, Any]:
        """A database of the test's own."""
        return {"url": self._url}
