"""What people said is not for everybody who has an account on the machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstone.memory import Memory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def opened(path: Path) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}})


def test_a_new_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / ".memstone" / "memstone.db"
    with opened(path) as memory:
        memory.add("I am diabetic", user_id="me", infer=False)
        files = {file.name: mode(file) for file in path.parent.iterdir()}
    assert files == {"memstone.db": 0o600, "memstone.db-wal": 0o600, "memstone.db-shm": 0o600}
    assert mode(path.parent) == 0o700


def test_a_store_and_a_folder_that_are_there_keep_their_permissions(tmp_path: Path) -> None:
    path = tmp_path / "shared" / "memstone.db"
    opened(path).close()
    path.chmod(0o660)
    path.parent.chmod(0o775)
    with opened(path) as memory:
        memory.add("For the whole group", user_id="me", infer=False)
        assert (mode(path), mode(path.parent)) == (0o660, 0o775)


def test_a_new_store_behind_a_link_is_as_private(tmp_path: Path) -> None:
    path, target = tmp_path / "link.db", tmp_path / "elsewhere.db"
    path.symlink_to(target)
    with opened(path) as memory:
        memory.add("I am diabetic", user_id="me", infer=False)
        assert mode(target) == 0o600
