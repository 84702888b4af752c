"""Elasticsearch for real: the suite against its own server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from elasticsearch import Elasticsearch

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.elasticsearch import ElasticsearchConfig, ElasticsearchStore
from memstone.drive import drive
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, fill_collection
from tests.stores.elasticsearch_server import can_run_elasticsearch, run_elasticsearch

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not can_run_elasticsearch(), reason="there is no Java"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_elasticsearch() as running:
        yield running


class TestElasticsearchServer(VectorStoreSuite):
    """The whole contract."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, url: str) -> None:
        self._url = url

    def connect(self, io: Io) -> VectorStore:
        """A connection to the server."""
        return ElasticsearchStore(ElasticsearchConfig(url=self._url), io)


def test_the_vendors_client_finds_what_our_store_has_written(url: str, io: BlockingIo) -> None:
    store = ElasticsearchStore(ElasticsearchConfig(url=url), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    client = Elasticsearch(url)
    form = "application/vnd.elasticsearch+json; compatible-with=8"  # the client may be newer than the server
    kind = {"accept": form, "content-type": form}
    asked = {"field": "vector", "query_vector": [3, 4], "k": 1, "num_candidates": 10}
    found = client.options(headers=kind).search(index=f"memstone-{NAME}", knn=asked)
    assert [one["_source"]["id"] for one in found["hits"]["hits"]] == ["a"]
    client.close()
