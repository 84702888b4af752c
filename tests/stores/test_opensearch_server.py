"""OpenSearch for real: the suite against its own server and k-NN plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opensearchpy import OpenSearch

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.elasticsearch import ElasticsearchConfig
from memstone.adapters.vectors.opensearch import OpenSearchStore
from memstone.drive import drive
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from tests.stores.opensearch_server import can_run_opensearch, run_opensearch

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not can_run_opensearch(), reason="there is no Maven, or no JDK"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_opensearch() as running:
        yield running


class TestOpenSearchServer(VectorStoreSuite):
    """The whole contract."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, url: str) -> None:
        self._url = url

    def connect(self, io: Io) -> VectorStore:
        """A connection to the server."""
        return OpenSearchStore(ElasticsearchConfig(url=self._url), io)


def test_the_vendors_client_finds_what_our_store_has_written(url: str, io: BlockingIo) -> None:
    store = OpenSearchStore(ElasticsearchConfig(url=url), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    client = OpenSearch(url)
    body = {"size": 1, "query": {"knn": {"vector": {"vector": [3, 4], "k": 1}}}}
    (hit,) = client.search(index=f"memstone-{NAME}", body=body)["hits"]["hits"]
    assert hit["_source"]["id"] == "a"
    assert_close([hit["_score"]], [1.0])
    client.close()
