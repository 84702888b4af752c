"""kill -9 in the middle of an erasure, a backup or a restore: the store can be used, and the same call finishes it.

``python -m tests.security.test_erase_crash VERB PATH COPY STEP`` is the victim: it stops at a step of its progress and
waits there to be killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.adapters.sqlite import backup
from tests.concurrency.intact import assert_sound

_ROOT: Final = Path(__file__).resolve().parents[2]
_SECRET: Final = b"the kerosene is in the basement"

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="there is no kill -9"), pytest.mark.slow]


def opened(path: Path) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}", "durable": False}, "embedder": {"provider": "hash"}})


def filled(path: Path) -> list[str]:
    """A store with one user to erase; gives the export of the others."""
    with opened(path) as memory:
        for user in ("alice", "bob", "carol"):
            memory.add_many(
                [{"messages": f"{_SECRET.decode()} {user} {at}", "user_id": user, "infer": False} for at in range(100)]
            )
        return exported(memory, "bob", "carol")


def exported(memory: Memory, *users: str) -> list[str]:
    lines = (line for user in users for line in memory.export(user_id=user))
    return [json.dumps(line, sort_keys=True) for line in lines]


def killed(verb: str, path: Path, copy: Path, step: int) -> bool:
    """Kill a victim at a step; False when it came to its end before."""
    command = [sys.executable, "-m", "tests.security.test_erase_crash", verb, str(path), str(copy), str(step)]
    victim = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    assert victim.stdout is not None
    text = victim.stdout.readline()
    victim.send_signal(signal.SIGKILL)
    victim.stdout.close()
    victim.wait()
    assert text in ("here\n", "done\n"), "the victim failed by itself"
    return text == "here\n"


def _live(verb: str, path: Path, copy: Path, step: int) -> None:
    seen = 0

    def progress(_: int, __: int) -> None:
        nonlocal seen
        seen += 1
        if seen == step:
            print("here", flush=True)  # noqa: T201 - the test listens
            time.sleep(60)

    backup._PAGES = 16  # type: ignore[misc]
    with opened(path) as memory:
        verbs: dict[str, Any] = {
            "erase": lambda: memory.admin.erase(user_id="alice", progress=progress),
            "backup": lambda: memory.admin.backups.create(copy, progress=progress),
            "restore": lambda: memory.admin.backups.restore(copy, progress=progress),
        }
        verbs[verb]()
    print("done", flush=True)  # noqa: T201 - the test listens


@pytest.mark.req("X-30", "C-56")
@pytest.mark.parametrize("step", [1, 3, *(pytest.param(step, marks=pytest.mark.system) for step in (2, 4, 5, 6))])
def test_an_erasure_that_was_killed_is_finished_by_the_same_call(tmp_path: Path, step: int) -> None:
    path, copy = tmp_path / "memstone.db", tmp_path / "one.backup"
    others = filled(path)
    with opened(path) as memory:
        memory.admin.backups.create(copy)
    assert killed("erase", path, copy, step)

    assert_sound(path)
    with opened(path) as memory:
        assert memory.get_all(user_id="alice")["results"] == [], "the rows went first, all at once"
        report = memory.admin.erase(user_id="alice")
        assert report["complete"], report["checks"]
        assert exported(memory, "bob", "carol") == others
        assert memory.admin.backups.verify(copy)["tables"]["memories"] == 200
        assert memory.admin.verify_erasure(report)["ok"]
    for file in tmp_path.rglob("*"):
        assert b"alice" not in file.read_bytes(), file


@pytest.mark.req("N-45", "C-56")
@pytest.mark.parametrize("step", [3, *(pytest.param(step, marks=pytest.mark.system) for step in (1, 9))])
def test_a_backup_that_was_killed_is_not_taken_for_one(tmp_path: Path, step: int) -> None:
    path, copy = tmp_path / "memstone.db", tmp_path / "copies" / "one.backup"
    copy.parent.mkdir()
    filled(path)
    assert killed("backup", path, copy, step)

    assert not copy.exists()
    assert len(list(copy.parent.iterdir())) == 1, "what it had begun"
    with opened(path) as memory:
        report = memory.admin.erase(user_id="alice")
        assert report["complete"], report["checks"]
        assert list(copy.parent.iterdir()) == [], "an erasure finds what was left of it"
        memory.admin.backups.create(copy)
        assert killed("backup", path, copy, step)
        assert memory.admin.backups.verify(copy)["ok"], "the older one is still there"
        memory.admin.backups.create(copy)
        assert [one.name for one in copy.parent.iterdir()] == [copy.name], "and the next one tidies up"


@pytest.mark.req("N-45", "C-56")
@pytest.mark.parametrize("step", [5, *(pytest.param(step, marks=pytest.mark.system) for step in (1, 12))])
def test_a_restore_that_was_killed_has_changed_nothing(tmp_path: Path, step: int) -> None:
    path, copy = tmp_path / "memstone.db", tmp_path / "one.backup"
    filled(path)
    with opened(path) as memory:
        memory.admin.backups.create(copy)
        old = exported(memory, "alice", "bob", "carol")
        memory.delete_all(user_id="bob")
        memory.add("and something new", user_id="alice", infer=False)
        now = exported(memory, "alice", "bob", "carol")
    assert killed("restore", path, copy, step)

    assert_sound(path)
    with opened(path) as memory:
        assert exported(memory, "alice", "bob", "carol") == now
        memory.add("it goes on", user_id="dave", infer=False)
        memory.admin.backups.restore(copy)
        assert exported(memory, "alice", "bob", "carol") == old
        memory.admin.erase(user_id="alice")
    assert_sound(path)
    assert not list(tmp_path.glob("*.staged-*")), "nothing is left of the one that was killed"


if __name__ == "__main__":
    _live(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
