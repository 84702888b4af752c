"""How SQLite reads lists: by what the caller named, never by looking through a whole tenant."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memstone import Memory
from memstone.adapters.sql.memories import MemoriesTable
from memstone.adapters.sql.rows import Params, Row
from memstone.adapters.sql.where import compile_where
from memstone.core.checks.filters import where_current, where_in_scope, where_visible
from memstone.drive import drive
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope

NOW = "2026-01-01T00:00:00.000000Z"
USER, AGENT, RUN = Scope(user_id="alice"), Scope(agent_id="bot"), Scope(run_id="r1")
MANY = tuple(range(1, 80))

Call: TypeAlias = Callable[[MemoriesTable, Where], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "find": lambda table, where: table.find(where, limit=10),
    "count": lambda table, where: table.count(where),
    "seqs": lambda table, where: table.seqs(where),
}


class Plans:
    """Answers every statement with nothing and keeps how it would have been read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.steps: list[str] = []

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        """No rows."""
        self.steps += [str(row[3]) for row in self._database.execute(f"EXPLAIN QUERY PLAN {query}", list(params))]
        return []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a list is read by rows, not by {name}")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "memstone.db"
    Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "none"}}).close()
    with closing(sqlite3.connect(path)) as opened:
        yield opened


def plan(database: sqlite3.Connection, call: Call, where: Where) -> list[str]:
    plans = Plans(database)
    drive(call(MemoriesTable(plans, compile_where), where))  # type: ignore[arg-type]
    assert plans.steps
    return plans.steps


def reads_all_of_a_tenant(step: str) -> bool:
    return step.endswith(("(tenant_id=?)", "(tenant_id=? AND layer=?)")) or step.startswith(("SCAN m", "SCAN l"))


@pytest.mark.req("O-8")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("where", "index"),
    [
        (where_visible(USER, NOW), "links_user (tenant_id=? AND user_id=?)"),
        (where_visible(AGENT, NOW), "links_agent (tenant_id=? AND agent_id=?)"),
        (where_visible(RUN, NOW), "links_run (tenant_id=? AND run_id=?)"),
        (where_visible(Scope(user_id="alice", agent_id="bot"), NOW), "links_user (tenant_id=? AND user_id=?)"),
        (where_visible(Scope(user_id="alice", run_id="r1"), NOW), "links_run (tenant_id=? AND run_id=?)"),
        (where_visible(USER, NOW, extra=Condition("metadata.a", Op.EQ, 1)), "links_user (tenant_id=? AND user_id=?)"),
        (
            And((where_in_scope(USER), Condition("seq", Op.GT, 7))),
            "links_user (tenant_id=? AND user_id=? AND memory_seq>?)",
        ),
        (
            And((where_in_scope(USER), where_current(), Condition("id", Op.IN, ("a", "b")))),
            "memories_versions (tenant_id=? AND id=?",
        ),
        (And((where_in_scope(Scope()), Condition("id", Op.EQ, "a"))), "memories_versions (tenant_id=? AND id=?"),
        (And((where_visible(USER, NOW), Condition("seq", Op.IN, MANY))), "m USING INTEGER PRIMARY KEY (rowid=?)"),
        (And((where_in_scope(Scope()), Condition("seq", Op.IN, MANY))), "m USING INTEGER PRIMARY KEY (rowid=?)"),
    ],
    ids=["user", "agent", "run", "user-agent", "user-run", "filter", "newer", "ids", "versions", "seqs", "tenant-seqs"],
)
def test_a_list_begins_with_the_few_rows_that_its_conditions_name(
    database: sqlite3.Connection, call: Call, where: Where, index: str
) -> None:
    steps = plan(database, call, where)
    assert not [step for step in steps if reads_all_of_a_tenant(step)], steps
    assert index in next(step for step in steps if step.startswith("SEARCH")), steps


@pytest.mark.parametrize("extra", [None, Condition("origin", Op.EQ, "user"), Condition("link_origin", Op.EQ, "direct")])
def test_the_most_salient_of_one_user_are_not_looked_for_among_all(
    database: sqlite3.Connection, extra: Condition | None
) -> None:
    where = where_visible(USER, NOW, extra=extra)
    steps = plan(database, lambda table, where: table.salient(where, limit=10), where)
    assert not [step for step in steps if reads_all_of_a_tenant(step)], steps


@pytest.mark.parametrize(
    "where", [where_visible(USER, NOW), And((where_visible(AGENT, NOW), Condition("seq", Op.GT, 7)))]
)
def test_memories_known_by_number_are_looked_up_one_by_one(database: sqlite3.Connection, where: Where) -> None:
    steps = plan(database, lambda table, where: table.among(MANY, where), where)
    assert [step.partition(" (")[0] for step in steps] == [
        "SEARCH m USING INTEGER PRIMARY KEY",
        "SEARCH l USING PRIMARY KEY",
    ]
    assert "memory_seq=?" in steps[1]


class Runs(Plans):
    """Runs every statement."""

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        """What is found."""
        self.steps.append(query)
        return self._database.execute(query, list(params)).fetchall()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_statement_is_compiled_once_whatever_it_asks_for(database: sqlite3.Connection, call: Call) -> None:
    """An index "WHERE status = 'x'" would have each "status = ?" compiled anew, to see whether it serves this time."""
    compiled: list[int] = []

    def compiling(action: int, *_: Any) -> int:
        compiled.append(action)
        return sqlite3.SQLITE_OK

    database.set_authorizer(compiling)
    table = MemoriesTable(Runs(database), compile_where)
    drive(call(table, where_visible(USER, NOW)))  # type: ignore[arg-type]
    assert compiled
    compiled.clear()
    for user, now in (("bob", NOW), ("carol", "2027-01-01T00:00:00.000000Z")):
        drive(call(table, where_visible(Scope(user_id=user), now)))  # type: ignore[arg-type]
    assert not compiled


@pytest.mark.parametrize("field", ["run_id", "agent_id"])
def test_what_was_said_in_no_conversation_can_be_asked_for(field: str) -> None:
    """Their indexes leave out what has no value there, so a list of just that must not be read through them."""
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        memory.add("in none", user_id="alice", infer=False)
        scope: dict[str, Any] = {field: "x"}
        memory.add("in one", user_id="alice", **scope, infer=False)
        for absent in ({field: None}, {field: {"in": [None, "y"]}}, {"AND": [{field: {"eq": None}}]}):
            answer = memory.get_all(user_id="alice", filters=absent, counts=True)
            assert [one["memory"] for one in answer["results"]] == ["in none"], absent
            assert answer["total"] == 1


@pytest.mark.req("O-8")
def test_the_newest_page_of_a_user_is_read_in_the_order_of_the_index(database: sqlite3.Connection) -> None:
    steps = plan(database, CALLS["find"], where_visible(USER, NOW))
    inside = steps[: steps.index("SCAN p")]
    assert not [step for step in inside if "TEMP B-TREE" in step], steps
