"""An erasure reads the file of the store; SQLite's locks on it must outlive that, or other processes take its log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite import copies
from memstone.errors import InvalidInput, MemstoneError
from tests.faces.harness import verb_of

LOOK = """
import sys, memstone
with memstone.Memory({"store": {"url": sys.argv[1]}, "embedder": {"provider": "hash"}}) as memory:
    print([one["memory"] for one in memory.get_all(user_id="alice")["results"]])
"""


def _elsewhere(url: str) -> str:
    """What another process finds that opens the store and closes it."""
    done = subprocess.run([sys.executable, "-c", LOOK, url], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def _is_heard(memory: Memory, url: str) -> bool:
    """Whether another process finds what is stored from now on."""
    _elsewhere(url)  # who believes itself alone takes the log away when it closes
    memory.add("I like tea", user_id="alice", infer=False)
    return "tea" in _elsewhere(url)


@pytest.mark.parametrize("verb", ["admin.backups.restore", "admin.backups.verify", "admin.import_from"])
@pytest.mark.parametrize("name", ["m.db", "link.db"])
def test_the_file_of_the_store_is_not_opened_in_the_place_of_a_backup(tmp_path: Path, verb: str, name: str) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    (tmp_path / "link.db").symlink_to(tmp_path / "m.db")
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        with pytest.raises(MemstoneError, match="the store itself"):
            verb_of(memory, verb)(tmp_path / name)
        assert _is_heard(memory, url)


@pytest.mark.req("X-30")
def test_other_processes_see_what_is_stored_after_an_erasure(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        assert memory.admin.erase(user_id="bob")["complete"]
        with pytest.raises(InvalidInput):
            memory.admin.backups.create(tmp_path / "m.db")
        assert "Oslo" in _elsewhere(url)
        assert (tmp_path / "m.db-wal").exists()
        memory.add("I like tea", user_id="alice", infer=False)
        assert "tea" in _elsewhere(url)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a file is open only while it is read")
def test_the_files_of_stores_that_were_removed_are_not_kept_open(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"{number}.db"
        with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}) as memory:
            memory.add("I live in Oslo", user_id="alice", infer=False)
            memory.admin.erase(user_id="alice")
        inode = path.stat().st_ino
        assert inode in {one for _, one in copies._open_copies}
        path.unlink()

    with Memory({"store": {"url": f"sqlite:///{tmp_path}/last.db"}, "embedder": {"provider": "hash"}}) as memory:
        memory.admin.erase(user_id="bob")
    assert all(os.fstat(file).st_nlink for file in copies._open_copies.values())
