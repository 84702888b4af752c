"""An erasure reads the file of the store; SQLite's locks on it must outlive that, or other processes take its log."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from retain import Memory
from retain.errors import InvalidInput

LOOK = """
import sys, retain
with retain.Memory({"store": {"url": sys.argv[1]}, "embedder": {"provider": "hash"}}) as memory:
    print([one["memory"] for one in memory.get_all(user_id="alice")["results"]])
"""


def _elsewhere(url: str) -> str:
    """What another process finds that opens the store and closes it."""
    done = subprocess.run([sys.executable, "-c", LOOK, url], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


@pytest.mark.req("X-30")
def test_other_processes_see_what_is_stored_after_an_erasure(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        assert memory.erase(user_id="bob")["complete"]
        with pytest.raises(InvalidInput):
            memory.backup(tmp_path / "m.db")
        assert "Oslo" in _elsewhere(url)
        assert (tmp_path / "m.db-wal").exists()
        memory.add("I like tea", user_id="alice", infer=False)
        assert "tea" in _elsewhere(url)
