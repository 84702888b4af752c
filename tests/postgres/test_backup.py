"""A PostgreSQL store as one file, and back: what is restored is what was there, and what was erased stays erased."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memstone import Memory
from memstone.adapters.postgres import migrations
from memstone.errors import Corrupted, EncryptionError, Forbidden, InvalidInput, MemstoneError
from memstone.results import BackupErasure, ErasureReport
from tests.postgres.server import APP, Server

_MOST = 1_000
"""So many facts fit into one answer."""

pytestmark = pytest.mark.req("N-45")


def _memory(url: str, tenant: str = "default") -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, "tenant": tenant})


def _lived(memory: Memory) -> None:
    memory.add("I live in Reykjavik and my cat is called Snorri", user_id="alice", run_id="r1")
    stored_text = memory.add("The harbour\tsmells of \\ kerosene\nand paint", user_id="alice", infer=False)["results"][
        0
    ]["id"]
    memory.update(stored_text, "The harbour smells of fresh paint")
    memory.delete(memory.add("The keeper owes me money", user_id="alice", infer=False)["results"][0]["id"])
    memory.add("Bob is somebody else", user_id="bob", infer=False)
    memory.context("What does the harbour smell of?", user_id="alice")
    memory.settings.set({"context.budget": 700}, user_id="alice")


def _told(memory: Memory) -> list[str]:
    return [json.dumps(line, sort_keys=True) for line in memory.export(everybody=True)]


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.fresh()


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with _memory(url) as memory:
        _lived(memory)
        yield memory


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "one.backup"


def test_what_is_restored_is_what_was_there(memory: Memory, url: str, target: Path) -> None:
    before, found = _told(memory), memory.search("harbour", user_id="alice", explain=True)
    with _memory(url) as elsewhere:
        elsewhere.search("harbour", user_id="alice")
        steps: list[tuple[int, int]] = []
        manifest = memory.admin.backups.create(target, progress=lambda done, total: steps.append((done, total)))
        memory.reset()
        memory.add("this is overwritten", user_id="alice", infer=False)

        restored = memory.admin.backups.restore(target)

        stored = {name: value for name, value in manifest.items() if name != "key_place"}
        assert restored == {**stored, "origin": "ours", "erased_again": 0}
        assert _told(memory) == before
        assert memory.search("harbour", user_id="alice", explain=True) == found
        assert elsewhere.search("harbour", user_id="alice", explain=True) == found, "another process sees it too"
        assert memory.settings.get(user_id="alice")["settings"]["context.budget"] == 700
        assert steps[-1][0] == steps[-1][1] == sum(manifest["tables"].values())


def test_a_restored_store_goes_on(memory: Memory, target: Path) -> None:
    memory.admin.backups.create(target)
    memory.admin.backups.restore(target)

    new = memory.add("said after the restore", user_id="alice", infer=False)["results"][0]["id"]
    memory.update(new, "said long after the restore")

    found = memory.search("long after the restore", user_id="alice")["results"]
    assert found[0]["memory"] == "said long after the restore"
    assert len(memory.history(new)) == 2


def test_the_manifest_says_what_is_in_it(memory: Memory, target: Path) -> None:
    manifest = memory.admin.backups.create(target)

    assert (manifest["format"], manifest["store"], manifest["tenant"]) == ("memstone-backup", "postgresql", "default")
    assert manifest["schema"] == migrations.latest_schema_version()
    assert manifest["tables"]["memories"] == sum('"type": "memory"' in line for line in _told(memory))
    stored = {name: value for name, value in manifest.items() if name != "key_place"}
    assert memory.admin.backups.verify(target) == {**stored, "ok": True, "origin": "ours"}
    assert target.stat().st_mode & 0o077 == 0
    assert [path.name for path in target.parent.iterdir()] == [target.name], "nothing is left beside it"


def test_a_tenant_is_copied_and_put_back_alone(memory: Memory, url: str, target: Path) -> None:
    with _memory(url, "b") as other:
        other.add("secret of b", user_id="alice", infer=False)
        memory.admin.backups.create(target)
        other.add("another secret of b", user_id="alice", infer=False)
        current = _told(other)

        memory.admin.backups.restore(target)

        assert b"secret of b" not in target.read_bytes()
        assert _told(other) == current
        with pytest.raises(Forbidden, match="another tenant"):
            other.admin.backups.restore(target)


def test_a_superuser_copies_all_tenants_into_another_database(postgres: Server, target: Path) -> None:
    name = postgres.database()
    with _memory(postgres.url(name)) as memory, _memory(postgres.url(name), "b") as other:
        _lived(memory)
        other.add("secret of b", user_id="alice", infer=False)
        manifest = memory.admin.backups.create(target)
        before = _told(memory), _told(other)
    empty = postgres.database()
    with _memory(postgres.url(empty)) as memory, _memory(postgres.url(empty), "b") as other:
        memory.admin.backups.restore(target)

        assert manifest["tenant"] is None
        assert (_told(memory), _told(other)) == before
        assert memory.add("it goes on", user_id="alice", infer=False)["results"]
        assert [one["state"] for one in _copies(other.admin.erase(user_id="alice"))] == ["rewritten"], (
            "it knows of itself"
        )
        assert b"secret of b" not in target.read_bytes()


def test_one_who_sees_less_does_not_put_back_more(memory: Memory, postgres: Server, target: Path) -> None:
    name = postgres.database()
    with _memory(postgres.url(name)) as above:
        above.add("I live in Rome", user_id="alice", infer=False)
        above.admin.backups.create(target)
    before = _told(memory)

    with pytest.raises(Forbidden, match="all tenants"):
        memory.admin.backups.restore(target)

    assert _told(memory) == before


def _copies(report: ErasureReport) -> list[BackupErasure]:
    return next(one for one in report["checks"] if one["check"] == "backups")["copies"]


@pytest.mark.req("X-30")
def test_who_is_erased_is_erased_in_every_backup(memory: Memory, target: Path) -> None:
    memory.admin.backups.create(target)
    assert b"Snorri" in target.read_bytes()

    report = memory.admin.erase(user_id="alice")

    assert all(check["ok"] for check in report["checks"])
    assert [(one["path"], one["state"]) for one in _copies(report)] == [(str(target), "rewritten")]
    raw = target.read_bytes()
    assert b"Snorri" not in raw
    assert b"harbour" not in raw
    assert b"Bob is somebody else" in raw
    memory.admin.backups.restore(target)
    assert memory.get_all(user_id="alice")["results"] == []
    assert [one["memory"] for one in memory.get_all(user_id="bob")["results"]] == ["Bob is somebody else"]


def test_an_older_backup_that_was_elsewhere_is_erased_when_it_is_restored(memory: Memory, target: Path) -> None:
    memory.admin.backups.create(target)
    away = target.with_name("away")
    target.rename(away)
    memory.admin.erase(user_id="alice")

    restored = memory.admin.backups.restore(away)

    assert restored["erased_again"] == 1
    assert memory.get_all(user_id="alice")["results"] == []
    assert memory.get_all(user_id="bob")["results"]


def test_others_go_on_writing_while_a_backup_is_made(memory: Memory, target: Path) -> None:
    """What is in the backup is a beginning of what was written: one moment, not a mixture."""
    stopped = threading.Event()

    def write() -> int:
        number = 0
        while number < _MOST and not stopped.is_set():
            memory.add(f"fact {number:04}", user_id="carol", infer=False)
            number += 1
        return number

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        for _ in range(3):
            memory.admin.backups.create(target)
        stopped.set()
        assert writing.result(120) > 0
    memory.admin.backups.restore(target)

    remaining = sorted(one["memory"] for one in memory.get_all(user_id="carol", limit=_MOST)["results"])
    assert remaining == [f"fact {number:04}" for number in range(len(remaining))]
    assert memory.admin.backups.verify(target)["tables"]["links"] >= len(remaining)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"Snorri")] ^= 0xFF
    path.write_bytes(raw)


def _other(path: Path) -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        path.unlink()
        memory.admin.backups.create(path)


@pytest.mark.parametrize("damage", [_cut, _flipped, _other])
def test_what_is_not_whole_changes_nothing(memory: Memory, target: Path, damage: Callable[[Path], None]) -> None:
    memory.admin.backups.create(target)
    before = _told(memory)
    damage(target)

    with pytest.raises(MemstoneError) as caught:
        memory.admin.backups.restore(target)

    assert isinstance(caught.value, Corrupted)
    assert _told(memory) == before


def test_a_row_that_does_not_fit_changes_nothing(memory: Memory, target: Path) -> None:
    """Even if the manifest agrees with it: everything is one transaction."""
    memory.admin.backups.create(target)
    before = _told(memory)
    with zipfile.ZipFile(target) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    first = parts["links.copy"].split(b"\n")[0]
    parts["links.copy"] += first + b"\n"
    manifest = json.loads(parts["manifest.json"])
    manifest["tables"]["links"] += 1
    manifest["files"]["links.copy"] = _of(parts["links.copy"])
    del manifest["signature"]
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)

    with pytest.raises(Corrupted, match="is damaged"):
        memory.admin.backups.restore(target, foreign=True)

    assert _told(memory) == before


def _of(raw: bytes) -> dict[str, Any]:
    from hashlib import sha256

    return {"bytes": len(raw), "sha256": sha256(raw).hexdigest()}


def test_another_file_is_not_overwritten(memory: Memory, tmp_path: Path) -> None:
    letters = tmp_path / "letters.txt"
    letters.write_text("dear Bob")

    with pytest.raises(InvalidInput, match="is not a backup"):
        memory.admin.backups.create(letters)

    assert letters.read_text() == "dear Bob"


def test_temporary_tables_are_gone_afterwards(memory: Memory, postgres: Server, target: Path) -> None:
    memory.admin.backups.create(target)
    memory.admin.backups.restore(target)

    with psycopg.connect(postgres.url(postgres.name, APP)) as connection:
        query = "SELECT count(*) FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'pg_temp%' AND relkind = 'r'"
        assert connection.execute(query).fetchone() == (0,)


def test_a_copy_is_not_put_back_into_another_kind_of_store(memory: Memory, target: Path, tmp_path: Path) -> None:
    memory.admin.backups.create(target)

    with _memory(f"sqlite:///{tmp_path / 'other.db'}") as other, pytest.raises(Corrupted, match="postgresql") as caught:
        other.admin.backups.restore(target)

    assert "memstone copy" in caught.value.hint


@pytest.mark.req("N-30")
def test_a_backup_is_encrypted_if_a_key_is_set(postgres: Server, tmp_path: Path) -> None:
    word = "Zanzibarquay"
    store = {"url": postgres.fresh(), "encryption_key": f"file:{tmp_path / 'keys' / 'key'}"}
    store["key"] = f"file:{tmp_path / 'store.key'}"
    with Memory({"store": store, "embedder": {"provider": "hash"}}) as memory:
        memory.add(f"I live in {word}", user_id="alice", infer=False)
        made = memory.admin.backups.create(tmp_path / "a.backup")
        assert made["encryption"]["cipher"] == "aes-256-gcm"
        assert word.encode() not in (tmp_path / "a.backup").read_bytes()
        assert memory.admin.check()["encryption"]["state"] == "server"
        assert memory.admin.check()["encryption"]["files"]
        memory.add("I moved", user_id="alice", infer=False)
        assert memory.admin.backups.restore(tmp_path / "a.backup")["origin"] == "ours"
        assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == [f"I live in {word}"]
        memory.admin.erase(user_id="alice")
        assert memory.admin.backups.verify(tmp_path / "a.backup")["tables"]["memories"] == 0
    assert (tmp_path / "store.key").read_text().startswith("sealed:")
    del store["encryption_key"]
    store["key"] = f"file:{tmp_path / 'other.key'}"
    with (
        Memory({"store": store, "embedder": {"provider": "hash"}}) as memory,
        pytest.raises(EncryptionError, match="is encrypted"),
    ):
        memory.admin.backups.verify(tmp_path / "a.backup")
