"""Azure AI Search over a fake of its interface, which carries the vendor's own client first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    SearchField,
    SearchFieldDataType,
    SearchIndex,
    VectorSearch,
    VectorSearchProfile,
)
from azure.search.documents.models import VectorizedQuery

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors import azure_ai_search
from memstone.adapters.vectors.azure_ai_search import AzureSearchConfig, AzureSearchFilter, AzureSearchStore
from memstone.drive import drive
from memstone.errors import ConfigError, VectorStoreError
from memstone.model.query import Condition, Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.registry import load_adapter
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from memstone.testing.wire import WireServer
from tests.stores.fake_azure_search import FakeAzureSearch

KEY = "az-test-4711"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer(FakeAzureSearch(KEY)) as running:
        yield running


def config(server: WireServer, **options: Any) -> AzureSearchConfig:
    return AzureSearchConfig.model_validate({"url": server.url, "api_key": KEY, **options})


@pytest.mark.req("C-31", "C-32", "C-36", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestAzureAiSearch(VectorStoreSuite):
    """The whole contract over the wire."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    _server: WireServer

    @pytest.fixture(autouse=True)
    def _running(self, server: WireServer) -> None:
        self._server = server

    def connect(self, io: Io) -> VectorStore:
        """A connection to the fake."""
        return AzureSearchStore(config(self._server), io)

    def interrupt(self) -> None:
        """Close every connection."""
        self._server.hang_up()


@pytest.mark.req("C-36")
def test_the_vendors_client_finds_what_our_store_has_written(server: WireServer, io: BlockingIo) -> None:
    credential = AzureKeyCredential(KEY)
    with SearchIndexClient(server.url, credential) as indexes:
        indexes.create_index(_their_index())
        with SearchClient(server.url, "theirs", credential) as client:
            client.upload_documents([{"id": "1", "tags": ["it's"], "v": [1.0, 0.0]}, {"id": "2", "v": [0.0, 1.0]}])
            asked = VectorizedQuery(vector=[1.0, 0.0], k_nearest_neighbors=5, fields="v")
            hits = list(client.search(vector_queries=[asked], filter="tags/any(t: t eq 'it''s')", top=5))
            assert [(hit["id"], hit["@search.score"]) for hit in hits] == [("1", 1.0)]
            client.delete_documents([{"id": "2"}])
            assert client.get_document_count() == 1
        indexes.delete_index("theirs")

        store = AzureSearchStore(config(server), io)
        drive(store.reset())
        drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"}), Point("b", [4, -3], {"user_id": "v"})]))
        assert [index.name for index in indexes.list_indexes()] == [f"memstone-{NAME}"]
        with SearchClient(server.url, f"memstone-{NAME}", credential) as client:
            asked = VectorizedQuery(vector=[3.0, 4.0], k_nearest_neighbors=5, fields="vector")
            (hit,) = client.search(vector_queries=[asked], filter="labels/any(l: l eq 'user_id=s:u')")
    assert hit["point_id"] == "a"
    assert_close([hit["@search.score"]], [1.0])


def _their_index() -> SearchIndex:
    search = VectorSearch(
        algorithms=[HnswAlgorithmConfiguration(name="graph")],
        profiles=[VectorSearchProfile(name="p", algorithm_configuration_name="graph")],
    )
    texts, singles = "Collection(Edm.String)", "Collection(Edm.Single)"
    fields = [
        SearchField(name="id", type=SearchFieldDataType.String, key=True),
        SearchField(name="tags", type=texts, filterable=True),
        SearchField(
            name="v", type=singles, searchable=True, vector_search_dimensions=2, vector_search_profile_name="p"
        ),
    ]
    return SearchIndex(name="theirs", fields=fields, vector_search=search)


def test_names_that_azure_does_not_allow_come_back_as_they_were(server: WireServer, io: BlockingIo) -> None:
    store = AzureSearchStore(config(server), io)
    drive(store.reset())
    names = ["Größe", "memories_0a1b2c3d4e5f_0a1b2c3d4e5f", "plain", "with-dash", "with_underscore"]
    for name in names:
        drive(store.create(name, 2))
    assert [info.name for info in drive(store.collections())] == names
    with pytest.raises(VectorStoreError, match="too long"):
        drive(store.create("x" * 200, 2))
    drive(store.reset())


def test_values_that_hold_every_delimiter_are_compared_one_by_one() -> None:
    plain = AzureSearchFilter().translate(Condition("user_id", Op.IN, ("a|b", "it's")))
    assert plain == "labels/any(l: search.in(l, 'user_id=s:a|b;user_id=s:it''s', ';'))"
    odd = AzureSearchFilter().translate(Condition("user_id", Op.EQ, "|;,\t\n\x1f'"))
    assert odd == "labels/any(l: l eq 'user_id=s:|;,\t\n\x1f''')"


def test_more_points_than_one_page_are_all_found(
    server: WireServer, io: BlockingIo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure_ai_search, "_PAGE", 4)
    store = AzureSearchStore(config(server, exact=True), io)
    drive(store.reset())
    drive(fill_collection(store, [Point(f"{n:02}", [1, n], {"layer": "ab"[n % 2]}) for n in range(20)]))
    where = Condition("layer", Op.EQ, "a")
    expected = [f"{n:02}" for n in range(0, 20, 2)]
    assert [point.id for point in drive(store.scan(NAME, where, 100))] == expected
    assert [hit.id for hit in drive(store.search(NAME, [1, 0], 100, where))] == expected
    assert server.requests[-1].json["vectorQueries"][0]["exhaustive"] is True


@pytest.mark.req("C-46")
def test_address_and_key_come_from_the_environment_where_the_options_have_none(io: BlockingIo) -> None:
    env = {"AZURE_SEARCH_ENDPOINT": "https://x.search.windows.net", "AZURE_SEARCH_API_KEY": "k"}
    assert AzureSearchStore.read_environment({}, env) == {"url": env["AZURE_SEARCH_ENDPOINT"], "api_key": "k"}
    assert AzureSearchStore.read_environment({"url": "u", "api_key": "own"}, env) == {"url": "u", "api_key": "own"}
    assert load_adapter("vectors", "azure_search") is AzureSearchStore
    with pytest.raises(ConfigError, match="api_key"):
        AzureSearchStore(AzureSearchConfig(url="https://x.search.windows.net"), io)


def test_a_wrong_key_is_told_and_never_shown(server: WireServer, io: BlockingIo) -> None:
    with pytest.raises(VectorStoreError, match="403") as refused:
        drive(AzureSearchStore(config(server, api_key="wrong-secret"), io).check_health())
    assert "wrong-secret" not in f"{refused.value!r} {refused.value.hint}"
