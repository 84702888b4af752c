from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite import migrations as runner
from memstone.errors import Corrupted, MigrationFailed, SchemaTooNew

REAL = runner.list_migrations()
NEXT = REAL[-1].number + 1
WIDER = runner.Migration(NEXT, f"{NEXT:04d}_wider.sql", "ALTER TABLE memories ADD COLUMN colour TEXT; -- new\n")
SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memstone.db"


def opened(path: Path) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}})


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Memstone of the future, with one more migration."""
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))


def filled(path: Path) -> str:
    with opened(path) as memory:
        added = memory.add("I live in Oslo", user_id="alice", metadata={"a": 1}, infer=False)
        memory_id: str = added["results"][0]["id"]
        memory.update(memory_id, "I live in Rome")
    return memory_id


def test_the_steps_are_numbered_without_a_gap() -> None:
    assert [step.number for step in REAL] == list(range(1, len(REAL) + 1))
    assert len({step.name for step in REAL}) == len(REAL)


@pytest.mark.req("S-53")
def test_a_store_is_one_file_in_wal_mode_that_knows_its_schema(path: Path) -> None:
    filled(path)
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert rows(path, "PRAGMA user_version") == [(REAL[-1].number,)]
    assert {one.name for one in path.parent.iterdir()} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}


@pytest.mark.req("X-18")
def test_a_migrated_file_has_the_schema_of_a_fresh_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))
    fresh = tmp_path / "fresh.db"
    opened(fresh).close()
    opened(path).close()

    assert rows(path, SCHEMA) == rows(fresh, SCHEMA)
    assert rows(path, "PRAGMA user_version") == rows(fresh, "PRAGMA user_version") == [(NEXT,)]
    assert rows(path, "PRAGMA application_id") == [(runner.APPLICATION_ID,)]


@pytest.mark.req("X-18")
def test_nothing_is_lost_by_a_migration(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory_id = filled(path)
    with opened(path) as memory:
        before = list(memory.export(everybody=True))
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))

    with opened(path) as memory:
        assert list(memory.export(everybody=True)) == before
        assert len(memory.history(memory_id)) == 2
        memory.add("and something new", user_id="alice", infer=False)
        assert len(memory.search("Rome", user_id="alice")["results"]) == 2


@pytest.mark.req("X-18")
@pytest.mark.parametrize("version", range(1, len(REAL)))
def test_a_file_of_each_version_goes_on_with_all_verbs(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as past:
        past.setattr(runner, "list_migrations", lambda: REAL[:version])
        filled(path)
    with opened(path) as memory:
        assert memory.get_all(user_id="alice")["results"][0]["memory"] == "I live in Rome"
        memory.admin.consolidate(user_id="alice")
        memory.admin.erase(user_id="alice")
        assert memory.get_all(user_id="alice")["results"] == []
    assert rows(path, "PRAGMA user_version") == [(NEXT - 1,)]


def test_an_older_file_is_copied_aside_before_it_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    schema = rows(path, SCHEMA)
    assert [item.name for item in path.parent.glob("*before*")] == [], "a new file needs no copy"
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))

    opened(path).close()

    (copy,) = path.parent.glob("*before*")
    assert copy.name == f"memstone.db.before-{NEXT:04d}"
    assert rows(copy, SCHEMA) == schema
    assert rows(copy, "PRAGMA user_version") == [(NEXT - 1,)]
    assert copy.stat().st_mode & 0o777 == 0o600, "as private as the store"
    monkeypatch.setattr(runner, "list_migrations", lambda: REAL)
    with opened(copy) as memory:
        assert memory.get_all(user_id="alice")["results"][0]["memory"] == "I live in Rome"


def test_opening_again_changes_nothing(path: Path) -> None:
    filled(path)
    schema = rows(path, SCHEMA)
    opened(path).close()
    assert rows(path, SCHEMA) == schema
    assert [item.name for item in path.parent.glob("*before*")] == []


@pytest.mark.req("C-52")
def test_a_file_from_the_future_is_refused_and_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as future:
        future.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))
        filled(path)
    content = rows(path, "SELECT * FROM memories")

    with pytest.raises(SchemaTooNew, match=str(NEXT)) as caught:
        opened(path)
    assert "upgrade" in caught.value.hint
    assert rows(path, "SELECT * FROM memories") == content
    assert rows(path, "PRAGMA user_version") == [(NEXT,)]


@pytest.mark.req("C-52")
@pytest.mark.parametrize("version", [0, 1, 999])
def test_a_file_of_somebody_else_is_refused_and_left_alone(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE customers (name TEXT)")
        database.execute(f"PRAGMA user_version = {version}")

    with pytest.raises((Corrupted, SchemaTooNew)) as caught:
        opened(path)
    assert caught.value.hint
    assert rows(path, "SELECT name FROM sqlite_master") == [("customers",)]
    assert rows(path, "PRAGMA user_version") == [(version,)]


@pytest.mark.req("C-52", "C-56")
@pytest.mark.parametrize(
    "script", ["CREATE TABLE half (a);\nCREATE TABLE half (a);\n", "ALTER TABLE nowhere ADD COLUMN a;"]
)
def test_a_migration_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    filled(path)
    before = rows(path, SCHEMA)
    with monkeypatch.context() as future:
        future.setattr(runner, "list_migrations", lambda: (*REAL, runner.Migration(NEXT, "broken.sql", script)))
        with pytest.raises(MigrationFailed, match=r"broken\.sql") as caught:
            opened(path)
        assert caught.value.hint

    assert rows(path, SCHEMA) == before
    assert rows(path, "PRAGMA user_version") == [(NEXT - 1,)]
    with opened(path) as memory:
        assert memory.get_all(user_id="alice")["results"][0]["memory"] == "I live in Rome"


def test_a_step_that_failed_can_be_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    broken = runner.Migration(NEXT, "broken.sql", "nonsense;")
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, broken))
    with pytest.raises(MigrationFailed):
        opened(path)
    monkeypatch.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))
    opened(path).close()
    assert rows(path, "PRAGMA user_version") == [(NEXT,)]


def test_a_store_in_memory_is_migrated_too(later: None) -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        assert memory.admin.check()["schema"] == NEXT


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("CREATE TABLE a (b);\nCREATE TABLE c (d);\n", 2),
        ("-- only a remark\n", 0),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\n  DELETE FROM c;\nEND;\nSELECT ';';\n", 2),
    ],
)
def test_a_script_is_taken_apart_at_its_semicolons(script: str, count: int) -> None:
    assert len(list(runner.split_statements(script))) == count


# --- while a process has the file open --------------------------------------------------------------------------------

_WRITES: dict[str, Callable[[Memory, Path], object]] = {
    "add": lambda memory, _: memory.add("I live in Bern", user_id="alice", infer=False),
    "update": lambda memory, _: memory.update(memory.get_all(user_id="alice")["results"][0]["id"], "I live in Bern"),
    "delete_all": lambda memory, _: memory.delete_all(user_id="alice"),
    "set_settings": lambda memory, _: memory.settings.set({"context.budget": 700}, user_id="alice"),
    "erase": lambda memory, _: memory.admin.erase(user_id="alice"),
    "backup": lambda memory, folder: memory.admin.backups.create(folder / "late.backup"),
    "restore_backup": lambda memory, folder: memory.admin.backups.restore(folder / "early.backup"),
}


@pytest.mark.req("X-18", "C-52")
@pytest.mark.parametrize("verb", _WRITES)
def test_an_older_process_writes_nothing_after_an_upgrade(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    filled(path)
    with opened(path) as older:
        older.admin.backups.create(tmp_path / "early.backup")
        older.add("I have a cat", user_id="alice", infer=False)
        with monkeypatch.context() as future:
            future.setattr(runner, "list_migrations", lambda: (*REAL, WIDER))
            opened(path).close()
        content = rows(path, "SELECT * FROM memories"), rows(path, "SELECT * FROM settings")

        with pytest.raises(SchemaTooNew, match=f"upgraded to schema {NEXT}") as caught:
            _WRITES[verb](older, tmp_path)

        assert "restart" in caught.value.hint
        assert len(older.get_all(user_id="alice")["results"]) == 2, "reading goes on"
    assert (rows(path, "SELECT * FROM memories"), rows(path, "SELECT * FROM settings")) == content
    assert rows(path, "PRAGMA user_version") == [(NEXT,)]


@pytest.mark.req("X-18", "C-52")
def test_an_older_process_that_misses_a_column_after_an_upgrade_is_told_why(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    renamed = runner.Migration(NEXT, "renamed.sql", "ALTER TABLE memories RENAME COLUMN salience TO weight;")
    with opened(path) as older:
        with monkeypatch.context() as future:
            future.setattr(runner, "list_migrations", lambda: (*REAL, renamed))
            opened(path).close()
        with pytest.raises(SchemaTooNew, match="upgraded"):
            older.get_all(user_id="alice")
