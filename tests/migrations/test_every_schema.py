"""Stores, exports and backups of every schema so far open in this version, on SQLite and PostgreSQL."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.postgres import migrations as postgres_migrations
from memstone.adapters.sqlite import migrations
from memstone.errors import Forbidden
from tests.encryption.vault import key_file, run_json, write_config
from tests.postgres.server import Server

DATA = Path(__file__).parent.parent / "data" / "schemas"
SCHEMAS = sorted(int(folder.name.rpartition("-")[2]) for folder in DATA.glob("schema-*"))
SIGNED = 5
"""Backups are signed from this schema on."""


def expected(schema: int, prefix: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((DATA / f"schema-{schema}" / f"{prefix}expected.json").read_text())
    return answer


def unpack(schema: int, name: str, target: Path) -> Path:
    with gzip.open(DATA / f"schema-{schema}" / f"{name}.gz") as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
    return target


def opened(url: str, **store: str) -> Memory:
    return Memory({"store": {"url": url, **store}, "embedder": {"provider": "hash"}})


def texts(memory: Memory, user: str) -> list[str]:
    return sorted(row["memory"] for row in memory.get_all(user_id=user)["results"])


def check_memories(memory: Memory, answer: dict[str, Any]) -> None:
    for name, stored in answer["memories"].items():
        tenant, _, user = name.rpartition("/")
        assert texts(memory.acting_for(tenant) if tenant else memory, user) == stored
    assert [event["new_value"] for event in memory.history(answer["history_of"])] == answer["history"]
    assert memory.stats()["vectors"] == answer["vectors"]
    found = memory.search("Which door has the lighthouse at Vardo?", user_id="alice")["results"]
    assert found[0]["id"] == answer["history_of"]
    memory.add("The pier was painted", user_id="alice", infer=False)
    assert "The pier was painted" in texts(memory, "alice")


def check_access(memory: Memory, answer: dict[str, Any]) -> None:
    assert [one["login"] for one in memory.admin.accounts.list()] == ["ann@example.com"]
    assert [one["id"] for one in memory.admin.keys.list()] == [answer["key"]["id"]]
    assert memory.settings.get(user_id="alice")["settings"]["context.budget"] == 700


def test_there_is_a_store_of_every_schema() -> None:
    known = {*SCHEMAS, 2}  # the second schema is that of the former name, which has tests of its own
    assert known >= set(range(1, migrations.latest_schema_version() + 1))
    assert postgres_migrations.latest_schema_version() == migrations.latest_schema_version()


@pytest.mark.req("S-53")
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_store_opens(schema: int, tmp_path: Path) -> None:
    path = unpack(schema, "store.db", tmp_path / "store.db")
    with opened(f"sqlite:///{path}") as memory:
        check_access(memory, expected(schema))
        check_memories(memory, expected(schema))
        assert memory.admin.check()["integrity"] == ["ok"]
        assert memory.admin.check()["schema"] == migrations.latest_schema_version()


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_store_can_be_encrypted(schema: int, tmp_path: Path) -> None:
    path = unpack(schema, "store.db", tmp_path / "store.db")
    assert run_json(write_config(path, key_file(path)), "encryption", "enable").code == 0
    with opened(f"sqlite:///{path}", encryption_key=key_file(path)) as memory:
        check_memories(memory, expected(schema))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_export_is_loaded(schema: int, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (DATA / f"schema-{schema}" / "export.jsonl").read_text().splitlines()]
    with opened(f"sqlite:///{tmp_path / 'new.db'}") as memory:
        memory.load(lines)
        for user in ("alice", "bob"):
            assert texts(memory, user) == expected(schema)["memories"][user]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_export_is_loaded_into_postgresql(schema: int, postgres: Server) -> None:
    lines = [json.loads(line) for line in (DATA / f"schema-{schema}" / "export.jsonl").read_text().splitlines()]
    with opened(postgres.fresh()) as memory:
        memory.load(lines)
        for user in ("alice", "bob"):
            assert texts(memory, user) == expected(schema)["memories"][user]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_backup_is_restored(schema: int, tmp_path: Path) -> None:
    backup = unpack(schema, "store.backup", tmp_path / "store.backup")
    with opened(f"sqlite:///{tmp_path / 'new.db'}") as memory:
        with pytest.raises(Forbidden, match="foreign"):
            memory.admin.backups.restore(backup)
        memory.admin.backups.restore(backup, foreign=True)
        check_memories(memory, expected(schema))
        assert memory.admin.keys.list() == []


@pytest.mark.parametrize("schema", [one for one in SCHEMAS if one >= SIGNED])
def test_a_signed_backup_is_restored_with_keys_and_accounts(schema: int, tmp_path: Path) -> None:
    backup = unpack(schema, "store.backup", tmp_path / "store.backup")
    shutil.copy(DATA / f"schema-{schema}" / "store.key", tmp_path / "new.db.key")
    with opened(f"sqlite:///{tmp_path / 'new.db'}") as memory:
        assert memory.admin.backups.restore(backup)["origin"] == "ours"
        check_access(memory, expected(schema))
        check_memories(memory, expected(schema))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_database_opens(schema: int, postgres: Server) -> None:
    name = _old_database(schema, postgres)
    with opened(postgres.url(name)) as memory:
        check_access(memory, expected(schema, "postgres-"))
        check_memories(memory, expected(schema, "postgres-"))
        assert memory.admin.check()["schema"] == postgres_migrations.latest_schema_version()


def _old_database(schema: int, postgres: Server) -> str:
    """A database as a version with that schema left it."""
    name = postgres.database()
    with gzip.open(DATA / f"schema-{schema}" / "postgres.sql.gz", "rt") as file:
        script = file.read()
    role = "retain_app" if "retain_app" in script else "memstone_app"
    with postgres.superuser(name) as connection:
        if connection.execute("SELECT to_regrole(%s)", (role,)).fetchone() == (None,):
            connection.execute(f"CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS".encode())
        connection.execute(re.sub(r"(?m)^\\.*$", "", script).encode())
    return name


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_backup_of_a_database_is_restored(schema: int, tmp_path: Path, postgres: Server) -> None:
    backup = unpack(schema, "postgres-store.backup", tmp_path / "store.backup")
    key: dict[str, str] = {}
    if schema >= SIGNED:
        shutil.copy(DATA / f"schema-{schema}" / "postgres.key", tmp_path / "store.key")
        key = {"key": f"file:{tmp_path / 'store.key'}"}
    with opened(postgres.url(postgres.database()), **key) as memory:  # as one who sees every tenant
        memory.admin.backups.restore(backup, foreign=schema < SIGNED)
        check_memories(memory, expected(schema, "postgres-"))
        if schema >= SIGNED:
            check_access(memory, expected(schema, "postgres-"))
