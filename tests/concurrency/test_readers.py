"""Readers and writers do not wait for one another, and readers leave nothing behind."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite.ledger import SqliteLedger
from memstone.drive import drive
from memstone.errors import MemstoneError, StorageError
from memstone.ports.ledger import Tx
from tests.concurrency.intact import assert_intact
from tests.concurrency.workers import checked, in_threads, settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memstone.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory(settings(str(path))) as opened:
        opened.add("the first note", user_id="u", infer=False)
        yield opened


def _ledger(memory: Memory) -> SqliteLedger:
    ledger = memory.engine.runtime.ledger
    assert isinstance(ledger, SqliteLedger)
    return ledger


def _count(memory: Memory) -> int:
    return int(memory.stats()["memories"])


@pytest.mark.req("C-9", "C-10")
def test_no_read_waits_for_a_writer(memory: Memory, path: Path) -> None:
    (first,) = memory.get_all(user_id="u")["results"]
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("UPDATE memories SET text = 'never committed'")
        assert memory.get(first["id"]) == first
        assert memory.search("note", user_id="u")["results"][0]["memory"] == "the first note"
        assert len(memory.history(first["id"])) == 1
        assert _count(memory) == 1
        assert len(list(memory.export(everybody=True))) == 3
        assert memory.admin.check()["integrity"] == ["ok"]
        with Memory(settings(str(path))) as second:  # nor does opening the file once more
            assert _count(second) == 1
        writer.execute("ROLLBACK")


def test_a_reader_that_stays_does_not_stop_writers_and_sees_what_it_saw(memory: Memory, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        for number in range(50):
            memory.add(f"note {number}", user_id="u", infer=False)
        memory.admin.reindex()
        assert _count(memory) == 51
        assert reader.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM memories").fetchone() == (51,)
    assert assert_intact(path) == 51


def test_a_unit_of_reading_sees_one_moment_whatever_is_written_meanwhile(memory: Memory) -> None:
    async def count_twice(tx: Tx) -> tuple[int, int]:
        before = (await tx.admin.counts("default"))["memories"]
        checked(in_threads(2, lambda number: memory.add(f"meanwhile {number}", user_id="u", infer=False)))
        return before, (await tx.admin.counts("default"))["memories"]

    assert drive(_ledger(memory).read(count_twice)) == (1, 1)
    assert _count(memory) == 3


def test_a_reader_cannot_write(memory: Memory) -> None:
    async def write(tx: Tx) -> None:
        await tx.admin.reset("default")

    with pytest.raises(StorageError):
        drive(_ledger(memory).read(write))
    assert _count(memory) == 1


@pytest.mark.parametrize("error", [ValueError, sqlite3.OperationalError, KeyboardInterrupt])
def test_a_read_that_fails_gives_its_connection_back_closed(memory: Memory, error: type[BaseException]) -> None:
    used = list[Any]()

    async def fail(tx: Tx) -> None:
        used.append(tx)
        await tx.admin.counts("default")
        raise error

    readers = _ledger(memory)._readers
    for _ in range(30):
        with pytest.raises((error, MemstoneError)):
            drive(_ledger(memory).read(fail))
        assert (readers.idle, readers.connections_in_use) == (0, 0)
    for tx in used:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            drive(tx.admin.counts("default"))
    assert _count(memory) == 1
    assert (readers.idle, readers.connections_in_use) == (1, 0)


def test_many_readers_at_once_leave_a_bounded_number_of_connections(memory: Memory) -> None:
    inside = threading.Barrier(24)

    async def meet(tx: Tx) -> int:
        inside.wait(120)
        return (await tx.admin.counts("default"))["memories"]

    ledger = _ledger(memory)
    assert checked(in_threads(24, lambda _: drive(ledger.read(meet)))) == [1] * 24
    assert (ledger._readers.idle, ledger._readers.connections_in_use) == (16, 0)


def test_an_export_that_nobody_reads_to_its_end_holds_no_connection(memory: Memory, path: Path) -> None:
    lines = memory.export(everybody=True)
    assert next(lines)["type"] == "header"
    assert next(lines)["type"] == "memory"
    assert _ledger(memory)._readers.connections_in_use == 0
    memory.add("one more", user_id="u", infer=False)
    del lines
    memory.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # the last to close tidies up


def test_a_memory_closed_during_a_read_lets_it_end_and_closes_its_connection(memory: Memory, path: Path) -> None:
    async def close_meanwhile(tx: Tx) -> int:
        checked(in_threads(1, lambda _: memory.close()))
        return (await tx.admin.counts("default"))["memories"]

    assert drive(_ledger(memory).read(close_meanwhile)) == 1
    readers = _ledger(memory)._readers
    assert (readers.idle, readers.connections_in_use) == (0, 0)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
