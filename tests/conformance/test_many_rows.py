"""Many rows at once: a statement for several of them does what one for each would do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memstone import Memory
from memstone.adapters.sqlite.connection import Connection, SqliteSql, open_connection
from memstone.drive import drive
from memstone.errors import Conflict
from memstone.model.memory import Record
from memstone.ports.ledger import Tx

NOW = "2026-01-01T00:00:00.000000Z"
SIZES = [0, 1, 19, 20, 21, 60, 130]
INSERT = "INSERT INTO numbers (name, value) VALUES (?, ?)"
UPSERT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET value = excluded.value"


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.execute("CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL)")
        yield opened


def stored(database: sqlite3.Connection) -> list[tuple[str, int]]:
    return database.execute("SELECT name, value FROM numbers ORDER BY rowid").fetchall()


def numbered(count: int, more: int = 0) -> list[tuple[str, int]]:
    return [(f"n{at}", at + more) for at in range(count)]


@pytest.mark.parametrize("count", SIZES)
def test_every_row_is_stored_once_and_in_order(database: sqlite3.Connection, count: int) -> None:
    drive(SqliteSql(database).many(INSERT, iter(numbered(count))))

    assert stored(database) == numbered(count)


@pytest.mark.parametrize("count", SIZES)
def test_rows_that_are_there_are_overwritten_where_the_statement_says_so(
    database: sqlite3.Connection, count: int
) -> None:
    sql = SqliteSql(database)
    drive(sql.many(INSERT, numbered(count)))
    drive(sql.many(UPSERT, numbered(count + 60, more=1000)))

    assert stored(database) == numbered(count + 60, more=1000)


@pytest.mark.parametrize("count", SIZES)
def test_statements_that_insert_nothing_run_once_for_each_row(database: sqlite3.Connection, count: int) -> None:
    sql = SqliteSql(database)
    drive(sql.many(INSERT, numbered(count)))
    drive(sql.many("UPDATE numbers SET value = value + ? WHERE name = ?", ((1, name) for name, _ in numbered(count))))

    assert stored(database) == numbered(count, more=1)


@pytest.mark.parametrize("at", [0, 10, 19, 20, 70, 119])
def test_one_row_that_fails_undoes_the_whole_transaction(database: sqlite3.Connection, at: int) -> None:
    rows = [(name, None if value == at else value) for name, value in numbered(120)]
    database.execute("BEGIN")
    with pytest.raises(sqlite3.IntegrityError):
        drive(SqliteSql(database).many(INSERT, rows))
    database.execute("ROLLBACK")

    assert stored(database) == []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Connection]:
    path = tmp_path / "memstone.db"
    Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "none"}}).close()
    connection = open_connection(str(path), uri=False, writable=True, durable=False)
    yield connection
    connection.close()


def records(count: int, start: int = 0) -> list[Record]:
    return [
        Record(f"m{start + at}", f"text {start + at}", "", NOW, NOW, NOW, NOW, NOW, data={"speaker": "user"})
        for at in range(count)
    ]


@pytest.mark.req("X-21")
def test_versions_are_numbered_on_from_the_last_that_ever_was(store: Connection) -> None:
    memories = store.tx.memories
    first, later = records(120), records(60, start=120)
    drive(memories.insert_all(first))
    assert [record.seq for record in first] == list(range(1, 121))

    store.raw.execute("DELETE FROM memories WHERE seq > 100")
    drive(memories.insert_all(later))
    (one,) = records(1, start=180)
    drive(memories.insert(one))

    assert [record.seq for record in [*later, one]] == list(range(121, 182))
    assert [drive(memories.at(record.seq)) for record in later] == later


def test_the_parts_of_the_full_text_are_merged_by_eight(store: Connection) -> None:
    assert store.raw.execute("SELECT v FROM fulltext_config WHERE k = 'automerge'").fetchall() == [(8,)]


@pytest.mark.req("X-21")
def test_a_batch_that_meets_a_taken_id_stores_nothing_and_the_next_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "none"}}) as memory:
        memory.add("something", user_id="alice", infer=False)
        ledger = memory.engine.runtime.ledger
        taken = memory.get_all(user_id="alice")["results"][0]["id"]

        async def work(tx: Tx) -> None:
            await tx.memories.insert_all(
                [*records(70), Record(taken, "again", "", NOW, NOW, NOW, NOW, NOW), *records(9, 70)]
            )

        with pytest.raises(Conflict):
            drive(ledger.write(work))
        memory.add_many([{"messages": f"text {at}", "user_id": "alice", "infer": False} for at in range(130)])

        listed = [item["memory"] for item in memory.get_all(user_id="alice", limit=200)["results"]]
        assert listed == [*(f"text {at}" for at in reversed(range(130))), "something"]
