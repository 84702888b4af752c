"""Elasticsearch and OpenSearch over a fake of their interfaces, which carries the vendors' own clients first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from opensearchpy import OpenSearch

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.elasticsearch import ElasticsearchConfig, ElasticsearchStore
from memstone.adapters.vectors.opensearch import OpenSearchStore
from memstone.drive import drive
from memstone.errors import VectorStoreError
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from memstone.testing.wire import WireServer
from tests.stores.fake_elasticsearch import FakeElasticsearch

KEY = "es-test-4711"


@pytest.fixture(scope="module")
def elastic() -> Iterator[WireServer]:
    with WireServer(FakeElasticsearch(f"ApiKey {KEY}")) as running:
        yield running


@pytest.fixture(scope="module")
def opensearch() -> Iterator[WireServer]:
    with WireServer(FakeElasticsearch("Basic YWRtaW46c2VjcmV0", opensearch=True)) as running:
        yield running


def elastic_config(server: WireServer) -> ElasticsearchConfig:
    return ElasticsearchConfig.model_validate({"url": server.url, "api_key": KEY})


def opensearch_config(server: WireServer) -> ElasticsearchConfig:
    return ElasticsearchConfig.model_validate({"url": server.url, "username": "admin", "password": "secret"})


@pytest.mark.req("C-31", "C-32", "C-34", "C-39.3", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestElasticsearch(VectorStoreSuite):
    """The whole contract over the wire."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, elastic: WireServer) -> None:
        self._server = elastic

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return ElasticsearchStore(elastic_config(self._server), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("C-31", "C-32", "C-34", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestOpenSearch(VectorStoreSuite):
    """The whole contract over the wire, in the other dialect."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, opensearch: WireServer) -> None:
        self._server = opensearch

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return OpenSearchStore(opensearch_config(self._server), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("C-39.3")
def test_the_client_of_elasticsearch_finds_what_our_store_has_written(elastic: WireServer, io: BlockingIo) -> None:
    client = Elasticsearch(elastic.url, api_key=KEY)
    fields: dict[str, Any] = {"vector": {"type": "dense_vector", "dims": 2, "similarity": "cosine"}}
    client.indices.create(index="theirs", mappings={"properties": {**fields, "id": {"type": "keyword"}}})
    client.bulk(index="theirs", operations=[{"index": {"_id": "1"}}, {"id": "1", "vector": [1, 0]}], refresh=True)
    asked = {"field": "vector", "query_vector": [1, 0], "k": 1, "num_candidates": 10}
    assert client.search(index="theirs", knn=asked)["hits"]["hits"][0]["_score"] == pytest.approx(1.0)
    assert client.count(index="theirs")["count"] == 1
    client.indices.delete(index="theirs")

    store = ElasticsearchStore(elastic_config(elastic), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    where = {"terms": {"labels": ["user_id=s:u"]}}
    found = client.search(index=f"memstone-{NAME}", knn={**asked, "query_vector": [3, 4], "filter": where})
    assert [one["_source"]["id"] for one in found["hits"]["hits"]] == ["a"]
    client.close()


def test_the_client_of_opensearch_finds_what_our_store_has_written(opensearch: WireServer, io: BlockingIo) -> None:
    store = OpenSearchStore(opensearch_config(opensearch), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    client = OpenSearch(opensearch.url, http_auth=("admin", "secret"))

    body = {"size": 1, "query": {"knn": {"vector": {"vector": [3, 4], "k": 1}}}}
    (hit,) = client.search(index=f"memstone-{NAME}", body=body)["hits"]["hits"]

    assert hit["_source"]["id"] == "a"
    assert_close([hit["_score"]], [1.0])
    client.close()


def test_a_wrong_key_is_told_and_never_shown(elastic: WireServer, io: BlockingIo) -> None:
    config = ElasticsearchConfig.model_validate({"url": elastic.url, "api_key": "wrong-secret"})
    with pytest.raises(VectorStoreError, match="401") as refused:
        drive(ElasticsearchStore(config, io).check_health())
    assert "wrong-secret" not in f"{refused.value!r} {refused.value.hint}"
