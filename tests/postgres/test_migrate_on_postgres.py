"""Migrations on PostgreSQL: once, by whoever comes first, and by nobody who may not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memstone import Memory
from memstone.adapters.postgres import migrations
from memstone.adapters.sqlite.migrations import Migration
from memstone.drive import drive
from memstone.errors import MigrationFailed, SchemaTooNew
from memstone.ports.ledger import Tx
from tests.patience import LONG
from tests.postgres.server import APP, Server


def _memory(url: str) -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}})


def test_many_that_start_together_migrate_once(postgres: Server) -> None:
    url = postgres.url(postgres.database())

    def start(number: int) -> Any:
        with _memory(url) as memory:
            return memory.add(f"fact {number}", user_id="alice", infer=False)["status"]

    with ThreadPoolExecutor(6) as pool:
        lines = list(pool.map(start, range(6)))

    assert lines == ["ok"] * 6
    with psycopg.connect(url) as connection:
        steps = connection.execute("SELECT count(*) FROM memstone.schema_version").fetchone()
    assert steps == (len(migrations.list_migrations()),)


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
    first = migrations.list_migrations()[0]
    broken = first._replace(script=first.script + "SELECT nonsense();")
    monkeypatch.setattr(migrations, "list_migrations", lambda: (broken,))
    url = postgres.url(postgres.database())

    with pytest.raises(MigrationFailed, match="nonsense"), _memory(url) as memory:
        memory.stats()

    with psycopg.connect(url) as connection:
        left = connection.execute("SELECT to_regnamespace('memstone')").fetchone()
    assert left == (None,)


@pytest.mark.req("X-18")
@pytest.mark.parametrize("version", range(1, len(migrations.list_migrations())))
def test_a_database_of_each_version_goes_on_with_all_verbs(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    url, steps = postgres.url(postgres.database()), migrations.list_migrations()
    with monkeypatch.context() as past:
        past.setattr(migrations, "list_migrations", lambda: steps[:version])
        with _memory(url) as memory:
            memory.add("I live in Rome", user_id="alice", infer=False)
    with _memory(url) as memory:
        assert memory.get_all(user_id="alice")["results"][0]["memory"] == "I live in Rome"
        memory.admin.consolidate(user_id="alice")
        memory.admin.erase(user_id="alice")
        assert memory.get_all(user_id="alice")["results"] == []


def test_the_product_does_not_work_as_the_role_that_owns_the_tables(postgres: Server) -> None:
    with _memory(postgres.url(postgres.name)) as memory:
        answer = memory.admin.check()

    assert answer["role"] == "postgres"
    assert answer["acts_as"] == migrations.APP_ROLE
    assert answer["walled"]


def test_a_role_that_nothing_binds_is_told_so(postgres: Server) -> None:
    name = postgres.database(postgres.pattern)
    with postgres.superuser(name) as connection:
        connection.execute("DROP ROLE IF EXISTS above")
        connection.execute("CREATE ROLE above LOGIN BYPASSRLS")
        migrations.grant_to_role(connection, "above")

    with _memory(postgres.url(name, "above")) as memory:
        answer = memory.admin.check()

    assert not answer["walled"]


# --- while a process has the database open ----------------------------------------------------------------------------

_WRITES: dict[str, Callable[[Memory, Path], object]] = {
    "add": lambda memory, _: memory.add("I live in Bern", user_id="alice", infer=False),
    "set_settings": lambda memory, _: memory.settings.set({"context.budget": 700}, user_id="alice"),
    "erase": lambda memory, _: memory.admin.erase(user_id="alice"),
    "restore_backup": lambda memory, folder: memory.admin.backups.restore(folder / "early.backup"),
}


def _wider(script: str) -> tuple[Migration, ...]:
    steps = migrations.list_migrations()
    number = steps[-1].number + 1
    return (*steps, Migration(number, f"{number:04d}_wider.sql", script))


@pytest.mark.req("X-18", "C-52")
@pytest.mark.parametrize("verb", _WRITES)
@pytest.mark.parametrize(
    "script", ["ALTER TABLE memories ADD COLUMN colour TEXT", "ALTER TABLE memories RENAME COLUMN text TO words"]
)
def test_an_older_process_writes_nothing_after_an_upgrade(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, script: str
) -> None:
    name = postgres.database()
    with _memory(postgres.url(name)) as older:
        older.add("I live in Rome", user_id="alice", infer=False)
        older.admin.backups.create(tmp_path / "early.backup")
        with monkeypatch.context() as future, postgres.superuser(name) as connection:
            steps = _wider(script)
            future.setattr(migrations, "list_migrations", lambda: steps)
            migrations.migrate_schema(connection)

        with pytest.raises(SchemaTooNew, match="upgraded to schema") as caught:
            _WRITES[verb](older, tmp_path)

    assert "restart" in caught.value.hint
    with postgres.superuser(name) as connection:
        assert connection.execute("SELECT count(*) FROM memstone.memories").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM memstone.settings").fetchone() == (0,)


@pytest.mark.req("X-18")
def test_an_upgrade_waits_for_who_is_writing(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what is written in the form of the older schema could be committed after the upgrade."""
    name = postgres.database()
    steps = _wider("CREATE TABLE memstone.unrelated (a INT)")
    begun, upgraded = threading.Event(), threading.Event()

    def upgrade() -> None:
        begun.wait(LONG)
        with postgres.superuser(name) as connection:
            migrations.migrate_schema(connection)
        upgraded.set()

    async def write(tx: Tx) -> bool:
        await tx.preferences.put("default", "user:alice", {"a": "1"}, "2026-05-07T09:30:00.000000Z")
        monkeypatch.setattr(migrations, "list_migrations", lambda: steps)
        begun.set()
        return upgraded.wait(0.5)

    with _memory(postgres.url(name)) as memory, ThreadPoolExecutor(1) as pool:
        memory.add("I live in Rome", user_id="alice", infer=False)
        upgrading = pool.submit(upgrade)
        assert not drive(memory.engine.runtime.ledger.write(write)), "the upgrade was not waiting"
        upgrading.result(LONG)
