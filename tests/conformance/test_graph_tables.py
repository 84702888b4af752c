"""The graph in the tables of the ledger, on both databases: the suite that graph databases are put to as well."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.drive import drive
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


@pytest.mark.req("D-19")
def test_memories_that_were_never_read_for_names_are_read_by_a_repair() -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        for text in ("My sister Anna works at Contoso.", "It rained all day."):
            memory.add(text, user_id="alice", infer=False)
        drive(memory.engine.runtime.ledger.write(lambda tx: tx.entities.leave("default", [1, 2])))
        assert memory.graph.check()["ledger"] == {"entities": 0, "mentions": 0, "relations": 0}

        assert memory.graph.check(repair=True)["named"] == 1
        assert {one["name"] for one in memory.graph.entities(user_id="alice")["results"]} == {"Anna", "Contoso"}
        assert memory.graph.check(repair=True)["named"] == 0
