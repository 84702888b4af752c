"""A store is copied to the other database and back without loss."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.compose import ledger_of
from memstone.config import Settings
from memstone.drive import drive
from memstone.engine.transfer import copy_store
from memstone.errors import Conflict, InvalidInput, NotFoundError, StorageError
from memstone.registry import load_adapter
from tests.faces.cli_runner import Cli
from tests.postgres.server import Server

TENANTS = ("acme", "default")


def _memory(url: str, tenant: str = "default") -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, "tenant": tenant})


def _filled(path: Path) -> str:
    url = f"sqlite:///{path}"
    for tenant in TENANTS:
        with _memory(url, tenant) as memory:
            for number in range(12):
                memory.add(f"I live in City{number}. My sister Anna loves olives.", user_id=f"u{number % 3}")
            added = memory.add("as it is", user_id="u0", infer=False, metadata={"n": 1e16, "é": [1, None]})
            memory.update(added["results"][0]["id"], "as it was")
            memory.delete(memory.add("not for long", user_id="u1", infer=False)["results"][0]["id"])
    return url


def _told(url: str, tenant: str) -> list[Any]:
    with _memory(url, tenant) as memory:
        return [
            list(memory.export(everybody=True)),
            memory.search("Where does she live?", user_id="u0"),
            memory.graph.entities(user_id="u1"),
        ]


def _copy(source: str, target: str, tenants: tuple[str, ...] = ()) -> dict[str, Any]:
    io = load_adapter("io", "blocking")()
    old, new = (ledger_of(Settings.of({"store": {"url": url}}), io) for url in (source, target))
    try:
        return drive(copy_store.copy_store(old, new, tenants, None))
    finally:
        drive(old.close())
        drive(new.close())


def test_there_and_back_everything_is_what_it_was(postgres: Server, tmp_path: Path) -> None:
    first, last = _filled(tmp_path / "first.db"), f"sqlite:///{tmp_path / 'last.db'}"
    postgres.fresh()
    between = postgres.url(postgres.name)

    there, back = _copy(first, between), _copy(between, last)

    assert there["tenants"] == list(TENANTS)
    assert there["copied"] == back["copied"] == there["rows"] > 100
    assert there["tables"] == back["tables"]
    for tenant in TENANTS:
        assert _told(first, tenant) == _told(between, tenant) == _told(last, tenant)


def test_a_copy_that_broke_off_goes_on(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = _filled(tmp_path / "first.db"), postgres.fresh()
    monkeypatch.setattr(copy_store, "_AT_ONCE", 7)
    put, calls = copy_store._insert_rows, iter(range(1000))

    async def breaking(*args: Any, **options: Any) -> Any:
        if next(calls) == 9:
            raise OSError("the plug was pulled")
        return await put(*args, **options)

    monkeypatch.setattr(copy_store, "_insert_rows", breaking)
    with pytest.raises(OSError, match="plug"):
        _copy(source, target, TENANTS)

    answer = _copy(source, target, TENANTS)

    assert 0 < answer["copied"] < answer["rows"]
    assert _told(source, "acme") == _told(target, "acme")
    assert _copy(source, target, TENANTS)["copied"] == 0


def test_what_lives_in_the_target_is_not_mixed_with_a_copy(postgres: Server, tmp_path: Path) -> None:
    source, target = _filled(tmp_path / "first.db"), postgres.fresh()
    with _memory(target, "acme") as memory:
        memory.add("somebody else's", user_id="u0", infer=False)

    with pytest.raises(Conflict, match="acme"):
        _copy(source, target, TENANTS)


def test_other_tenants_of_the_target_keep_what_they_have(postgres: Server, tmp_path: Path) -> None:
    source, target = _filled(tmp_path / "first.db"), postgres.fresh()
    with _memory(target, "other") as memory:
        memory.add("ours", user_id="u0", infer=False)
    before = _told(target, "other")

    _copy(source, target, TENANTS)

    assert _told(target, "other") == before
    with _memory(target, "acme") as memory:  # numbers go on behind what was copied
        memory.add("I have moved to Rome.", user_id="u0")
        assert memory.search("Rome", user_id="u0")["results"][0]["memory"].startswith("User")


def test_a_difference_is_found(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "first.db"
    source, target = _filled(path), postgres.fresh()
    compare = copy_store._compare_table

    async def after_a_change(*args: Any) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("UPDATE memories SET text = text || '!' WHERE tenant_id = 'acme'")
        await compare(*args)

    monkeypatch.setattr(copy_store, "_compare_table", after_a_change)
    with pytest.raises(StorageError, match="memories of tenant acme differs"):
        _copy(source, target, TENANTS)


def test_a_role_behind_the_wall_has_to_name_the_tenants(postgres: Server, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="tenants"):
        _copy(postgres.fresh(), f"sqlite:///{tmp_path / 'last.db'}")


def test_a_tenant_that_is_not_there_is_not_copied_in_silence(postgres: Server, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        _copy(_filled(tmp_path / "first.db"), postgres.fresh(), ("acme", "nobody"))


def test_the_command_line_copies_and_migrates(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _filled(tmp_path / "first.db")
    postgres.fresh()
    url, cli = postgres.url(postgres.name), Cli(tmp_path, monkeypatch, capsys)

    copied = cli("copy", str(tmp_path / "first.db"), url, "--json")
    migrated = cli("migrate", "--db", url, "--grant", "app")
    looked = cli("doctor", "--db", url, "--json")

    assert copied.json["tenants"] == list(TENANTS)
    assert "up to date" in migrated.out
    checks = {check["name"]: check["state"] for check in looked.json["checks"]}
    assert checks["row security"] == checks["database"] == "ok"
    assert cli("copy", str(tmp_path / "nowhere.db"), url).code == 1
    assert "--index-vectors" in cli("migrate", "--db", url, "--halfvec").err
    assert "fail  database" in cli("doctor", "--db", postgres.url("nowhere")).out
