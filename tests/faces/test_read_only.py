"""A store that may not be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memstone import StorageError
from memstone.errors import StorageReadOnly
from tests.faces.harness import ON_DISK, Face, Opens

pytestmark = [ON_DISK, pytest.mark.req("C-52")]
NOBODY = 65534


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A folder that somebody else may look into, and nothing more."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        yield Path(folder)
        Path(folder).chmod(0o755)


def permit(folder: Path, mode: int) -> None:
    """Set the permissions of a folder and of all that is in it."""
    for path in (*folder.iterdir(), folder):
        path.chmod(mode)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Without the right to write what is ours: permissions mean nothing to root, so root steps down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return [path.name for path in folder.iterdir()]


async def used_once(face: Face) -> None:
    """Whatever is imported on first use is imported now, while we may read all of it."""
    await face.remember("I live in Oslo")
    await face.found("Oslo")


async def test_a_store_cannot_be_made_where_one_may_not_write(face: Face, opens: Opens, guarded: Path) -> None:
    await used_once(face)

    with as_somebody_else():
        for path in (guarded / "memstone.db", guarded / "deeper" / "memstone.db"):
            with pytest.raises(StorageError) as caught:
                await opens({"store": {"url": f"sqlite:///{path}"}}).listed()
            assert caught.value.hint
            assert str(guarded) in caught.value.message
    assert names(guarded) == []


async def test_a_store_that_may_only_be_read_is_read_and_refuses_to_be_written(
    face: Face, opens: Opens, guarded: Path
) -> None:
    await used_once(face)
    url = {"store": {"url": f"sqlite:///{guarded / 'memstone.db'}"}}
    permit(guarded, 0o755)
    owner = opens(url)
    memory_id = await owner.remember("I live in Oslo")
    permit(guarded, 0o555)

    with as_somebody_else():
        reader = opens(url)
        assert await reader.found("Oslo") == ["I live in Oslo"]
        for call in (reader.store("I live in Rome", user_id="alice"), reader.delete(memory_id), reader.reset()):
            with pytest.raises(StorageReadOnly) as caught:
                await call
            assert caught.value.hint

    assert await owner.listed() == ["I live in Oslo"]
