"""Qdrant over a fake of its REST interface, which carries the vendor's own client first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.qdrant import QdrantConfig, QdrantStore
from memstone.drive import drive
from memstone.errors import BackendUnavailable, ConfigError, VectorStoreError
from memstone.model.query import Condition, Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from memstone.testing.wire import WireReply, WireServer
from tests.stores.fake_qdrant import FakeQdrant

KEY = "qd-test-4711"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer(FakeQdrant(KEY)) as running:
        yield running


@pytest.mark.req(
    "O-18", "O-20", "O-23", "C-31", "C-32", "C-33", "C-34", "C-39.1", "C-59", "R-5", "R-27", "R-28", "X-19"
)
class TestQdrant(VectorStoreSuite):
    """The whole contract over the wire."""

    unsupported = frozenset({Op.ICONTAINS})
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, server: WireServer) -> None:
        self._server = server

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return QdrantStore(QdrantConfig.model_validate({"url": self._server.url, "api_key": KEY}), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("O-23")
@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_the_vendors_client_finds_what_our_store_has_written(server: WireServer, io: BlockingIo) -> None:
    store = QdrantStore(QdrantConfig.model_validate({"url": server.url, "api_key": KEY}), io)
    drive(store.reset())
    client = QdrantClient(url=server.url, api_key=KEY, check_compatibility=False)
    client.create_collection("theirs", vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(id=n, vector=[1.0, float(n)], payload={"user_id": "u" if n else "v", "seq": n})
        for n in range(3)
    ]
    client.upsert("theirs", points, wait=True)
    own = models.Filter(must=[models.FieldCondition(key="user_id", match=models.MatchValue(value="u"))])
    late = models.Filter(must=[models.FieldCondition(key="seq", range=models.Range(gte=2))])

    hits = client.query_points("theirs", query=[1.0, 0.0], query_filter=own, limit=5, with_payload=True).points
    assert [hit.id for hit in hits] == [1, 2]
    assert_close([hit.score for hit in hits], [2**-0.5, 5**-0.5])
    assert client.count("theirs", count_filter=late, exact=True).count == 1
    assert [one.id for one in client.scroll("theirs", scroll_filter=own, limit=1)[0]] == [1]
    client.delete("theirs", points_selector=models.FilterSelector(filter=late))
    assert client.get_collection("theirs").points_count == 2
    assert [hit.id for hit in drive(store.search("theirs", [1, 0], 5, Condition("user_id", Op.EQ, "u")))] == ["1"]

    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [1, 0], {"user_id": "v"})]))
    (hit,) = client.query_points(NAME, query=[3.0, 4.0], query_filter=own, limit=5, with_payload=True).points
    assert (hit.payload or {})["user_id"] == "u"
    assert_close([hit.score], [1.0])
    client.close()


@pytest.mark.req("O-23")
def test_a_collection_with_named_vectors_is_used_by_its_first_name(io: BlockingIo) -> None:
    fake = FakeQdrant()
    with WireServer(fake) as running:
        client = QdrantClient(url=running.url, check_compatibility=False)
        size = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection(NAME, vectors_config={"text": size, "image": size})
        store = QdrantStore(QdrantConfig(url=running.url), io)
        drive(store.create(NAME, 2))
        drive(store.upsert(NAME, [Point("a", [3, 4], {"seq": 1})]))

        (hit,) = drive(store.search(NAME, [3, 4], 5))
        assert (hit.id, hit.payload) == ("a", {"seq": 1})
        assert [list(point["vector"]) for point in fake.collections[NAME].points.values()] == [["text"]]
        assert_close(drive(store.scan(NAME))[0].vector, [0.6, 0.8])
        client.close()


@pytest.mark.req("O-23")
@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, "http://localhost:6333"),
        ({"host": "db"}, "http://db:6333"),
        ({"host": "db", "port": 7000}, "http://db:7000"),
        ({"host": "https://db.example.com"}, "https://db.example.com:6333"),
        ({"host": "db.example.com", "https": True}, "https://db.example.com:6333"),
        ({"url": "http://db:80/qdrant/"}, "http://db:80/qdrant"),
        ({"url": "https://db.example.com", "port": 443}, "https://db.example.com:443"),
        ({"host": "::1"}, "http://[::1]:6333"),
    ],
)
def test_every_form_of_an_address_is_understood(options: dict[str, Any], url: str, io: BlockingIo) -> None:
    assert QdrantStore(QdrantConfig(**options), io)._base_url == url


def test_what_is_no_address_is_refused(io: BlockingIo) -> None:
    with pytest.raises(ConfigError, match="http"):
        QdrantStore(QdrantConfig(url="ftp://db"), io)


@pytest.mark.req("C-46")
def test_the_environment_names_the_server_where_the_options_do_not() -> None:
    env = {"QDRANT_HOST": "db", "QDRANT_PORT": "7000", "QDRANT_API_KEY": "k"}
    assert QdrantStore.read_environment({}, env) == {"host": "db", "port": "7000", "api_key": "k"}
    assert QdrantStore.read_environment({"url": "http://x", "api_key": "own"}, env) == {
        "url": "http://x",
        "api_key": "own",
    }


@pytest.mark.req("O-22")
def test_a_server_that_is_not_ready_or_gone_is_unhealthy(io: BlockingIo) -> None:
    fake = FakeQdrant()
    with WireServer(fake) as running:
        store = QdrantStore(QdrantConfig(url=running.url), io)
        drive(store.check_health())
        fake.ready = False
        with pytest.raises(BackendUnavailable, match="503"):
            drive(store.check_health())
    with pytest.raises(BackendUnavailable):
        drive(store.check_health())


@pytest.mark.req("O-23")
def test_a_wrong_key_is_told_and_never_shown(io: BlockingIo) -> None:
    with WireServer(FakeQdrant(KEY)) as running:
        store = QdrantStore(QdrantConfig.model_validate({"url": running.url, "api_key": "wrong-secret"}), io)
        with pytest.raises(VectorStoreError, match="403") as refused:
            drive(store.collections())
        assert "wrong-secret" not in f"{refused.value!r} {refused.value.hint}"
        assert running.requests[-1].headers["api-key"] == "wrong-secret"


def test_the_fields_of_a_mirror_are_indexed(io: BlockingIo) -> None:
    fake = FakeQdrant()
    with WireServer(fake) as running:
        drive(QdrantStore(QdrantConfig(url=running.url), io).create(NAME, 2))
    assert fake.collections[NAME].indexes == {
        "tenant_id": "keyword",
        "user_id": "keyword",
        "layer": "keyword",
        "seq": "integer",
    }


def test_an_answer_that_is_not_json_is_an_error(io: BlockingIo) -> None:
    with WireServer(lambda _: WireReply(body=b"<html>")) as running, pytest.raises(VectorStoreError, match="JSON"):
        drive(QdrantStore(QdrantConfig(url=running.url), io).collections())
