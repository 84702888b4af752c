"""Keys of providers that are set over the API: sealed wherever they lie, gone when removed, missed when lost."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.store_key import AesGcm
from memstone.config import Settings
from memstone.drive import drive
from memstone.engine import backends
from memstone.errors import Corrupted, InvalidInput, MissingExtra
from memstone.server.stored_settings import with_stored
from memstone.server.urls import UrlGuard
from tests.postgres.server import Server
from tests.server.conftest import CONFIG
from tests.server.world import World

pytestmark = pytest.mark.req("N-7")

KEY = "sk-live-0123456789-abcdefgh-WXYZ"
OTHER = "sk-live-9876543210-zyxwvuts-ABCD"
PUBLIC = UrlGuard([], lambda _host, _port: ["93.184.216.34"])
CHOSEN: dict[str, Any] = {
    "embeddingSource": "remote",
    "embeddingProviderModel": "openai/m",
    "backendConfigs": {"openai": {"baseUrl": "https://models.example.com/v1", "apiKey": KEY}},
}


def settings(path: Path, **store: Any) -> Settings:
    return Settings.of({**CONFIG, "store": {"url": f"sqlite:///{path}", **store}})


def opened(path: Path, **store: Any) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}", **store}, "embedder": {"provider": "hash"}})


@contextmanager
def running(path: Path) -> Iterator[World]:
    with World.of(settings(path)) as world:  # type: ignore[arg-type]
        world.app.state.memstone.guard = PUBLIC
        yield world


def files_with(folder: Path, *words: str) -> list[str]:
    """The files in a folder whose raw bytes hold one of these."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in found if any(word.encode() in path.read_bytes() for word in words)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def test_no_file_of_a_service_holds_a_key_that_was_set(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with running(path) as world:
        changed = world.client.put("/api/settings/memory", json=CHOSEN)
        assert changed.json()["backendConfigs"]["openai"]["apiKey"] == "***WXYZ"
        world.client.put("/api/settings/qdrant", json={"host": "q.example.com", "apiKey": OTHER})
        world.run(world.app.state.memstone.memory.admin.backups.create, tmp_path / "m.backup")
        assert (tmp_path / "m.db-wal").exists(), "while it runs there is a log, too"
        assert files_with(tmp_path, KEY, OTHER) == []
    texts = capfd.readouterr()
    assert KEY not in caplog.text + texts.out + texts.err
    assert files_with(tmp_path, KEY, OTHER) == []
    assert with_stored(settings(path), PUBLIC).embedder.config["api_key"] == KEY


def test_a_key_that_is_removed_or_replaced_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        sealed = stored(path)
        drive(memory.engine.run(backends.set_backends, {"qdrantApiKey": OTHER}))
        replaced = stored(path)
        assert files_with(tmp_path, *sealed) == []
        drive(memory.engine.run(backends.set_backends, {"qdrantApiKey": ""}))
        assert files_with(tmp_path, *sealed, *replaced) == []
        assert drive(memory.engine.run(backends.get_backends))["settings"]["qdrantApiKey"] == ""


def stored(path: Path) -> list[str]:
    """What stands in the database."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT value FROM settings WHERE scope_key = 'service:secrets'").fetchall()
    return [str(json.loads(row[0])) for row in rows]


# --- what an earlier version stored as it is --------------------------------------------------------------------------


def store_plain(path: Path) -> None:
    """Store a key as an earlier version did."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO settings VALUES ('default', '', '', 'v1', '2026-01-01')")
        for scope, name, value in (
            ("service:backends", "embeddingSource", "remote"),
            ("service:backends", "embeddingProviderModel", "openai/m"),
            ("service:backends", "backendConfigs", {"openai": {"baseUrl": "https://models.example.com/v1"}}),
            ("service:secrets", "backendConfigs.openai", KEY),
        ):
            row = ("default", scope, name, json.dumps(value), "2026-01-01")
            database.execute("INSERT INTO settings VALUES (?, ?, ?, ?, ?)", row)


def test_a_key_that_was_stored_as_it_is_gets_sealed_when_a_service_starts(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
    store_plain(path)
    with opened(path) as memory:
        memory.admin.backups.create(tmp_path / "old.backup")
    shutil.copy(path, path.with_name("m.db.before-0002"))
    assert set(files_with(tmp_path, KEY)) == {"m.db", "old.backup", "m.db.before-0002"}

    later = with_stored(settings(path), PUBLIC)

    assert later.embedder.config["api_key"] == KEY
    assert files_with(tmp_path, KEY) == []
    assert all(one.startswith("sealed:1:") for one in stored(path))
    with opened(path) as memory:
        checked = memory.admin.backups.verify(tmp_path / "old.backup")
        assert (checked["origin"], checked["rewritten"]) == ("ours", True)
        assert memory.get_all(user_id="alice")["results"]
    with closing(sqlite3.connect(path.with_name("m.db.before-0002"))) as older:
        assert older.execute("SELECT count(*) FROM memories").fetchone() == (1,), "it is there for the older version"


# --- the key of the store ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["removed", "another"])
def test_a_lost_key_is_said_aloud_and_nothing_is_deleted(
    path: Path, tmp_path: Path, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running(path) as world:
        assert world.client.put("/api/settings/memory", json=CHOSEN).status_code == 200
    stored = shutil.move(path.with_name("m.db.key"), tmp_path / "kept.key")
    if lost == "another":
        with opened(path) as memory:
            memory.admin.backups.create(tmp_path / "m.backup")  # makes another key

    later = with_stored(settings(path), PUBLIC)

    assert later.embedder == settings(path).embedder, "it is not used without its key"
    texts = {record.getMessage(): vars(record)["setting"] for record in caplog.records if "setting" in vars(record)}
    assert texts == {"backends.key_unreadable": "backendConfigs.openai", "backends.not_applied": "embeddingSource"}
    with opened(path) as memory:
        typed_dict = drive(memory.engine.run(backends.get_backends))
        assert typed_dict["unreadable"] == ["backendConfigs.openai"]
        assert typed_dict["settings"]["backendConfigs"]["openai"]["apiKey"] == "***"
        drive(memory.engine.run(backends.set_backends, {"qdrantPort": 6334}))
        assert drive(memory.engine.run(backends.get_backends))["unreadable"] == ["backendConfigs.openai"], (
            "other changes leave it as it is"
        )
    shutil.copy(stored, path.with_name("m.db.key"))
    assert with_stored(settings(path), PUBLIC).embedder.config["api_key"] == KEY


def test_a_lost_key_is_replaced_by_setting_the_providers_key_again(path: Path) -> None:
    with opened(path) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        path.with_name("m.db.key").unlink()
        changed = drive(memory.engine.run(backends.set_backends, {"qdrantApiKey": OTHER}))
        assert (changed["unreadable"], changed["settings"]["qdrantApiKey"]) == ([], "***ABCD")
        assert drive(memory.engine.run(backends.get_backends))["unreadable"] == []


def test_a_sealed_key_is_of_no_use_under_another_name_or_for_another_tenant(path: Path) -> None:
    with opened(path) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            moved = "UPDATE settings SET key = 'backendConfigs.openai' WHERE scope_key = 'service:secrets'"
            database.execute(moved)
        assert drive(memory.engine.run(backends.get_backends))["unreadable"] == ["backendConfigs.openai"]


def test_sealing_never_gives_the_same_twice_and_notices_every_change() -> None:
    box, key = AesGcm(), b"k" * 32
    one, other = box.seal(key, KEY, "a"), box.seal(key, KEY, "a")
    assert one != other
    assert box.unseal(key, one, "a") == KEY
    for wrong in (one[:-4] + "AAA=", "sealed:1:", "sealed:1:!!", one + "A"):
        with pytest.raises(Corrupted):
            box.unseal(key, wrong, "a")
    for wrong_key, about in ((b"x" * 32, "a"), (key, "b")):
        with pytest.raises(Corrupted):
            box.unseal(wrong_key, one, about)


def test_without_cryptography_no_key_is_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with opened(path) as memory:
        with pytest.raises(MissingExtra, match="cryptography") as caught:
            drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        assert "memstone[server]" in caught.value.hint
        assert drive(memory.engine.run(backends.get_backends))["settings"]["qdrantHost"] == ""
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com"}))
    assert files_with(path.parent, KEY) == []


@pytest.mark.parametrize("name", ["api_key", "token", "password", "clientSecret", "Authorization", "accessKey"])
def test_what_is_called_like_a_secret_is_not_stored_beside_the_choices(path: Path, name: str) -> None:
    with opened(path) as memory, pytest.raises(InvalidInput, match="backendConfigs") as caught:
        drive(
            memory.engine.run(
                backends.set_backends, {"backendConfigs": {"openai": {"baseUrl": "https://a.example.com", name: KEY}}}
            )
        )
    assert "apiKey" in caught.value.hint


def test_a_foreign_backup_brings_no_keys_of_providers(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        memory.admin.backups.create(tmp_path / "m.backup")
    with opened(tmp_path / "new.db") as memory:
        memory.admin.backups.restore(tmp_path / "m.backup", foreign=True)
        assert drive(memory.engine.run(backends.get_backends))["stored"] == []


def test_with_its_key_a_backup_brings_them_to_a_new_machine(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        memory.admin.backups.create(tmp_path / "m.backup")
    shutil.copy(path.with_name("m.db.key"), tmp_path / "new.db.key")
    with opened(tmp_path / "new.db") as memory:
        memory.admin.backups.restore(tmp_path / "m.backup")
        assert drive(memory.engine.run(backends.get_backends))["settings"]["qdrantApiKey"] == "***WXYZ"


def test_a_database_holds_no_key_that_was_set(postgres: Server) -> None:
    name = postgres.database()
    config = {"store": {"url": postgres.url(name), "durable": False}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory:
        drive(memory.engine.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": KEY}))
        assert drive(memory.engine.run(backends.get_backends))["settings"]["qdrantApiKey"] == "***WXYZ"
    with postgres.superuser(name) as connection:
        rows = connection.execute("SELECT value FROM memstone.settings").fetchall()
    assert any("sealed:1:" in row[0] for row in rows)
    assert not any(KEY in row[0] for row in rows)
