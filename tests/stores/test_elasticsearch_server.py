"""Elasticsearch for real: the suite against its own server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memstone.adapters.vectors.elasticsearch import ElasticsearchConfig, ElasticsearchStore
from memstone.model.query import Op
from memstone.ports.index import VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import VectorStoreSuite
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
