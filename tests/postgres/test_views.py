"""The views for other tools show what a search would, in both databases: nothing that has expired."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memstone import Memory
from memstone.adapters.postgres import migrations as schema
from memstone.testing.clock import FakeClock
from tests.postgres.server import Server


def tell(url: str) -> str:
    """One memory that lasts and one that had its time; gives the id of the first."""
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}, clock=FakeClock()) as memory:
        lasting: str = memory.add("tea", user_id="alice", infer=False)["results"][0]["id"]
        memory.add("coffee", user_id="alice", infer=False, expires_at="2026-01-02")
        return lasting


@pytest.mark.req("P-2", "P-3", "R-4")
def test_the_views_of_a_file_hide_what_has_expired(tmp_path: Path) -> None:
    lasting = tell(f"sqlite:///{tmp_path}/m.db")
    connection = sqlite3.connect(tmp_path / "m.db")
    try:
        assert connection.execute("SELECT id FROM shared_vectors").fetchall() == [(lasting,)]
        assert connection.execute("SELECT vector_id FROM users_vectors").fetchall() == [(lasting,)]
    finally:
        connection.close()


@pytest.mark.req("P-2", "P-3", "R-4")
def test_the_views_of_a_database_hide_what_has_expired(postgres: Server) -> None:
    lasting = tell(postgres.fresh())
    with postgres.superuser(postgres.name) as connection:
        assert connection.execute("SELECT id FROM memstone_views.vectors").fetchall() == [(lasting,)]
        assert connection.execute("SELECT vector_id FROM memstone_views.users_vectors").fetchall() == [(lasting,)]


_UPDATES = "SELECT old_vector_id, new_vector_id, old_version, new_version FROM {} ORDER BY created_at"


def revise(url: str) -> str:
    """Tell of a memory that got two more versions, and of another that went; gives the id of the first."""
    clock = FakeClock()
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}, clock=clock) as memory:
        first: str = memory.add("tea", user_id="alice", infer=False)["results"][0]["id"]
        for text in ("green tea", "white tea"):
            clock.advance(minutes=1)
            memory.update(first, text)
        clock.advance(minutes=1)
        memory.delete(memory.add("milk", user_id="alice", infer=False)["results"][0]["id"])
    return first


def check_updates(first: str, rows: list[tuple[str, str | None, int | None, int | None]]) -> None:
    assert rows[:2] == [(f"{first}#1", first, 1, 2), (f"{first}#2", first, 2, 3)]
    assert [row[1] for row in rows[2:]] == [None], "nothing took its place"
    assert len({row[0] for row in rows}) == len(rows), "what ended is named once"


@pytest.mark.req("P-4", "X-26")
def test_each_update_in_a_file_names_what_ended_and_what_holds_now(tmp_path: Path) -> None:
    first = revise(f"sqlite:///{tmp_path}/m.db")
    with closing(sqlite3.connect(tmp_path / "m.db")) as connection:
        check_updates(first, connection.execute(_UPDATES.format("memory_updates")).fetchall())
        joined = "SELECT DISTINCT v.id FROM memory_updates u JOIN shared_vectors v ON v.id = u.new_vector_id"
        assert connection.execute(joined).fetchall() == [(first,)]


@pytest.mark.req("P-4", "X-26")
def test_each_update_in_a_database_names_what_ended_and_what_holds_now(postgres: Server) -> None:
    first = revise(postgres.fresh())
    with postgres.superuser(postgres.name) as connection:
        check_updates(first, connection.execute(_UPDATES.format("memstone_views.memory_updates").encode()).fetchall())
        joined = (
            "SELECT DISTINCT v.id FROM memstone_views.memory_updates u JOIN memstone_views.vectors v "
            "ON v.id = u.new_vector_id"
        )
        assert connection.execute(joined).fetchall() == [(first,)]


@pytest.mark.req("P-4", "X-26", "C-30")
@pytest.mark.parametrize(("view", "column"), [("memory_updates", "created_at"), ("memory_history", "timestamp")])
def test_the_times_of_the_views_are_compared_with_the_clock_of_the_database(
    postgres: Server, view: str, column: str
) -> None:
    with Memory({"store": {"url": postgres.fresh()}, "embedder": {"provider": "hash"}}) as memory:
        memory.update(memory.add("tea", user_id="alice", infer=False)["results"][0]["id"], "coffee")
    with postgres.superuser(postgres.name) as connection:
        asked = f"SELECT count(*) FROM memstone_views.{view} WHERE {column} > now() - interval '1 day'"
        row = connection.execute(asked.encode()).fetchone()
    assert row is not None
    assert row[0] > 0


def test_whoever_may_read_a_view_may_still_after_its_columns_have_changed(postgres: Server) -> None:
    name = postgres.database()
    with postgres.superuser(name) as connection, pytest.MonkeyPatch.context() as past:
        steps = schema.list_migrations()
        past.setattr(schema, "list_migrations", lambda: steps[:3])
        schema.migrate_schema(connection)
        connection.execute("CREATE ROLE analyst")
        connection.execute("GRANT SELECT ON memstone_views.memory_updates TO analyst WITH GRANT OPTION")
        connection.execute("GRANT SELECT ON memstone_views.memory_history TO PUBLIC")
        past.undo()
        schema.migrate_schema(connection)
        row = connection.execute(
            "SELECT has_table_privilege('analyst', 'memstone_views.memory_updates', 'SELECT WITH GRANT OPTION'), "
            "has_table_privilege('analyst', 'memstone_views.memory_history', 'SELECT')"
        ).fetchone()
    assert row == (True, True)
