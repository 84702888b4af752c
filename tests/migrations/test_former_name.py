"""What an installation of the former name left behind is opened, never lost, and never silently empty."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory, Settings
from memstone.adapters.sqlite import migrations
from memstone.cli.run import run_command
from memstone.core.prompt.fence import Fence
from memstone.errors import ConfigError, Forbidden
from tests.postgres.server import APP, Server

DATA = Path(__file__).parent.parent / "data" / "retain-0.1"
LOCAL = {"embedder": {"provider": "local"}}


def expected(name: str = "expected.json") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((DATA / name).read_text())
    return answer


def unpacked(name: str, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(DATA / f"{name}.gz") as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
    return target


def opened(path: Path) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}"}, **LOCAL})


def memories(memory: Memory, user: str) -> list[str]:
    return sorted(row["memory"] for row in memory.get_all(user_id=user)["results"])


def check_everything(memory: Memory, answer: dict[str, Any]) -> None:
    check_memories(memory, answer)
    assert [one["login"] for one in memory.admin.accounts.list()] == ["alice@example.com"]
    assert [one["id"] for one in memory.admin.keys.list()] == [answer["key"].split("_")[1]]


def check_memories(memory: Memory, answer: dict[str, Any]) -> None:
    for who, texts in answer["memories"].items():
        tenant, _, user = who.rpartition("/")
        assert memories(memory.acting_for(tenant) if tenant else memory, user) == texts
    assert [event["new_value"] for event in memory.history(answer["history_of"])] == answer["history"]
    assert memory.stats()["vectors"] == answer["stats"]["vectors"]
    assert memory.search("Where is the meeting room?", user_id="alice")["results"][0]["id"] == answer["history_of"]
    assert [one["text"] for one in memory.identity.get(user_id="alice")["overrides"]] == ["Call me Al."]
    assert memory.settings.pauses(user_id="carol")["paused"]


@pytest.mark.req("X-18")
def test_a_store_of_the_former_name_is_opened(tmp_path: Path) -> None:
    path = unpacked("retain.db", tmp_path / "retain.db")

    with opened(path) as memory:
        check_everything(memory, expected())
        assert memory.add("I keep bees.", user_id="alice", infer=False)["status"] == "ok"
        assert memory.admin.verify_erasure(json.loads((DATA / "erasure.json").read_text()))["ok"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (migrations.APPLICATION_ID,)


def test_an_export_of_the_former_name_is_loaded(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (DATA / "export.jsonl").read_text().splitlines()]

    with opened(tmp_path / "new.db") as memory:
        memory.load(lines)
        for user in ("alice", "bob", "carol"):
            assert memories(memory, user) == expected()["memories"][user]


def test_a_backup_of_the_former_name_is_restored(tmp_path: Path) -> None:
    backup = unpacked("store.backup", tmp_path / "store.backup")

    with opened(tmp_path / "new.db") as memory:
        assert memory.admin.backups.verify(backup)["origin"] == "foreign", "that version signed nothing"
        with pytest.raises(Forbidden, match="foreign"):
            memory.admin.backups.restore(backup)
        assert memory.stats()["memories"] == 0
        restored = memory.admin.backups.restore(backup, foreign=True)
        check_memories(memory, expected())
        assert memory.admin.accounts.list() == []
        assert memory.admin.keys.list() == []
    assert restored["left_out"]["rows"].keys() >= {"accounts", "api_keys", "secrets"}


def test_a_backup_of_a_database_of_the_former_name_is_restored(tmp_path: Path, postgres: Server) -> None:
    backup = unpacked("postgres.backup", tmp_path / "store.backup")

    with Memory({"store": {"url": postgres.url(postgres.database()), "durable": False}, **LOCAL}) as memory:
        with pytest.raises(Forbidden, match="foreign"):
            memory.admin.backups.restore(backup)
        restored = memory.admin.backups.restore(backup, foreign=True)
        check_memories(memory, expected("postgres-expected.json"))
        assert memory.admin.accounts.list() == []
        assert memory.admin.keys.list() == []
    assert restored["left_out"]["rows"].keys() >= {"accounts", "api_keys", "secrets"}


def test_an_erasure_of_the_former_name_is_done_again_after_a_restore(tmp_path: Path) -> None:
    path = unpacked("retain.db", tmp_path / "retain.db")
    with opened(path) as memory:
        backup = memory.admin.backups.create(tmp_path / "now.backup")["path"]
        report = memory.admin.erase(user_id="bob")
        memory.admin.backups.restore(backup)

        assert memories(memory, "bob") == []
        assert memory.admin.verify_erasure(report)["ok"]


def test_fences_of_the_former_name_are_stripped(tmp_path: Path) -> None:
    number = "0123456789abcdef01234567"
    fenced = f'<retain-memory id="{number}">\nUser has a boat.\n</retain-memory id="{number}">'
    assert Fence(b"secret").strip(f"{fenced}\nI keep bees.") == ("I keep bees.", True)

    with opened(tmp_path / "new.db") as memory:
        memory.add(f"{fenced}\nI keep bees.", user_id="alice")
        turns = memory.get_all(user_id="alice", layers=["turn"])["results"]
    assert [turn["memory"] for turn in turns] == ["I keep bees."]


# --- the default place ------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def former(home: Path) -> Path:
    return unpacked("retain.db", home / ".retain" / "retain.db")


def test_the_default_is_refused_while_only_the_former_store_is_there(former: Path) -> None:
    with pytest.raises(ConfigError, match="former name") as caught:
        Memory()

    assert "memstone adopt" in caught.value.hint
    assert not (former.parent.parent / ".memstone").exists()


def test_adopt_takes_the_former_store_over(former: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    former.with_name("retain.db.before-0002").write_bytes(b"an older copy")

    assert run_command(["adopt"]) == 0

    assert "14 memories" in capsys.readouterr().out
    assert not list(former.parent.iterdir())
    assert (home / ".memstone" / "memstone.db.before-0002").read_bytes() == b"an older copy"
    with Memory() as memory:
        check_everything(memory, expected())


def test_adopt_touches_no_store_that_is_there_and_none_that_is_open(former: Path, home: Path) -> None:
    with closing(sqlite3.connect(former)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert run_command(["adopt"]) != 0
    assert former.exists()
    with Memory({"store": {"url": f"sqlite:///{home / '.memstone' / 'memstone.db'}"}}) as memory:
        memory.add("I keep bees.", user_id="alice", infer=False)
    assert run_command(["adopt"]) != 0
    assert former.exists()


def test_a_new_installation_is_not_bothered(home: Path) -> None:
    with Memory() as memory:
        assert memory.stats()["memories"] == 0


@pytest.mark.parametrize(
    ("variable", "now"),
    [
        ("RETAIN_STORE__URL", "MEMSTONE_STORE__URL"),
        ("RETAIN_CONFIG", "MEMSTONE_CONFIG"),
        ("RETAIN_TENANT", "MEMSTONE_TENANT"),
    ],
)
def test_a_variable_of_the_former_name_is_refused(variable: str, now: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(variable)) as caught:
        Settings.load(env={variable: "sqlite:///somewhere.db"})
    assert now in caught.value.hint

    assert Settings.load(env={"RETAIN_KEY": "x", "RETAIN_PORT": "tcp://10.0.0.1:80"}) == Settings()


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def test_a_postgresql_store_of_the_former_name_is_taken_over(postgres: Server) -> None:
    name = former_database(postgres)

    with Memory({"store": {"url": postgres.url(name), "durable": False}, **LOCAL}) as memory:
        answer = expected("postgres-expected.json")
        check_everything(memory, answer)
        assert memory.admin.verify_erasure(json.loads((DATA / "postgres-erasure.json").read_text()))["ok"]

    with postgres.superuser(name) as connection:
        schemas = connection.execute("SELECT nspname::text FROM pg_namespace WHERE nspname ~ 'retain|memstone'")
        assert {row[0] for row in schemas} == {"memstone", "memstone_views"}


def test_a_taken_over_database_has_the_schema_of_a_fresh_one(postgres: Server) -> None:
    name = former_database(postgres)
    with Memory({"store": {"url": postgres.url(name), "durable": False}, **LOCAL}) as memory:
        memory.stats()

    assert schema(postgres, name) == schema(postgres, postgres.pattern)


def test_whoever_may_not_rename_is_told_what_to_do(postgres: Server) -> None:
    name = former_database(postgres)

    with pytest.raises(Exception, match=r"renamed|privilege") as caught:
        Memory({"store": {"url": postgres.url(name, APP), "durable": False}, **LOCAL}).stats()

    assert "memstone migrate" in getattr(caught.value, "hint", "")


def former_database(postgres: Server) -> str:
    """A database as the former version left it."""
    name = postgres.database()
    with postgres.superuser(name) as connection:
        if connection.execute("SELECT to_regrole('retain_app')").fetchone() == (None,):
            connection.execute("CREATE ROLE retain_app NOLOGIN NOSUPERUSER NOBYPASSRLS")
        with gzip.open(DATA / "postgres.sql.gz", "rt") as script:
            connection.execute(script.read().encode())
    return name


_COLUMNS = "information_schema.columns WHERE table_schema ~ '^memstone'"


def schema(postgres: Server, name: str) -> list[str]:
    """Tables, columns, defaults, policies, functions and views, as the server writes them."""
    with postgres.superuser(name) as connection:
        rows: list[tuple[Any, ...]] = []
        for query in (
            "SELECT table_name::text, column_name::text, column_default::text, data_type::text FROM _columns",
            "SELECT tablename::text, policyname::text, qual::text FROM pg_policies WHERE schemaname = 'memstone'",
            "SELECT proname::text, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'memstone'::regnamespace",
            "SELECT viewname::text, definition::text FROM pg_views WHERE schemaname = 'memstone_views'",
            "SELECT indexname::text, indexdef::text FROM pg_indexes WHERE schemaname = 'memstone'",
        ):
            rows += connection.execute(query.replace("_columns", _COLUMNS).encode()).fetchall()
    return sorted(map(repr, rows))
