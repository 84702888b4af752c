"""Migrations on PostgreSQL: once, by whoever comes first, and by nobody who may not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memstone import Memory
from memstone.adapters.ledger import postgres_migrate
from memstone.errors import MigrationFailed, SchemaTooNew
from tests.postgres.server import APP, Server


def _memory(url: str) -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}})


def test_many_that_start_together_migrate_once(postgres: Server) -> None:
    url = postgres.url(postgres.database())

    def start(number: int) -> Any:
        with _memory(url) as memory:
            return memory.add(f"fact {number}", user_id="alice", infer=False)["status"]

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(start, range(6)))

    assert told == ["ok"] * 6
    with psycopg.connect(url) as connection:
        steps = connection.execute("SELECT count(*) FROM memstone.schema_version").fetchone()
    assert steps == (len(postgres_migrate.migrations()),)


def test_whoever_may_not_migrate_is_told_what_to_do(postgres: Server) -> None:
    with pytest.raises(MigrationFailed) as caught, _memory(postgres.url(postgres.database(), APP)) as memory:
        memory.stats()

    assert "memstone migrate" in caught.value.hint


def test_a_newer_schema_is_refused(postgres: Server) -> None:
    name = postgres.database(postgres.pattern)
    with postgres.superuser(name) as connection:
        connection.execute("INSERT INTO memstone.schema_version (number, name) VALUES (9999, '9999_future.sql')")

    with pytest.raises(SchemaTooNew), _memory(postgres.url(name)) as memory:
        memory.stats()


def test_a_step_that_fails_leaves_nothing_behind(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    first = postgres_migrate.migrations()[0]
    broken = first._replace(script=first.script + "SELECT nonsense();")
    monkeypatch.setattr(postgres_migrate, "migrations", lambda: (broken,))
    url = postgres.url(postgres.database())

    with pytest.raises(MigrationFailed, match="nonsense"), _memory(url) as memory:
        memory.stats()

    with psycopg.connect(url) as connection:
        left = connection.execute("SELECT to_regnamespace('memstone')").fetchone()
    assert left == (None,)


@pytest.mark.req("X-18")
@pytest.mark.parametrize("version", range(1, len(postgres_migrate.migrations())))
def test_a_database_of_each_version_goes_on_with_all_verbs(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    url, steps = postgres.url(postgres.database()), postgres_migrate.migrations()
    with monkeypatch.context() as past:
        past.setattr(postgres_migrate, "migrations", lambda: steps[:version])
        with _memory(url) as memory:
            memory.add("I live in Rome", user_id="alice", infer=False)
    with _memory(url) as memory:
        assert memory.get_all(user_id="alice")["results"][0]["memory"] == "I live in Rome"
        memory.consolidate(user_id="alice")
        memory.erase(user_id="alice")
        assert memory.get_all(user_id="alice")["results"] == []


def test_the_product_does_not_work_as_the_role_that_owns_the_tables(postgres: Server) -> None:
    with _memory(postgres.url(postgres.name)) as memory:
        told = memory.check()

    assert told["role"] == "postgres"
    assert told["acts_as"] == postgres_migrate.APP_ROLE
    assert told["walled"]


def test_a_role_that_nothing_binds_is_told_so(postgres: Server) -> None:
    name = postgres.database(postgres.pattern)
    with postgres.superuser(name) as connection:
        connection.execute("DROP ROLE IF EXISTS above")
        connection.execute("CREATE ROLE above LOGIN BYPASSRLS")
        postgres_migrate.grant(connection, "above")

    with _memory(postgres.url(name, "above")) as memory:
        told = memory.check()

    assert not told["walled"]
