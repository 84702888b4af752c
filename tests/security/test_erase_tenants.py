"""Several tenants in one file: what one of them erases holds the others up briefly, and tells nothing about them."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.sqlite.copies import SqliteCopies
from memstone.drive import drive
from memstone.engine.change import erase_rows
from memstone.engine.change.erase_rows import BATCH
from memstone.engine.upkeep.passes import FIRST_SECONDS, Timetable
from memstone.results import ErasureReport
from memstone.testing.clock import FakeClock
from tests.concurrency.intact import assert_sound

pytestmark = pytest.mark.req("X-30")

MANY = 3 * BATCH + 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def opened(path: Path, clock: FakeClock) -> Memory:
    store = {"url": f"sqlite:///{path}", "durable": False}
    return Memory({"store": store, "embedder": {"provider": "hash"}}, clock=clock)


@pytest.fixture
def operator(path: Path, clock: FakeClock) -> Iterator[Memory]:
    with opened(path, clock) as memory:
        memory.add("the operator lives in Oslo", user_id="alice", infer=False)
        yield memory


@pytest.fixture
def tenant(operator: Memory) -> Memory:
    """A tenant with a user who said a lot, and another one."""
    memory: Memory = operator.acting_for("acme")
    items = [{"messages": f"kerosene barrel {n} stands in qwyzzle {n % 7}", "user_id": "alice"} for n in range(MANY)]
    memory.add_many([{**one, "infer": False} for one in items])
    memory.add("bob keeps nothing", user_id="bob", infer=False)
    return memory


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a quiet moment by itself."""
    monkeypatch.setattr(erase_rows, "_QUIET_SECONDS", 600.0)


def checks(report: ErasureReport) -> dict[str, bool]:
    return {check["check"]: check["ok"] for check in report["checks"]}


def test_a_tenant_is_told_nothing_of_where_backups_lie(
    operator: Memory, tenant: Memory, tmp_path: Path, quiet: None, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("one", "damaged", "missing"):
        operator.admin.backups.create(tmp_path / f"{name}.backup")
    (tmp_path / "missing.backup").unlink()
    (tmp_path / "damaged.backup").write_bytes((tmp_path / "damaged.backup").read_bytes()[:-200])

    with caplog.at_level(logging.WARNING, "memstone"):
        report = tenant.admin.erase(user_id="alice")

    written = json.dumps(report)
    assert str(tmp_path) not in written
    assert ".backup" not in written
    copies = next(check["copies"] for check in report["checks"] if check["check"] == "backups")
    assert copies == [{"state": "unreachable"}, {"state": "missing"}, {"state": "rewritten"}]
    known_names = {
        Path(vars(one)["path"]).name for one in caplog.records if getattr(one, "event", "") == "erasure.copy"
    }
    assert known_names == {"damaged.backup", "missing.backup"}, "the operator reads of them in the log"
    own = operator.admin.erase(user_id="alice")
    assert str(tmp_path / "one.backup") in json.dumps(own), "the operator is told"


def test_a_tenant_does_not_have_the_file_written_anew_while_others_wait(
    operator: Memory, tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteCopies, "_wipe", lambda _: pytest.fail("everybody waits for that"))

    report = tenant.admin.erase(user_id="alice")

    assert (report["complete"], report["pending"]) == (False, True)
    assert {name for name, ok in checks(report).items() if not ok} <= {"free space", "files"}
    assert not tenant.admin.verify_erasure(report)["ok"]
    monkeypatch.undo()
    assert drive(erase_rows.compact_store(operator.engine.runtime))
    checked = tenant.admin.verify_erasure(report)
    assert (checked["ok"], checked["complete"]) == (True, True)


def test_it_is_done_when_nobody_calls(
    path: Path, tenant: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase_rows, "_QUIET_SECONDS", 0.01)
    clock.advance(seconds=1)
    report = tenant.admin.erase(user_id="alice")
    shop = tenant.engine.runtime.worker_state
    assert shop.compaction is not None
    for _ in range(1_000):
        if not shop.compaction.alive:
            break
        drive(tenant.engine.runtime.io.sleep(0.02))
    assert tenant.admin.verify_erasure(report)["ok"]
    assert b"kerosene" not in path.read_bytes()


def test_a_worker_does_what_a_process_that_ended_left_undone(
    path: Path, clock: FakeClock, tenant: Memory, operator: Memory, quiet: None
) -> None:
    clock.advance(seconds=1)
    report = tenant.admin.erase(user_id="alice")
    operator.close()
    with opened(path, clock) as later:
        runtime = later.engine.runtime
        timetable = Timetable.of(runtime)
        clock.advance(seconds=FIRST_SECONDS)
        drive(timetable.tick(runtime))
        assert later.acting_for("acme").admin.verify_erasure(report)["ok"]


def test_whoever_operates_the_store_has_it_done_at_once(operator: Memory, tenant: Memory, path: Path) -> None:
    report = operator.admin.erase(user_id="alice")
    assert report["complete"]
    assert not report["pending"]
    assert b"lives in Oslo" not in path.read_bytes()
    assert len(tenant.get_all(user_id="alice", limit=1_000)["results"]) == MANY


# --- in batches -------------------------------------------------------------------------------------------------------


def test_others_write_between_the_batches(
    path: Path, clock: FakeClock, tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another connection, as another process has it, gets the lock without waiting after each batch."""
    written: list[int] = []
    with opened(path, clock) as other:
        elsewhere = other.acting_for("b")
        elsewhere.add("warm", user_id="u", infer=False)

        async def pause(self: BlockingIo, seconds: float) -> None:
            assert seconds >= 0
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            elsewhere.add(f"written meanwhile {len(written)}", user_id="u", infer=False)
            written.append(1)

        monkeypatch.setattr(BlockingIo, "sleep", pause)
        report = tenant.admin.erase(user_id="alice")

    assert len(written) == MANY // BATCH + 1
    assert checks(report)["rows"]
    assert report["erased"]["memories"] == report["erased"]["words"] == MANY
    assert report["erased"]["events"] >= MANY


def test_what_somebody_gets_to_see_between_the_batches_stays_theirs(
    tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(one["id"] for one in tenant.get_all(user_id="alice", limit=1_000)["results"])
    shared: list[str] = []

    async def pause(self: BlockingIo, seconds: float) -> None:
        assert seconds >= 0
        if not shared:
            shared.append(last)
            tenant.sharing.share(last, user_id="bob")

    monkeypatch.setattr(BlockingIo, "sleep", pause)
    report = tenant.admin.erase(user_id="alice")

    assert tenant.get_all(user_id="alice")["results"] == []
    assert {one["id"] for one in tenant.get_all(user_id="bob")["results"]} >= {last}
    assert report["kept_for_others"] == 1
    assert checks(report)["rows"]


def test_what_is_said_between_the_batches_goes_too(
    tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pause(self: BlockingIo, seconds: float) -> None:
        tenant.add(f"kerosene again {seconds}", user_id="alice", infer=False)

    monkeypatch.setattr(BlockingIo, "sleep", pause)
    report = tenant.admin.erase(user_id="alice")
    assert tenant.get_all(user_id="alice")["results"] == []
    assert checks(report)["rows"]


def test_a_call_that_broke_off_is_finished_by_the_next(
    path: Path, tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokenOff(Exception):
        pass

    async def pause(self: BlockingIo, seconds: float) -> None:
        raise BrokenOff

    with monkeypatch.context() as broken:
        broken.setattr(BlockingIo, "sleep", pause)
        with pytest.raises(BrokenOff):
            tenant.admin.erase(user_id="alice")
    assert 0 < len(tenant.get_all(user_id="alice", limit=1_000)["results"]) < MANY
    assert_sound(path)

    report = tenant.admin.erase(user_id="alice")

    assert checks(report)["rows"]
    assert tenant.get_all(user_id="alice")["results"] == []
    assert_sound(path)


# --- the full text ----------------------------------------------------------------------------------------------------


def test_the_full_text_forgets_the_words_in_small_steps(
    path: Path, tenant: Memory, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocks() -> bytes:
        with closing(sqlite3.connect(path)) as database:
            return b"".join(row[0] for row in database.execute("SELECT block FROM fulltext_data"))

    for n in range(600):  # so that the index has several parts
        tenant.add(f"paraffin lamp {n}", user_id="bob", infer=False)
    assert b"wyzzl" in blocks()

    tenant.admin.erase(user_id="alice")

    assert b"wyzzl" not in blocks()
    assert b"araffin" in blocks()
    assert_sound(path)
    assert tenant.search("paraffin lamp 17", user_id="bob", strategy="text")["results"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def test_somebody_who_logged_in_leaves_no_session_behind(operator: Memory, path: Path) -> None:
    operator.admin.accounts.create("alice@example.com", "correct horse battery staple", user_id="alice")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        session = "SELECT tenant_id, 's', id, 'f', 'h', created_at, '2099' FROM accounts"
        database.execute(f"INSERT INTO account_sessions {session}")
    report = operator.admin.erase(user_id="alice")
    assert report["complete"], report["checks"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM account_sessions").fetchone() == (0,)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
