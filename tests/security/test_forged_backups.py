"""A backup is restored as ours only if this store signed it; of any other nothing is taken that opens a door."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.core.access.store_key import BackupSigner
from memstone.drive import drive
from memstone.engine import backends
from memstone.errors import ConfigError, Conflict, Corrupted, Forbidden, InvalidInput, MissingExtra
from tests.faces.cli_runner import Cli
from tests.postgres.server import Server

pytestmark = pytest.mark.req("N-45")

EVIL_KEY = (
    "INSERT INTO api_keys (tenant_id, id, hash, created_at, name, subjects, verbs) "
    "VALUES ('default', 'evil', 'x', '2026-01-01', 'evil', '{}', '[\"admin\"]')"
)
EVIL_TRIGGER = "CREATE TRIGGER evil AFTER INSERT ON memories BEGIN DELETE FROM memories; END"


def opened(path: Path | str, **store: Any) -> Memory:
    url = path if isinstance(path, str) else f"sqlite:///{path}"
    return Memory({"store": {"url": url, "durable": False, **store}, "embedder": {"provider": "hash"}})


def texts(memory: Memory) -> list[str]:
    return sorted(one["memory"] for one in memory.get_all(user_id="alice")["results"])


def forge(path: Path, change: Callable[[sqlite3.Connection], object], sign: Callable[[dict[str, Any]], Any]) -> None:
    """Change the database in a backup, and make the sums of the manifest fit again."""
    folder = path.with_name("forged")
    folder.mkdir()
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    manifest, database = json.loads((folder / "manifest.json").read_text()), folder / "memstone.db"
    with closing(sqlite3.connect(database)) as connection:
        change(connection)
        connection.commit()
        counted = {name: _count(connection, name) for name in _tables(connection)}
    raw = database.read_bytes()
    about = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    manifest |= {"tables": counted, "files": {"memstone.db": about}}
    sign(manifest)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(database, "memstone.db")
        archive.writestr("manifest.json", json.dumps(manifest))


def _tables(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'fulltext%' ORDER BY name"
    return [row[0] for row in connection.execute(query)]


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - its own tables


def evil(connection: sqlite3.Connection) -> None:
    connection.execute(EVIL_KEY)
    connection.execute(EVIL_TRIGGER)


def unsigned(manifest: dict[str, Any]) -> None:
    manifest.pop("signature", None)


def signed_before(manifest: dict[str, Any]) -> None:
    """The signature stays what it was."""
    assert manifest["signature"]


def signed_with_what_is_inside(manifest: dict[str, Any]) -> None:
    """A key that the forger could find in the backup itself."""
    signed = BackupSigner(b"0" * 32).sign(manifest)
    manifest["signature"] = {**signed["signature"], "key": manifest["signature"]["key"]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def backup(store: Path, tmp_path: Path) -> Path:
    with opened(store) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        memory.admin.keys.create("app", verbs=["read"])
        memory.admin.accounts.create("alice@example.com", "correct horse battery staple", user_id="alice")
        memory.admin.erase(user_id="nobody")
        memory.admin.backups.create(tmp_path / "m.backup")
    return tmp_path / "m.backup"


@pytest.mark.parametrize("sign", [signed_before, signed_with_what_is_inside])
def test_a_backup_that_was_changed_under_our_signature_is_damaged(store: Path, backup: Path, sign: Any) -> None:
    forge(backup, evil, sign)

    with opened(store) as memory:
        for call in (memory.admin.backups.verify, memory.admin.backups.restore):
            with pytest.raises(Corrupted, match="signature does not match"):
                call(backup)
        with pytest.raises(Corrupted, match="signature does not match"):
            memory.admin.backups.restore(backup, foreign=True)
        assert [one["name"] for one in memory.admin.keys.list()] == ["app"]


def test_a_forged_backup_without_a_signature_brings_neither_its_key_nor_its_trigger(store: Path, backup: Path) -> None:
    forge(backup, evil, unsigned)

    with opened(store) as memory:
        assert memory.admin.backups.verify(backup)["origin"] == "foreign"
        with pytest.raises(Forbidden, match="is foreign") as caught:
            memory.admin.backups.restore(backup)
        assert "--foreign" in caught.value.hint
        restored = memory.admin.backups.restore(backup, foreign=True)

        assert texts(memory) == ["I live in Oslo"]
        assert [one["name"] for one in memory.admin.keys.list()] == ["app"], "those of the store stay"
        assert [one["login"] for one in memory.admin.accounts.list()] == ["alice@example.com"]
        memory.add("I have a cat", user_id="alice", infer=False)
        assert len(texts(memory)) == 2
    assert restored["origin"] == "foreign"
    assert restored["left_out"]["objects"] == ["trigger evil"]
    assert restored["left_out"]["rows"]["api_keys"] == 2
    with closing(sqlite3.connect(store)) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'evil'").fetchone() == (0,)


OTHER_OBJECTS = {
    "view evil": "CREATE VIEW evil AS SELECT * FROM secrets",
    "table evil": "CREATE TABLE evil (a)",
    "index evil": "CREATE INDEX evil ON memories (text)",
    "trigger evil": "CREATE TRIGGER evil BEFORE DELETE ON api_keys BEGIN SELECT raise(IGNORE); END",
}


@pytest.mark.parametrize("name", OTHER_OBJECTS)
def test_only_what_a_store_has_is_taken_from_a_foreign_backup(backup: Path, tmp_path: Path, name: str) -> None:
    forge(backup, lambda connection: connection.execute(OTHER_OBJECTS[name]), unsigned)

    with opened(tmp_path / "new.db") as memory:
        restored = memory.admin.backups.restore(backup, foreign=True)
        assert texts(memory) == ["I live in Oslo"]

    assert name in restored["left_out"]["objects"]
    with closing(sqlite3.connect(tmp_path / "new.db")) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'evil'").fetchone() == (0,)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE memories RENAME TO hidden; CREATE VIEW memories AS SELECT * FROM hidden",
        "ALTER TABLE settings ADD COLUMN colour TEXT",
    ],
)
def test_a_table_that_only_looks_like_ours_is_refused(backup: Path, tmp_path: Path, change: str) -> None:
    forge(backup, lambda connection: connection.executescript(f"PRAGMA foreign_keys = OFF; {change}"), unsigned)

    with opened(tmp_path / "new.db") as memory:
        with pytest.raises(Corrupted, match="is missing or malformed"):
            memory.admin.backups.restore(backup, foreign=True)
        assert memory.stats()["memories"] == 0


def test_a_foreign_backup_does_not_say_where_a_service_sends_what_it_is_told(backup: Path, tmp_path: Path) -> None:
    rows = [("service:backends", "embeddingSource", '"remote"'), ("user:alice", "context.budget", "700")]
    rows.append(("", "", "a version, by which others see that there are settings"))

    def change(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT INTO settings VALUES ('default', ?, ?, ?, '2026-01-01')", rows)

    forge(backup, change, unsigned)
    with opened(tmp_path / "new.db") as memory:
        restored = memory.admin.backups.restore(backup, foreign=True)
        assert drive(memory.engine.run(backends.get_backends))["stored"] == []
        assert memory.settings.get(user_id="alice")["settings"]["context.budget"] == 700
    assert restored["left_out"]["rows"]["settings"] == 1


@pytest.mark.parametrize("foreign", [1, "yes", None, "false"])
def test_foreign_is_asked_for_in_so_many_words(store: Path, backup: Path, foreign: Any) -> None:
    with opened(store) as memory, pytest.raises(InvalidInput, match="True or False"):
        memory.admin.backups.restore(backup, foreign=foreign)


def test_the_key_is_not_in_the_store_nor_in_a_backup(store: Path, backup: Path) -> None:
    key = store.with_name("m.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_text().split()[1]
    for raw in (store.read_bytes(), backup.read_bytes()):
        assert secret.encode() not in raw
        assert bytes.fromhex(secret) not in raw
    with closing(sqlite3.connect(store)) as database:
        for (value,) in database.execute("SELECT value FROM secrets"):
            manifest = json.loads(zipfile.ZipFile(backup).read("manifest.json"))
            signed = {name: one for name, one in manifest.items() if name != "signature"}
            written = b"memstone backup 1\n" + json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()
            text = hmac.new(bytes.fromhex(value), written, hashlib.sha256).hexdigest()
            assert text != manifest["signature"]["hmac"], "whoever has a backup cannot sign another"


def test_an_erasure_does_not_sign_what_somebody_else_put_in_the_place_of_a_backup(store: Path, backup: Path) -> None:
    forge(backup, evil, unsigned)

    with opened(store) as memory:
        memory.admin.erase(user_id="alice")
        checked = memory.admin.backups.verify(backup)

    assert (checked["rewritten"], checked["origin"]) == (True, "foreign")


def test_a_backup_that_an_erasure_rewrites_is_ours_afterwards(store: Path, backup: Path) -> None:
    with opened(store) as memory:
        memory.admin.erase(user_id="alice")
        checked = memory.admin.backups.verify(backup)

    assert (checked["rewritten"], checked["origin"]) == (True, "ours")


# --- on another machine -----------------------------------------------------------------------------------------------


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path / "home", monkeypatch, capsys)


def test_with_the_copy_of_its_key_a_backup_is_ours_on_a_new_machine(cli: Cli, store: Path, backup: Path) -> None:
    refused = cli("restore", backup, "--yes")
    assert refused.code != 0
    assert "is foreign" in refused.err

    restored = cli("restore", backup, "--yes", "--key-file", store.with_name("m.db.key"))

    assert restored.code == 0
    assert stat.S_IMODE(cli.db.with_name("memstone.db.key").stat().st_mode) == 0o600
    with opened(cli.db) as memory:
        assert texts(memory) == ["I live in Oslo"]
        assert [one["name"] for one in memory.admin.keys.list()] == ["app"]
        assert [one["login"] for one in memory.admin.accounts.list()] == ["alice@example.com"]
    assert "signed with the key of this store" in cli("backup", backup, "--verify").out


def test_without_it_a_backup_is_restored_as_foreign_on_request(cli: Cli, backup: Path) -> None:
    cli.added("I have a cat")
    assert "but foreign" in cli("backup", backup, "--verify").out

    restored = cli("restore", backup, "--yes", "--foreign")

    assert restored.code == 0
    assert "left out: 1 rows of api_keys" in restored.err
    with opened(cli.db) as memory:
        assert texts(memory) == ["I live in Oslo"]
        assert memory.admin.keys.list() == []
        assert memory.admin.accounts.list() == []


def test_a_key_is_not_put_in_the_place_of_another(cli: Cli, store: Path, backup: Path) -> None:
    cli.added("I have a cat")
    assert cli("backup", cli.home / "own.backup").code == 0
    own = cli.db.with_name("memstone.db.key").read_bytes()

    ran = cli("restore", backup, "--yes", "--key-file", store.with_name("m.db.key"))

    assert ran.code != 0
    assert "a different key" in ran.err
    assert cli.db.with_name("memstone.db.key").read_bytes() == own


@pytest.mark.parametrize("content", ["short", "memstone-key-1 zz", "memstone-key-1 00", "\udcff"])
def test_a_file_without_a_key_is_refused_before_anything_is_written(store: Path, tmp_path: Path, content: str) -> None:
    store.with_name("m.db.key").write_bytes(content.encode("utf-8", "surrogateescape"))
    with opened(store) as memory, pytest.raises(ConfigError):
        memory.admin.backups.create(tmp_path / "m.backup")
    assert not (tmp_path / "m.backup").exists()


def test_a_key_may_come_from_a_file_that_is_named(store: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere" / "key"
    with opened(store, key=f"file:{place}") as memory:
        assert memory.admin.backups.create(tmp_path / "m.backup")["key_place"] == str(place)
    assert not store.with_name("m.db.key").exists()
    with opened(tmp_path / "other.db", key=f"file:{place}") as memory:
        assert memory.admin.backups.verify(tmp_path / "m.backup")["origin"] == "ours"


def test_a_key_may_come_from_a_command(store: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a-long-secret-that-another-program-keeps\n")
    says = f"command:{sys.executable} -c \"print(open('{secret}').read())\""
    with opened(store, key=says) as memory:
        assert memory.admin.backups.create(tmp_path / "m.backup")["key_place"] == f"the command {sys.executable}"
        assert memory.admin.backups.verify(tmp_path / "m.backup")["origin"] == "ours"
    for wrong in ("command:/nowhere/at-all", f"command:{sys.executable} -c 1", f"command:{sys.executable} -c exit(1)"):
        with opened(store, key=wrong) as memory, pytest.raises(ConfigError):
            memory.admin.backups.create(tmp_path / "other.backup")


def test_a_key_may_come_from_the_keyring(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.errors import KeyringLocked

    class Held(KeyringBackend):
        """A keyring in this process, which can be locked."""

        priority = 1
        held: dict[tuple[str, str], str] = {}  # noqa: RUF012 - one for all
        locked = False

        def get_password(self, service: str, username: str) -> str | None:
            if Held.locked:
                raise KeyringLocked
            return self.held.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.held[service, username] = password

    before = keyring.get_keyring()
    keyring.set_keyring(Held())  # type: ignore[no-untyped-call]
    try:
        with opened(store, key="keyring:memstone/store") as memory:
            memory.admin.backups.create(tmp_path / "m.backup")
            assert memory.admin.backups.verify(tmp_path / "m.backup")["origin"] == "ours"
        assert list(Held.held) == [("memstone", "store")]
        Held.locked = True
        with opened(store, key="keyring:memstone/store") as memory, pytest.raises(ConfigError, match="keyring"):
            memory.admin.backups.create(tmp_path / "other.backup")
    finally:
        keyring.set_keyring(before)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with opened(store, key="keyring:memstone/store") as memory, pytest.raises(MissingExtra, match="keyring"):
        memory.admin.backups.create(tmp_path / "other.backup")


@pytest.mark.parametrize("key", ["keyring:memstone", "file:", "plain", "command:"])
def test_a_place_that_is_none_is_refused(store: Path, key: str) -> None:
    with pytest.raises(ConfigError):
        opened(store, key=key)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs several processes")
def test_of_many_that_make_the_key_at_once_all_get_the_same(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from memstone.adapters.io.blocking import BlockingIo
    from memstone.adapters.store_key import FileKey, FileKeyConfig
    from memstone.drive import drive

    io = BlockingIo()
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: drive(FileKey(FileKeyConfig(path=tmp_path / "key"), io).make()), range(32)))
    assert len(keys) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["key"]


def test_an_adopted_key_that_differs_is_a_conflict(tmp_path: Path) -> None:
    from memstone.compose import adopt_store_key
    from memstone.config import Settings

    settings = Settings.of({"store": {"url": f"sqlite:///{tmp_path}/m.db"}})
    for name in ("one", "other"):
        with opened(tmp_path / f"{name}.db") as memory:
            memory.admin.backups.create(tmp_path / f"{name}.backup")
    adopt_store_key(settings, tmp_path / "one.db.key")
    adopt_store_key(settings, tmp_path / "one.db.key")
    with pytest.raises(Conflict, match="a different key"):
        adopt_store_key(settings, tmp_path / "other.db.key")


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def test_a_forged_backup_of_a_database_brings_no_key(postgres: Server, tmp_path: Path) -> None:
    path = tmp_path / "pg.backup"
    with opened(postgres.url(postgres.database())) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        memory.admin.keys.create("app", verbs=["read"])
        memory.admin.backups.create(path)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(parts["manifest.json"])
        parts["api_keys.copy"] = parts["api_keys.copy"].replace(b"app", b"evil").replace(b'"read"', b'"admin"')
        raw = parts["api_keys.copy"]
        manifest["files"]["api_keys.copy"] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        for sign, error in ((signed_before, Corrupted), (unsigned, Forbidden)):
            sign(manifest)
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
                    archive.writestr(name, content)
            with pytest.raises(error):
                memory.admin.backups.restore(path)

        restored = memory.admin.backups.restore(path, foreign=True)

        assert [one["name"] for one in memory.admin.keys.list()] == ["app"]
        assert texts(memory) == ["I live in Oslo"]
    assert restored["left_out"]["rows"]["api_keys"] == 1
