"""What is only noted: seen by everybody at once, kept when the process dies, and waited for by nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from memstone import Memory
from memstone.adapters.sqlite.connection import open_connection
from memstone.adapters.sqlite.write_queue import WriteQueue
from memstone.drive import drive
from memstone.ports.ledger import Tx, Work

AT = "2026-01-01T00:00:00.000000Z"


def _note(name: str) -> Work[None]:
    async def work(tx: Tx) -> None:
        await tx.calibration.put("default", name, {"held": True}, AT)

    return work


def _holds(memory: Memory, name: str) -> bool:
    return drive(memory.engine.runtime.ledger.read(lambda tx: tx.calibration.get("default", name))) is not None


def _without_others(texts: list[str]) -> list[str]:
    """The commits of notes, and how they wait; a worker may write its own rows at any moment."""
    asked: list[str] = []
    ours = False
    for one in texts:
        ours = "calibration" in one or (ours and not one.startswith("BEGIN"))
        if "synchronous" in one or (one == "COMMIT" and ours):
            asked.append(one)
    return asked


def test_only_what_is_noted_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/a.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory:
        memory.stats()
        ledger: Any = memory.engine.runtime.ledger
        texts: list[str] = []
        ledger._open_writer().raw.set_trace_callback(texts.append)
        for verb in (ledger.write, ledger.note, ledger.note, ledger.write):
            drive(verb(_note(f"{len(texts)}")))
        asked = _without_others(texts)
    full, normal = "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"
    assert asked == ["COMMIT", normal, "COMMIT", "COMMIT", full, "COMMIT"]


def test_one_that_waits_makes_those_beside_it_wait(tmp_path: Path) -> None:
    connection = open_connection(str(tmp_path / "a.db"), uri=False, writable=True, durable=True)
    connection.raw.execute("CREATE TABLE notes (text TEXT)")
    wanted: list[int] = []
    queue = WriteQueue(lambda: connection)

    async def work(_: Tx) -> None:
        connection.raw.execute("INSERT INTO notes VALUES ('x')")
        wanted.append(connection.raw.execute("PRAGMA synchronous").fetchone()[0])

    queue.run(work, synced=False)
    queue._serve([_job(work, synced=False), _job(work, synced=True)])
    connection.close()
    assert wanted == [1, 2, 2]


def _job(work: Work[None], *, synced: bool) -> Any:
    from memstone.adapters.sqlite.write_queue import _Job

    return _Job(work, synced=synced)


def test_what_was_noted_outlives_the_process(tmp_path: Path) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/a.db"}, "embedder": {"provider": "hash"}}
    program = f"""
import sys, time
sys.path.insert(0, {str(Path.cwd())!r})
from memstone import Memory
from memstone.drive import drive
from tests.conformance.test_noted import _note
memory = Memory({config!r})
memory.stats()
drive(memory.engine.runtime.ledger.note(_note("mine")))
print("noted", flush=True)
time.sleep(600)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)  # noqa: S603 - our own program
    assert child.stdout is not None
    with Memory(config) as memory:
        assert child.stdout.readline() == b"noted\n"
        assert _holds(memory, "mine")
        child.send_signal(signal.SIGKILL)
        child.wait(60)
        child.stdout.close()
        assert _holds(memory, "mine")
