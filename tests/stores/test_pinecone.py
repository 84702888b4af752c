"""Pinecone over a fake of its interface, which carries the vendor's own client first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pinecone import Index

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors import pinecone as pinecone_module
from memstone.adapters.vectors.pinecone import PineconeConfig, PineconeStore
from memstone.drive import drive
from memstone.errors import ConfigError, VectorStoreError
from memstone.model.query import Condition, Not, Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from memstone.testing.wire import WireServer
from tests.stores.fake_pinecone import FakePinecone, PineconeIndex

KEY = "pc-test-4711"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    fake = FakePinecone(KEY)
    with WireServer(fake) as running:
        fake.url = running.url
        yield running


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinecone_module, "_READY_SECONDS", 0.001)


def config(server: WireServer, **options: Any) -> PineconeConfig:
    return PineconeConfig.model_validate({"url": server.url, "api_key": KEY, **options})


@pytest.mark.req("C-31", "C-32", "C-36", "C-39.2", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestPinecone(VectorStoreSuite):
    """The whole contract over the wire."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, server: WireServer) -> None:
        self._server = server

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return PineconeStore(config(self._server), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("C-36", "C-39.2")
def test_the_vendors_client_finds_what_our_store_has_written(server: WireServer, io: BlockingIo) -> None:
    fake = server.handler
    assert isinstance(fake, FakePinecone)
    fake.indexes["theirs"] = PineconeIndex("theirs", 2)
    with Index(host=f"{server.url}/data/theirs", api_key=KEY) as client:
        client.create_namespace(name="space")
        client.upsert(
            vectors=[("1", [1.0, 0.0], {"tags": ["a", "b"]}), ("2", [0.0, 1.0], {"tags": ["c"]})], namespace="space"
        )
        hits = client.query(
            vector=[1.0, 0.0], top_k=5, namespace="space", filter={"tags": {"$in": ["b"]}}, include_metadata=True
        )
        assert [(hit.id, hit.score) for hit in hits.matches] == [("1", 1.0)]
        assert set(client.fetch_by_metadata(filter={"tags": {"$in": ["c"]}}, namespace="space").vectors) == {"2"}
        client.delete(ids=["1"], namespace="space")
        assert client.describe_namespace(name="space").record_count == 1
        client.delete_namespace(name="space")
    del fake.indexes["theirs"]

    store = PineconeStore(config(server), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("ä", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
    with Index(host=f"{server.url}/data/memstone-2", api_key=KEY) as client:
        found = client.query(
            vector=[3.0, 4.0],
            top_k=5,
            namespace=NAME,
            filter={"labels": {"$in": ["user_id=s:u"]}},
            include_metadata=True,
        )
    assert [(hit.metadata or {})["point_id"] for hit in found.matches] == ["ä"]
    assert_close([found.matches[0].score], [1.0])


@pytest.mark.req("C-36")
def test_collections_of_one_dimension_are_namespaces_of_one_index(server: WireServer, io: BlockingIo) -> None:
    fake = server.handler
    assert isinstance(fake, FakePinecone)
    store = PineconeStore(config(server, index="shared"), io)
    for name in ("one", "two"):
        drive(store.create(name, 7))
    drive(store.create("three", 8))
    ours = {name: sorted(index.namespaces) for name, index in fake.indexes.items() if name.startswith("shared-")}
    assert ours == {"shared-7": ["one", "two"], "shared-8": ["three"]}
    assert [info.name for info in drive(PineconeStore(config(server, index="other"), io).collections())] == []


def test_a_namespace_dropped_behind_its_back_is_noticed(server: WireServer, io: BlockingIo) -> None:
    store = PineconeStore(config(server), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4])]))
    drive(PineconeStore(config(server), io).drop(NAME))
    for call in (store.search(NAME, [1, 0], 5), store.upsert(NAME, [Point("a", [3, 4])]), store.scan(NAME)):
        with pytest.raises(VectorStoreError, match="does not exist"):
            drive(call)


def test_vectors_too_large_for_one_request_are_sent_in_several(server: WireServer, io: BlockingIo) -> None:
    store = PineconeStore(config(server), io)
    drive(store.reset())
    drive(store.create(NAME, 1536))
    drive(store.upsert(NAME, [Point(str(n), [1.0 / (m + n + 3) for m in range(1536)]) for n in range(180)]))
    assert [info.count for info in drive(store.collections())] == [180]
    sent = [one for one in server.requests if one.path.endswith("memstone-1536/vectors/upsert")]
    assert len(sent) > 1


def test_what_is_excluded_takes_no_place_among_the_nearest(
    server: WireServer, io: BlockingIo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinecone_module, "_MOST", 100)
    store = PineconeStore(config(server), io)
    drive(store.reset())
    near = [Point(f"n{n:03}", [1, n / 1e4], {"layer": "turn"}) for n in range(150)]
    drive(fill_collection(store, [*near, Point("far", [0, 1], {"layer": "fact"}), Point("zero", [0, 0])]))
    hits = drive(store.search(NAME, [1, 0], 3, Not(Condition("layer", Op.EQ, "turn"))))
    assert [hit.id for hit in hits] == ["far"]


@pytest.mark.req("C-46")
def test_the_key_comes_from_the_environment_where_the_options_have_none(io: BlockingIo) -> None:
    assert PineconeStore.read_environment({}, {"PINECONE_API_KEY": "k"}) == {"api_key": "k"}
    assert PineconeStore.read_environment({"api_key": "own"}, {"PINECONE_API_KEY": "k"}) == {"api_key": "own"}
    with pytest.raises(ConfigError, match="api_key") as refused:
        PineconeStore(PineconeConfig(), io)
    assert "PINECONE_API_KEY" in (refused.value.hint or "")


def test_a_wrong_key_is_told_and_never_shown(server: WireServer, io: BlockingIo) -> None:
    with pytest.raises(VectorStoreError, match="401") as refused:
        drive(PineconeStore(config(server, api_key="wrong-secret"), io).check_health())
    assert "wrong-secret" not in f"{refused.value!r} {refused.value.hint}"
