"""Backups of a file that others have open: one moment of it, and seen by all when it is put back."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path

import pytest

from memstone import Memory
from memstone.adapters.sqlite import copies
from memstone.adapters.sqlite import migrations as runner
from memstone.errors import StorageError
from memstone.ports.ledger import Tx
from memstone.results import ErasureReport
from tests.faces.harness import ON_DISK, Face, Opens, passed

pytestmark = [ON_DISK, pytest.mark.req("N-45")]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "one.backup"


@pytest.mark.slow
def test_a_backup_is_one_moment_of_a_store_that_is_being_written(store: Path, kind: str, tmp_path: Path) -> None:
    """Every batch is one transaction: a copy holds whole batches, and everything that was there when it was begun."""
    settings = {"store": {"url": f"sqlite:///{store}", "durable": False}, "embedder": {"provider": "hash"}}
    stop, written = threading.Event(), [0]

    def write(memory: Memory, name: str) -> None:
        while not stop.is_set():
            batch = written[0]
            items = [{"messages": f"{name} {batch} {at}", "user_id": "u", "infer": False} for at in range(20)]
            memory.add_many(items)
            written[0] += 1

    with Memory(settings) as memory, Memory(settings) as other:
        threads = [threading.Thread(target=write, args=(one, f"w{at}")) for at, one in enumerate((memory, other))]
        for thread in threads:
            thread.start()
        try:
            for number in count():
                before = memory.stats()["memories"]
                manifest = memory.admin.backups.create(tmp_path / f"{number}.backup")
                assert manifest["tables"]["memories"] % 20 == 0
                assert manifest["tables"]["memories"] >= before
                assert memory.admin.backups.verify(tmp_path / f"{number}.backup")["ok"]
                if number >= 3 and written[0] > 4:  # nobody had to wait for a backup
                    break
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert kind


async def test_whoever_has_the_store_open_sees_what_was_restored(opens: Opens, target: Path) -> None:
    one, other = opens(), opens()
    await one.remember("I live in Oslo")
    await one.admin.backups.create(target)
    await one.remember("I live in Rome")
    assert sorted(await other.found("live")) == ["I live in Oslo", "I live in Rome"]
    assert (await other.found("I live in Rome", strategy="vector"))[0] == "I live in Rome"

    await one.admin.backups.restore(target)

    assert await other.found("live") == ["I live in Oslo"]
    assert await other.found("I live in Rome", strategy="vector") == ["I live in Oslo"]
    await one.remember("I live in Bern")  # gets no number that Rome had
    assert await other.found("I live in Bern", strategy="vector") == ["I live in Bern", "I live in Oslo"]
    assert await other.found("Rome", strategy="text") == []


async def test_a_restore_leaves_a_sound_file_and_an_empty_log(face: Face, opens: Opens, target: Path) -> None:
    await face.remember("I live in Oslo")
    await face.admin.backups.create(target)
    for number in range(300):
        await face.remember(f"and {number} more")
    await face.admin.backups.restore(target)
    assert opens.path is not None
    assert opens.path.with_name("memstone.db-wal").stat().st_size == 0
    assert opens.rows("PRAGMA integrity_check") == [("ok",)]
    assert opens.rows("PRAGMA foreign_key_check") == []
    assert opens.rows("PRAGMA journal_mode") == [("wal",)]
    assert not list(opens.path.parent.glob("*.staged-*"))


@pytest.mark.req("X-30")
async def test_a_copy_from_before_an_upgrade_goes_if_it_holds_the_user(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opens()
    await face.remember("alice keeps kerosene in the basement")
    await face.close()
    number = runner.latest_schema_version() + 1
    wider = runner.Migration(number, f"{number:04d}_wider.sql", "ALTER TABLE memories ADD COLUMN colour TEXT;\n")
    steps = (*runner.list_migrations(), wider)
    monkeypatch.setattr(runner, "list_migrations", lambda: steps)
    later = opens()
    await later.remember("I live in Rome", user_id="bob")
    assert opens.path is not None
    copy = opens.path.with_name(f"memstone.db.before-{number:04d}")
    assert copy.exists()

    assert (await later.admin.erase(user_id="carol"))["checks"][2]["copies"] == [{"path": str(copy), "state": "clean"}]
    assert copy.exists(), "it holds nothing of her"
    report = await later.admin.erase(user_id="alice")

    assert report["checks"][2]["copies"][0]["state"] == "deleted"
    assert passed(report), report["checks"]
    assert not list(opens.path.parent.glob("*before*"))


@pytest.mark.req("X-30")
async def test_an_old_fault_in_the_file_does_not_keep_anybody_from_being_erased(face: Face, opens: Opens) -> None:
    await face.remember("alice keeps kerosene in the basement")
    await face.remember("bob keeps nothing", user_id="bob")
    with opens.sql() as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("INSERT INTO mentions (tenant_id, entity_id, memory_seq) VALUES ('default', 'nobody', 9999)")
    report = await face.admin.erase(user_id="alice")
    assert passed(report), report["checks"]
    assert await face.listed(user_id="bob") == ["bob keeps nothing"]
    with pytest.raises(StorageError, match="FOREIGN KEY"):
        await face.memory.engine.runtime.ledger.write(_orphan)


async def _orphan(tx: Tx) -> None:
    """A row that refers to nothing: a writer of the same process still minds."""
    await tx.entities.mention("default", [("nobody", 4711)])


@pytest.mark.req("X-30")
async def test_who_is_erased_while_a_backup_is_written_is_not_in_it(
    opens: Opens, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_PATIENCE", 0.1)
    face = opens()
    await face.remember("alice keeps kerosene in the basement")
    await face.remember("bob keeps nothing", user_id="bob")
    reports: list[ErasureReport] = []

    def meanwhile(done: int, total: int) -> None:
        assert done <= total
        if not reports:
            with Memory({"store": {"url": opens.url}, "embedder": {"provider": "hash"}}, clock=opens.clock) as other:
                reports.append(other.admin.erase(user_id="alice"))

    manifest = await face.admin.backups.create(target, progress=meanwhile)

    states = {check["check"]: check["ok"] for check in reports[0]["checks"]}
    assert states == {"indexes": True, "log": False, "backups": False, "rows": True, "files": False}, (
        "the copy that is being made needs the old state, and the report says so"
    )
    assert (manifest["rewritten"], manifest["tables"]["memories"]) == (True, 1)
    assert [b"kerosene" in file.read_bytes() for file in target.parent.glob("*.backup")] == [False]
    again = await face.admin.erase(user_id="alice")
    assert passed(again), again["checks"]
    assert [b"kerosene" in file.read_bytes() for file in target.parent.iterdir()].count(True) == 0
