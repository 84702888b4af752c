"""Chroma: a real server, and its own client beside ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.chroma import ChromaConfig, ChromaStore
from memstone.drive import drive
from memstone.errors import VectorStoreError
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, fill_collection
from memstone.testing.wire import WireReply, WireServer
from tests.stores.chroma_server import run_chroma


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_chroma() as running:
        yield running


@pytest.mark.system
@pytest.mark.req("C-31", "C-32", "C-35", "C-39.1", "C-58.41", "C-59", "R-5", "R-27", "R-28", "X-19")
class TestChroma(VectorStoreSuite):
    """The whole contract over a server."""

    unsupported = frozenset({Op.CONTAINS, Op.ICONTAINS})
    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, url: str) -> None:
        self._url = url

    def connect(self, io: Io) -> VectorStore:
        """A connection to the server."""
        return ChromaStore(ChromaConfig(url=self._url), io)


@pytest.mark.system
@pytest.mark.req("C-39.1")
def test_the_vendors_client_finds_what_our_store_has_written(url: str, io: BlockingIo) -> None:
    import chromadb
    from chromadb.config import Settings

    store = ChromaStore(ChromaConfig(url=url), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    host, _, port = url.removeprefix("http://").partition(":")
    client = chromadb.HttpClient(host=host, port=int(port), settings=Settings(anonymized_telemetry=False))

    found = client.get_collection(NAME, embedding_function=None).query(query_embeddings=[[3, 4]], n_results=1)

    assert (found["ids"], found["documents"]) == ([["a"]], [['{"user_id": "u"}']])


@pytest.mark.req("C-46")
def test_the_environment_names_the_server_where_the_options_do_not() -> None:
    env = {"CHROMA_HOST": "db", "CHROMA_PORT": "9000"}
    assert ChromaStore.read_environment({}, env) == {"host": "db", "port": "9000"}
    assert ChromaStore.read_environment({"url": "http://x"}, env) == {"url": "http://x"}


@pytest.mark.parametrize(("header", "sent"), [("x-chroma-token", "k-4711"), ("authorization", "Bearer k-4711")])
def test_the_key_is_sent_as_the_options_say(header: str, sent: str, io: BlockingIo) -> None:
    with WireServer(lambda _: WireReply(json={"nanosecond heartbeat": 1})) as server:
        options = {"url": server.url, "api_key": "k-4711", "auth_header": header}
        drive(ChromaStore(ChromaConfig.model_validate(options), io).check_health())
    assert server.requests[0].headers[header] == sent


def test_what_the_server_refuses_is_told_in_our_words(io: BlockingIo) -> None:
    refusal = WireReply(400, json={"error": "InvalidArgumentError", "message": "too short a name"})
    with WireServer(lambda _: refusal) as server, pytest.raises(VectorStoreError, match="400"):
        drive(ChromaStore(ChromaConfig(url=server.url), io).create("ab", 2))
