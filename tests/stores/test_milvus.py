"""Milvus Lite, which runs in this process, through the client of Milvus."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstone.errors import BackendError, InvalidInput
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.modes import run
from memstone.testing.vector_store import VectorStoreSuite, fill_collection

pytestmark = [
    pytest.mark.system,
    pytest.mark.filterwarnings("ignore"),  # its libraries warn about one another
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus") / "points.db"


@pytest.mark.req("C-31", "C-32", "C-34", "C-39.1", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestMilvus(VectorStoreSuite):
    """The whole contract over a file."""

    unsupported = frozenset({Op.CONTAINS, Op.ICONTAINS})
    _path: Path

    @pytest.fixture(autouse=True)
    def _file(self, path: Path) -> None:
        self._path = path

    def connect(self, io: Io) -> VectorStore:
        """A connection to the file."""
        from memstone.adapters.vectors.milvus import MilvusConfig, MilvusStore

        return MilvusStore(MilvusConfig(url=str(self._path)), io)

    def test_a_payload_that_is_too_large_is_refused(self, mode: str) -> None:
        """Before anything is written."""

        async def scenario(store: VectorStore) -> None:
            with pytest.raises(InvalidInput, match="65535"):
                await fill_collection(store, [Point("a", [1, 0], {"text": "x" * 70_000})])

        self.play(mode, scenario)


@pytest.mark.req("N-1")
def test_a_server_that_is_not_there_is_an_error_of_ours() -> None:
    from memstone.adapters.vectors.milvus import MilvusConfig, MilvusStore

    async def scenario(io: Io) -> None:
        with pytest.raises(BackendError):
            await MilvusStore(MilvusConfig(url="http://127.0.0.1:1", timeout=1), io).check_health()

    run("blocking", scenario)
