"""FAISS in this process, with and without a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.faiss import FaissConfig, FaissStore
from memstone.drive import drive
from memstone.errors import VectorStoreError
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, fill_collection, scan_ids


@pytest.mark.req("C-31", "C-32", "C-34", "C-39.1", "C-58.41", "R-5", "R-27", "R-28", "R-37", "X-19")
class TestFaiss(VectorStoreSuite):
    """Compared with every vector, in a folder."""

    options: ClassVar[dict[str, Any]] = {}
    _path: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._path = tmp_path

    def connect(self, io: Io) -> VectorStore:
        """A store over the folder of this test."""
        return FaissStore(FaissConfig(path=self._path, **self.options), io)


class TestFaissGraph(TestFaiss):
    """Compared by a graph."""

    options: ClassVar[dict[str, Any]] = {"index": "hnsw"}


@pytest.mark.req("C-39.1")
def test_what_another_process_has_written_is_found(tmp_path: Path, io: BlockingIo) -> None:
    one, other = (FaissStore(FaissConfig(path=tmp_path), io) for _ in range(2))
    drive(fill_collection(one, [Point("a", [1, 0])]))
    assert [hit.id for hit in drive(other.search(NAME, [1, 0], 5))] == ["a"]

    drive(other.upsert(NAME, [Point("b", [0, 1])]))
    drive(other.delete(NAME, ["a"]))

    assert [hit.id for hit in drive(one.search(NAME, [0, 1], 5))] == ["b"]
    for store in (one, other):
        drive(store.close())


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, io: BlockingIo) -> None:
    monkeypatch.chdir(tmp_path)
    store = FaissStore(FaissConfig(), io)
    drive(fill_collection(store, [Point("a", [1, 0])]))
    assert drive(scan_ids(store, None)) == ["a"]
    drive(store.close())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_and_a_file_that_cannot_be_read_are_typed(tmp_path: Path, io: BlockingIo) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = FaissStore(FaissConfig(path=tmp_path / "file" / "points"), io)
    with pytest.raises(VectorStoreError, match="cannot be made") as refused:
        drive(store.create(NAME, 2))
    assert "vector_store.config.path" in (refused.value.hint or "")
    (tmp_path / "points.sqlite").write_bytes(b"this is no database" * 100)
    damaged = FaissStore(FaissConfig(path=tmp_path), io)
    with pytest.raises(VectorStoreError, match="cannot be used") as refused:
        drive(damaged.collections())
    assert "delete points.sqlite" in (refused.value.hint or "")
    drive(damaged.close())


def test_a_search_goes_on_without_the_folder_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    config = {"path": str(tmp_path / "file" / "points")}
    settings = {"store": {"url": "memory:"}, "vector_store": {"provider": "faiss", "config": config}}
    with Memory({**settings, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I drink tea.", user_id="ann", infer=False)
        found = memory.search("tea", user_id="ann")
    assert [one["memory"] for one in found["results"]] == ["I drink tea."]
    assert [(one["channel"], one["code"]) for one in found["degraded"]] == [("vector_store", "vector_store")]
