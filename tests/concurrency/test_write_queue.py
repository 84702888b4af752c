"""Shared commits: what one unit does never decides what another is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite.connection import Connection
from memstone.adapters.sqlite.ledger import SqliteLedger
from memstone.adapters.sqlite.write_queue import WriteQueue
from memstone.errors import MemstoneError, StorageError, StorageFull
from memstone.ports.ledger import Tx, Work
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_found, assert_intact, rows, texts
from tests.concurrency.workers import checked, in_threads, settings
from tests.patience import until


class Raw(sqlite3.Connection):
    """A connection that counts its commits, and in which Ctrl-C arrives while SQLite is busy with one statement."""

    commits = 0
    interrupted: str | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """As ever, and then the interrupt, which Python raises when the statement has ended."""
        cursor = super().execute(sql, parameters)
        self.commits += sql == "COMMIT"
        if sql == self.interrupted:
            self.interrupted = None
            raise KeyboardInterrupt
        return cursor


class Bench:
    """A queue over a table of its own, whose commits carry as many units as the test says."""

    def __init__(self, path: Path) -> None:
        self.raw: Raw = sqlite3.connect(path, factory=Raw, isolation_level=None, check_same_thread=False)
        self.raw.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
        self.raw.execute(
            "CREATE TABLE notes (text TEXT, parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)"
        )
        self.raw.execute("PRAGMA foreign_keys = ON")
        self.queue = WriteQueue(lambda: Connection(self.raw))

    def write(self, text: str, parent: int | None = None) -> None:
        """Store a note."""
        self.raw.execute("INSERT INTO notes VALUES (?, ?)", (text, parent))

    def unit(self, number: int, then: Callable[[], None] = lambda: None) -> Work[int]:
        """Writes a note, does something, and gives its number."""

        async def work(_: Tx) -> int:
            self.write(f"note {number}")
            then()
            return number

        return work

    def together(self, units: list[Work[int]]) -> list[Any]:
        """The result of each unit, its caller being a thread; whoever is served first finds all, in order."""

        def call(number: int) -> Any:
            until(lambda: len(self.queue._waiting) == number)
            return self.queue.run(units[number]) if number < len(units) else self.queue.turn.release()

        assert self.queue.turn.acquire(timeout=120)
        return in_threads(len(units) + 1, call)[:-1]

    def notes(self) -> list[str]:
        """What is stored."""
        return sorted(text for (text,) in self.raw.execute("SELECT text FROM notes"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "notes.db")
    yield made
    made.raw.close()


def _fail() -> None:
    raise ValueError("no")


def test_units_that_wait_share_one_commit(bench: Bench) -> None:
    assert bench.together([bench.unit(number) for number in range(10)]) == list(range(10))
    assert bench.raw.commits == 1
    assert bench.notes() == [f"note {number}" for number in range(10)]


def test_more_units_than_one_commit_carries_are_all_done(bench: Bench) -> None:
    assert bench.together([bench.unit(number) for number in range(100)]) == list(range(100))
    assert 2 <= bench.raw.commits <= 100
    assert len(bench.notes()) == 100


def test_a_unit_that_fails_rolls_back_alone(bench: Bench) -> None:
    units = [bench.unit(number, _fail if number in (0, 3) else lambda: None) for number in range(5)]
    results = bench.together(units)
    assert [isinstance(result, ValueError) for result in results] == [True, False, False, True, False]
    assert [results[1], results[2], results[4]] == [1, 2, 4]
    assert bench.raw.commits == 1
    assert bench.notes() == ["note 1", "note 2", "note 4"]


@pytest.mark.parametrize("own", [0, 2, 4])
def test_ctrl_c_in_the_thread_that_serves_loses_no_unit_of_the_others(bench: Bench, own: int) -> None:
    pressed = list[bool]()

    def press_once() -> None:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt

    units = [bench.unit(number, press_once if number == own else lambda: None) for number in range(5)]
    results = bench.together(units)
    hit = [number for number, result in enumerate(results) if isinstance(result, KeyboardInterrupt)]
    assert len(hit) == 1
    done = [number for number in range(5) if number not in hit]
    assert [results[number] for number in done] == done
    assert bench.notes() == [f"note {number}" for number in done]


def test_ctrl_c_while_a_commit_is_written_does_not_run_its_units_again(bench: Bench) -> None:
    bench.raw.interrupted = "COMMIT"
    results = bench.together([bench.unit(number) for number in range(5)])
    assert sum(isinstance(result, KeyboardInterrupt) for result in results) == 1
    assert sum(isinstance(result, int) for result in results) == 4
    assert bench.raw.commits == 1
    assert bench.notes() == [f"note {number}" for number in range(5)]


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "SAVEPOINT unit", "RELEASE unit"])
def test_ctrl_c_between_the_statements_of_a_commit_leaves_nothing_open(bench: Bench, statement: str) -> None:
    bench.raw.interrupted = statement
    results = bench.together([bench.unit(number) for number in range(5)])
    hit = [number for number, result in enumerate(results) if isinstance(result, KeyboardInterrupt)]
    assert len(hit) == 1
    assert not bench.raw.in_transaction
    assert bench.notes() == [f"note {number}" for number in range(5) if number not in hit]
    assert bench.queue.run(bench.unit(9)) == 9


def test_ctrl_c_during_a_rollback_does_not_lock_out_those_who_come_after(bench: Bench) -> None:
    bench.raw.interrupted = "ROLLBACK"
    with pytest.raises(KeyboardInterrupt):
        bench.queue.run(bench.unit(0, _fail))
    assert bench.queue.run(bench.unit(1)) == 1
    assert bench.notes() == ["note 1"]


def test_units_that_fail_before_an_interrupt_and_work_after_it_are_a_success(bench: Bench) -> None:
    tried = set[int]()

    def at_first(number: int, error: BaseException) -> None:
        if number not in tried:
            tried.add(number)
            raise error

    errors = [ValueError("no"), ValueError("no"), ValueError("no"), KeyboardInterrupt()]
    results = bench.together([bench.unit(n, partial(at_first, n, error)) for n, error in enumerate(errors)])
    hit = [number for number, result in enumerate(results) if isinstance(result, KeyboardInterrupt)]
    assert len(hit) == 1
    done = [number for number in range(4) if number not in hit]
    assert [results[number] for number in done] == done
    assert bench.notes() == [f"note {number}" for number in done]


def test_an_error_in_commit_reaches_every_unit_of_that_commit(bench: Bench) -> None:
    def orphan() -> None:  # SQLite finds out when it commits
        bench.write("orphan", parent=404)

    results = bench.together([bench.unit(0), bench.unit(1, orphan), bench.unit(2, _fail)])
    assert [type(result) for result in results] == [sqlite3.IntegrityError, sqlite3.IntegrityError, ValueError]
    assert not bench.raw.in_transaction
    assert bench.notes() == []
    assert bench.queue.run(bench.unit(3)) == 3


def test_a_transaction_that_sqlite_gives_up_is_done_again_unit_by_unit(bench: Bench) -> None:
    def give_up() -> None:  # as SQLite does by itself when the disk is full
        bench.raw.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    results = bench.together([bench.unit(number, give_up if number == 2 else lambda: None) for number in range(5)])
    assert isinstance(results[2], sqlite3.OperationalError)
    assert [results[number] for number in (0, 1, 3, 4)] == [0, 1, 3, 4]
    assert bench.notes() == ["note 0", "note 1", "note 3", "note 4"]


def _ledger(memory: Memory) -> SqliteLedger:
    ledger = memory.engine.runtime.ledger
    assert isinstance(ledger, SqliteLedger)
    return ledger


@pytest.mark.req("C-52", "C-56")
def test_a_full_disk_fails_those_it_must_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path))) as memory:
        memory.add("what was there before", user_id="u", infer=False)
        raw = _ledger(memory)._open_writer().raw
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages + 30}")

        def add(number: int) -> str:
            text = f"note n{number}" + (" and much more" * 3_000 if number in (2, 5) else "")
            return str(memory.add(text, user_id="u", infer=False)["results"][0]["memory"])

        results = in_threads(8, add)
        full = [number for number, result in enumerate(results) if isinstance(result, StorageFull)]
        assert full == [2, 5]
        remaining = [result for number, result in enumerate(results) if number not in full]
        assert_found(memory, remaining, user_id="u")
        raw.execute("PRAGMA max_page_count = 1073741823")
        assert add(2).startswith("note n2 and much more")
    assert assert_intact(path) == 8
    assert set(remaining) < set(texts(path))


def test_a_disk_that_stays_full_refuses_everything_and_keeps_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path))) as memory:
        raw = _ledger(memory)._open_writer().raw
        raw.execute("PRAGMA max_page_count = 1")  # SQLite takes it for: as large as it is now
        remaining, refused = list[str](), 0
        for number in range(400):
            try:
                remaining.append(memory.add(f"note n{number}", user_id="u", infer=False)["results"][0]["memory"])
            except StorageFull:
                refused += 1
        assert refused > 100
        assert_found(memory, remaining[-1:], user_id="u")
    assert assert_intact(path) == len(remaining)
    assert texts(path) == sorted(remaining)


def test_a_file_that_another_program_keeps_locked_is_reported_as_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path))) as memory, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("memstone.adapters.sqlite.write_queue.BUSY_SECONDS", 0.05)
        results = in_threads(4, lambda number: memory.add(f"note n{number}", user_id="u", infer=False))
        assert [getattr(result, "code", None) for result in results] == ["storage_busy"] * 4
        other.execute("ROLLBACK")
        checked(in_threads(4, lambda number: memory.add(f"note n{number}", user_id="u", infer=False)))
    assert assert_intact(path) == 4


@pytest.mark.slow
def test_ctrl_c_at_any_moment_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    (report,) = run_crew("interrupted", [{"path": str(path), "interrupts": 120}])
    assert report["hits"] > 10
    assert_intact(path)
    assert set(report["mine"]) <= set(texts(path))
    for number, events in enumerate(report["others"]):
        assert set(events) == {"ADD"}  # NONE would mean that a unit ran a second time after its commit
        stored = rows(path, "SELECT count(*) FROM memories WHERE text LIKE ?", f"other {number} says %")
        assert stored == [(len(events),)]


def test_errors_of_a_closed_queue_are_typed(tmp_path: Path) -> None:
    memory = Memory(settings(str(tmp_path / "memstone.db")))
    ledger = _ledger(memory)
    memory.close()
    with pytest.raises(StorageError, match="closed") as caught:
        memory.add("hello", user_id="u", infer=False)
    assert isinstance(caught.value, MemstoneError)
    assert ledger._writer is None
    assert (ledger._readers.idle, ledger._readers.connections_in_use) == (0, 0)
