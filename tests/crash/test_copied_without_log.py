"""The file of a store in use, copied without its log: it is refused, not opened as an older or an empty one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite import integrity
from memstone.adapters.sqlite.connection import open_connection
from memstone.errors import Corrupted
from tests.faces.cli_runner import Cli

pytestmark = [pytest.mark.req("S-53", "N-45"), pytest.mark.skipif(os.name != "posix", reason="needs os.pread")]

WRITER = """
import sys, memstone
memory = memstone.Memory({"store": {"url": sys.argv[1]}, "embedder": {"provider": "hash"}})
for line in sys.stdin:
    items = [{"messages": f"{line.strip()} {n}", "user_id": "alice", "infer": False} for n in range(int(sys.argv[2]))]
    memory.add_many(items)
    print("stored", flush=True)
"""

DYING = """
import os, signal, sys
from pathlib import Path
from memstone.adapters.sqlite import integrity as marks
from memstone.adapters.sqlite.connection import open_connection

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

run = marks._execute_in_transaction
if int(sys.argv[2]):
    marks.begin_log = die
else:
    marks._execute_in_transaction = lambda connection, statement: (run(connection, statement), die())
connection = open_connection(sys.argv[1], uri=False, writable=True, durable=True)
marks.LogMark(Path(sys.argv[1]))._announce(connection)
"""


def opened(path: Path, **store: Any) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}", **store}, "embedder": {"provider": "hash"}})


def listed(path: Path, **store: Any) -> list[str]:
    with opened(path, **store) as memory:
        return sorted(one["memory"] for one in memory.get_all(user_id="alice", limit=1_000)["results"])


@contextmanager
def writing(path: Path, batch: int = 1) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open and stores what it is told."""
    command = [sys.executable, "-c", WRITER, f"sqlite:///{path}", str(batch)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def tell(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    print(text, file=process.stdin, flush=True)
    assert process.stdout.readline() == "stored\n"


@pytest.mark.parametrize("times", [1, 3])
def test_a_file_copied_from_a_running_process_is_refused(tmp_path: Path, times: int) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with writing(path) as process:
        for number in range(times):
            tell(process, f"fact {number}")
        shutil.copy(path, copy)

        with pytest.raises(Corrupted, match=r"without its log copy\.db-wal") as caught:
            opened(copy)
        assert "memstone backup" in caught.value.hint
        assert len(listed(path)) == times, "the store itself is opened by anybody"

        shutil.copy(path.with_name("m.db-wal"), copy.with_name("copy.db-wal"))
        assert len(listed(copy)) == times, "with its log nothing is missing"


def test_a_file_is_recognised_after_each_checkpoint(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with writing(path) as process:
        for number in range(4):
            tell(process, f"fact {number}")
            shutil.copy(path, copy)
            with pytest.raises(Corrupted, match="without its log"):
                opened(copy)
            with closing(sqlite3.connect(path)) as other:
                assert other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0] == 0
            shutil.copy(path, copy)
            assert len(listed(copy)) == number + 1, "everything is in the file now"


def test_a_file_left_behind_by_a_crash_is_refused_without_its_log_only(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with writing(path) as process:
        tell(process, "fact")
        process.send_signal(signal.SIGKILL)
        process.wait()
    shutil.copy(path, copy)

    with pytest.raises(Corrupted, match="without its log"):
        opened(copy)
    assert listed(path) == ["fact 0"]
    assert listed(path) == ["fact 0"]


def test_a_file_that_nobody_has_open_is_whole(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    for number in range(3):
        with opened(path) as memory:
            memory.add(f"fact {number}", user_id="alice", infer=False)
        shutil.copy(path, copy)
        assert len(listed(copy)) == number + 1


def test_what_another_program_brought_into_the_file_is_not_missed(tmp_path: Path) -> None:
    """After a crash somebody opens the file with SQLite's own tools, which take the log away when they close it."""
    path = tmp_path / "m.db"
    with writing(path) as process:
        tell(process, "fact")
        process.kill()
        process.wait()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (1,)
    assert not path.with_name("m.db-wal").exists()

    assert listed(path) == ["fact 0"]


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("first", ["memstone", "another program"])
def test_a_crash_while_a_log_is_announced_costs_nothing(tmp_path: Path, first: str, *, checkpointed: bool) -> None:
    path = tmp_path / "m.db"
    with writing(path) as process:
        tell(process, "fact")
        command = [sys.executable, "-c", DYING, str(path), str(int(checkpointed))]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL  # noqa: S603
        process.kill()
        process.wait()
    if first == "another program":
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("SELECT announced > begun FROM log_mark").fetchone() == (1,)
        assert not path.with_name("m.db-wal").exists()

    assert listed(path) == ["fact 0"]
    assert listed(path) == ["fact 0"]
    assert [one.name for one in tmp_path.iterdir()] == ["m.db"]


def test_two_processes_that_write_and_leave_one_after_the_other_leave_a_whole_file(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with opened(path) as one:
        one.add("first", user_id="alice", infer=False)
        with opened(path) as other:
            other.add("second", user_id="alice", infer=False)
        one.add("third", user_id="alice", infer=False)
        shutil.copy(path, copy)
        with pytest.raises(Corrupted):
            opened(copy)
    assert listed(path) == ["first", "second", "third"]


def test_copies_that_sqlite_makes_are_whole(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with opened(path) as memory:
        memory.add("fact", user_id="alice", infer=False)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        memory.admin.backups.create(tmp_path / "m.backup")
        memory.admin.backups.restore(tmp_path / "m.backup")
    assert listed(copy) == listed(path) == ["fact"]


def test_the_file_may_be_opened_as_it_is_on_request(tmp_path: Path, cli: Cli) -> None:
    with writing(tmp_path / "m.db", batch=900) as process:
        tell(process, "fact")
        tell(process, "another")
        cli.db.parent.mkdir(parents=True)
        shutil.copy(tmp_path / "m.db", cli.db)

    ran = cli("doctor", "--json")
    assert ran.code == 3
    assert any("without its log" in one["detail"] for one in ran.json["checks"])
    assert cli("list", "--user", "alice").code == 3
    assert cli("export", "--everybody", "--output", tmp_path / "saved.jsonl").code == 0
    saved = [json.loads(line) for line in (tmp_path / "saved.jsonl").read_text().splitlines()]
    assert any(line["type"] == "memory" for line in saved)
    assert cli("list", "--user", "alice").code == 3, "saving what is there does not accept it"
    with opened(cli.db, check=False) as memory:
        memory.add("accepted", user_id="alice", infer=False)
    assert "accepted" in listed(cli.db)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path / "home", monkeypatch, capsys)


def test_a_log_that_another_process_is_about_to_begin_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        memory.add("still there", user_id="alice", infer=False)
    with closing(open_connection(str(path), uri=False, writable=True, durable=True)) as writer:
        integrity._execute_in_transaction(writer, integrity._ANNOUNCE)
        writer.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert integrity._says_more(writer.raw)
        begins = threading.Timer(0.1, integrity.begin_log, [writer])
        begins.start()
        assert listed(path) == ["still there"]
        begins.join()
