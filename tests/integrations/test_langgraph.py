from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, Op, PutOp, SearchOp

from memstone import Memory
from memstone.integrations.langgraph import MemstoneStore
from tests.environments import ROOT, environment_python, run_script, unpack_source

ALICE, BOB = ("users", "alice"), ("users", "bob")


@pytest.fixture
def store() -> Iterator[MemstoneStore]:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        yield MemstoneStore(memory)


def test_an_item_is_put_changed_and_deleted(store: MemstoneStore) -> None:
    store.put(ALICE, "drink", {"text": "likes tea", "cups": 2})
    first = store.get(ALICE, "drink")
    assert first is not None
    assert (first.value, first.namespace, first.key) == ({"text": "likes tea", "cups": 2}, ALICE, "drink")
    store.put(ALICE, "drink", {"text": "likes tea", "cups": 3})
    second = store.get(ALICE, "drink")
    assert second is not None
    assert (second.value["cups"], second.created_at) == (3, first.created_at), "the text is the same, the value not"
    store.put(ALICE, "drink", {"text": "likes tea", "cups": 2})
    assert store.search(ALICE)[0].value["cups"] == 2, "an earlier value counts again"
    store.delete(ALICE, "drink")
    assert store.get(ALICE, "drink") is None
    store.put(ALICE, "drink", {"text": "likes tea", "cups": 2})
    assert store.get(ALICE, "drink") is not None, "what was deleted may be put again"


def test_a_query_finds_by_meaning_within_a_namespace(store: MemstoneStore) -> None:
    store.put(ALICE, "1", {"text": "likes tea"})
    store.put(ALICE, "2", {"text": "owns a boat"})
    store.put(BOB, "1", {"text": "likes tea as well"})
    assert [item.key for item in store.search(ALICE, query="boat", limit=1)] == ["2"]
    assert {item.namespace for item in store.search(("users",), query="tea", limit=2)} == {ALICE, BOB}
    assert store.search(("nobody",), query="tea") == []
    store.put(ALICE, "3", {"text": "boat"}, index=False)
    assert store.search(ALICE, query="boat")[0].key == "2", "what is not indexed comes last"


def test_each_indexed_field_is_compared_with_a_query(store: MemstoneStore) -> None:
    store.put(ALICE, "1", {"title": "boat", "notes": ["oars", "sails"]}, index=["title", "notes[*]"])
    store.put(ALICE, "2", {"title": "house"})
    for query in ("boat", "oars", "sails"):
        found = store.search(ALICE, query=query)
        assert [item.key for item in found] == ["1", "2"], "an item is found once, by the best of its texts"
    store.put(ALICE, "1", {"title": "boat", "notes": ["oars"]}, index=["title", "notes[*]"])
    assert len(store.memory.get_all(user_id="langgraph")["results"]) == 3, "the text that is gone is gone"
    store.delete(ALICE, "1")
    assert len(store.memory.get_all(user_id="langgraph")["results"]) == 1


def test_filters_compare_values(store: MemstoneStore) -> None:
    for cups in (1, 2, 3):
        store.put(ALICE, str(cups), {"cups": cups, "of": {"kind": "tea"}})
    assert [item.key for item in store.search(ALICE, filter={"cups": {"$gte": 2, "$lt": 3}})] == ["2"]
    assert len(store.search(ALICE, filter={"of": {"kind": "tea"}})) == 3
    assert store.search(ALICE, filter={"cups": {"$ne": 1}, "of": {"kind": "coffee"}}) == []
    with pytest.raises(ValueError, match="unknown operator"):
        store.search(ALICE, filter={"cups": {"$near": 2}})


def test_a_batch_reads_before_it_writes(store: MemstoneStore) -> None:
    ops: list[Op] = [PutOp(ALICE, "a", {"n": 1}), PutOp(ALICE, "a", {"n": 2}), GetOp(ALICE, "a"), SearchOp(ALICE)]
    assert store.batch(ops) == [None, None, None, []]
    assert asyncio.run(store.aget(ALICE, "a")) == store.get(ALICE, "a")
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "c", {"n": 1})


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: MemstoneStore) -> None:
    for namespace in (ALICE, (*ALICE, "notes"), (*BOB, "notes")):
        store.put(namespace, "k", {"n": 1})
    assert store.list_namespaces(suffix=("notes",)) == [(*ALICE, "notes"), (*BOB, "notes")]
    assert store.list_namespaces(prefix=("users", "*", "notes")) == [(*ALICE, "notes"), (*BOB, "notes")]
    assert store.list_namespaces(max_depth=1) == [("users",)]


def test_an_item_may_expire_and_lives_longer_when_it_is_read(store: MemstoneStore) -> None:
    store.put(ALICE, "k", {"n": 1}, ttl=10)
    (row,) = store.memory.get_all(user_id="langgraph")["results"]
    store.get(ALICE, "k", refresh_ttl=False)
    assert store.memory.get_all(user_id="langgraph")["results"][0]["expires_at"] == row["expires_at"]
    store.get(ALICE, "k", refresh_ttl=True)
    (later,) = store.memory.get_all(user_id="langgraph")["results"]
    assert str(later["expires_at"]) > str(row["expires_at"])
    store.put(ALICE, "k", {"n": 1}, ttl=-1)
    assert store.get(ALICE, "k") is None


def test_its_items_have_a_history(store: MemstoneStore) -> None:
    store.put(ALICE, "k", {"n": 1})
    store.put(ALICE, "k", {"n": 2})
    (row,) = store.memory.get_all(user_id="langgraph")["results"]
    assert [event["event"] for event in store.memory.history(row["id"])] == ["ADD", "UPDATE"]


@pytest.mark.system
@pytest.mark.timeout(1_800)
def test_langgraphs_own_tests_of_its_store_pass(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = unpack_source("langgraph-checkpoint==4.3.2", tmp_path_factory.mktemp("langgraph"))
    arguments = ["-q", "-p", "langgraph_suite", "-o", "asyncio_mode=auto", "-p", "no:cacheprovider"]
    result = run_script(
        environment_python("framework-tests", "langgraph"),
        "-m", "pytest", *arguments, f"--rootdir={folder}", str(folder / "tests" / "test_store.py"),
        path=ROOT / "tests" / "integrations", folder=folder,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4_000:]
    assert "117 passed" in result.stdout
