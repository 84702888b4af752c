"""Weaviate for real: the suite against a server that was built from its source."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memstone.adapters.vectors.weaviate import WeaviateConfig, WeaviateStore
from memstone.model.query import Op
from memstone.ports.index import VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import VectorStoreSuite
from tests.stores.weaviate_server import KEY, PROGRAM, run_weaviate

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not PROGRAM, reason="MEMSTONE_WEAVIATE_SERVER names no program"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_weaviate() as running:
        yield running


class TestWeaviateServer(VectorStoreSuite):
    """Compared by a graph."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    index = "hnsw"
    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, url: str) -> None:
        self._url = url

    def connect(self, io: Io) -> VectorStore:
        """A connection to the server."""
        options = {"url": self._url, "api_key": KEY, "index": self.index}
        return WeaviateStore(WeaviateConfig.model_validate(options), io)


class TestWeaviateServerFlat(TestWeaviateServer):
    """Compared one by one."""

    index = "flat"
