"""Weaviate over a fake of its interface, which carries the vendor's own client first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import uuid4

import pytest
import weaviate
from weaviate.classes.config import Configure, DataType, Property, Tokenization
from weaviate.connect import ConnectionParams

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors import weaviate as weaviate_module
from memstone.adapters.vectors.weaviate import WeaviateConfig, WeaviateStore
from memstone.drive import drive
from memstone.errors import VectorStoreError
from memstone.model.query import Condition, Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, fill_collection
from memstone.testing.wire import WireServer
from tests.stores.fake_weaviate import FakeWeaviate, WeaviateClass

KEY = "wv-test-4711"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer(FakeWeaviate(KEY)) as running:
        yield running


def config(server: WireServer, **options: Any) -> WeaviateConfig:
    return WeaviateConfig.model_validate({"url": server.url, "api_key": KEY, **options})


@pytest.mark.req("C-31", "C-32", "C-36", "C-39.2", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestWeaviate(VectorStoreSuite):
    """The whole contract over the wire."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    options: ClassVar[dict[str, Any]] = {}
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, server: WireServer) -> None:
        self._server = server

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return WeaviateStore(config(self._server, **self.options), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("C-39.2")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_vendors_client_finds_what_our_store_has_written(server: WireServer, io: BlockingIo) -> None:
    params = ConnectionParams.from_url(server.url, grpc_port=1)
    auth = weaviate.auth.AuthApiKey(KEY)
    client = weaviate.WeaviateClient(params, auth_client_secret=auth, skip_init_checks=True)
    client.connect()
    try:
        field = Property(name="labels", data_type=DataType.TEXT_ARRAY, tokenization=Tokenization.FIELD)
        client.collections.create("Theirs", properties=[field], vectorizer_config=Configure.Vectorizer.none())
        theirs = client.collections.get("Theirs")
        for label, vector in (("a", [1.0, 0.0]), ("b", [0.0, 1.0])):
            theirs.data.insert({"labels": [label]}, uuid=uuid4(), vector=vector)
        asked = 'nearVector:{vector:[1, 0]} where:{path:["labels"] operator:ContainsAny valueText:["b"]}'
        found = client.graphql_raw_query("{Get{Theirs(limit:5 " + asked + "){labels _additional{distance}}}}")
        assert [(one["labels"], one["_additional"]["distance"]) for one in found.get["Theirs"]] == [(["b"], 1.0)]
        client.collections.delete("Theirs")
        assert not client.collections.exists("Theirs")

        store = WeaviateStore(config(server), io)
        drive(store.reset())
        drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
        asked = 'nearVector:{vector:[3, 4]} where:{path:["labels"] operator:NotEqual valueText:"user_id=s:v."}'
        name = f"Memstone_{NAME}"
        hits = client.graphql_raw_query("{Get{" + name + "(limit:5 " + asked + "){point_id payload}}}").get[name]
        assert hits == [{"point_id": "a", "payload": '{"user_id": "u"}'}]
        assert client.collections.exists(name)
    finally:
        client.close()


def test_a_query_the_server_cannot_read_is_an_error(server: WireServer, io: BlockingIo) -> None:
    store = WeaviateStore(config(server), io)
    with pytest.raises(VectorStoreError, match="refused"):
        drive(store._query("{Get{"))


@pytest.mark.parametrize("text", ['"FAILED"', "plain"])
def test_only_the_point_that_was_refused_is_an_error(server: WireServer, io: BlockingIo, text: str) -> None:
    store = WeaviateStore(config(server), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"text": text}), Point("b", [0, 0], {})]))
    fake = server.handler
    assert isinstance(fake, FakeWeaviate)
    (held,) = (one for one in fake.classes[f"Memstone_{NAME}"].objects.values() if one.get("vector"))
    held["vector"] = [1.0, 2.0, 3.0]
    with pytest.raises(VectorStoreError, match="refused"):
        drive(store.upsert(NAME, [Point("b", [0, 0], {}), Point("c", [1, 2], {"text": text})]))


def test_classes_of_somebody_else_are_left_alone(server: WireServer, io: BlockingIo) -> None:
    fake = server.handler
    assert isinstance(fake, FakeWeaviate)
    store = WeaviateStore(config(server), io)
    drive(store.reset())
    others = ("Other", "Memstone_notes")
    fake.classes |= {name: WeaviateClass({"class": name}) for name in others}
    drive(store.create("Größe", 2))
    assert [info.name for info in drive(store.collections())] == ["Größe"]
    drive(store.reset())
    assert set(fake.classes) == set(others)


def test_more_matches_than_one_query_gives_are_all_found(
    server: WireServer, io: BlockingIo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weaviate_module, "_MOST", 5)
    monkeypatch.setattr(weaviate_module, "_PAGE", 3)
    store = WeaviateStore(config(server), io)
    drive(store.reset())
    drive(fill_collection(store, [Point(f"{n:02}", [1, n], {"layer": "ab"[n % 2]}) for n in range(20)]))
    found = drive(store.scan(NAME, Condition("layer", Op.EQ, "a"), 100))
    assert [point.id for point in found] == [f"{n:02}" for n in range(0, 20, 2)]


@pytest.mark.req("C-46")
def test_the_environment_names_the_server_where_the_options_do_not() -> None:
    env = {"WEAVIATE_URL": "https://x.weaviate.cloud", "WEAVIATE_API_KEY": "k"}
    assert WeaviateStore.read_environment({}, env) == {"url": "https://x.weaviate.cloud", "api_key": "k"}
    own = {"host": "db", "api_key": "own"}
    assert WeaviateStore.read_environment(own, env) == own


def test_a_wrong_key_is_told_and_never_shown(server: WireServer, io: BlockingIo) -> None:
    with pytest.raises(VectorStoreError, match="401") as refused:
        drive(WeaviateStore(config(server, api_key="wrong-secret"), io).collections())
    assert "wrong-secret" not in f"{refused.value!r} {refused.value.hint}"
