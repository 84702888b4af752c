"""mem0's clients, and what depends on a graph, against a real service and a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory as NativeMemory
from memstone.compat.mem0 import AsyncMemoryClient, Memory, MemoryClient, MemoryNotFound
from memstone.errors import ConfigError
from memstone.server.app import create_app
from tests.server.upstream import served

ALICE = {"user_id": "alice"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[str, str]]:
    config = {"store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}, "embedder": {"provider": "hash"}}
    with NativeMemory(config) as memory:
        key = memory.admin.keys.create(verbs=["read", "write", "admin"])["key"]
    with served(create_app(config)) as url:
        yield url, key


def test_the_client_has_mem0s_methods_over_a_service(service: tuple[str, str]) -> None:
    url, key = service
    with MemoryClient(api_key=key, host=url) as client:
        (one,) = client.add("Alice rows", **ALICE, infer=False, metadata={"topic": "sport"})["results"]
        (two,) = client.add([{"role": "user", "content": "Alice paints"}], **ALICE, infer=False)["results"]
        assert client.search("rows", filters=ALICE)["results"][0]["id"] == one["id"]
        page = client.get_all(filters=ALICE, page=1, page_size=1)
        assert (page["count"], page["next"], page["previous"], len(page["results"])) == (2, 2, None, 1)
        page = client.get_all(filters=ALICE, page=2, page_size=1)
        assert (page["next"], page["previous"]) == (None, 1)
        assert client.update(one["id"], text="Alice sails", metadata={"boat": "red"})["message"]
        assert client.get(one["id"])["metadata"] == {"topic": "sport", "boat": "red"}
        assert [event["event"] for event in client.history(one["id"])] == ["ADD", "UPDATE"]
        client.batch_update([{"memory_id": two["id"], "text": "Alice draws"}])
        assert client.get(two["id"])["memory"] == "Alice draws"
        assert {"id": "alice", "name": "alice", "type": "user"} in client.users()["results"]
        client.batch_delete([{"memory_id": two["id"]}])
        with pytest.raises(MemoryNotFound):
            client.delete(two["id"])
        with pytest.raises(ValueError, match="user_id"):
            client.get_all(filters={"topic": "sport"})
        client.delete_users(user_id="alice")
        assert client.get_all(filters=ALICE)["count"] == 0


def test_the_asyncio_client_does_the_same(service: tuple[str, str]) -> None:
    async def scenario() -> None:
        async with AsyncMemoryClient(api_key=service[1], host=service[0]) as client:
            (one,) = (await client.add("Alice rows", **ALICE, infer=False))["results"]
            assert (await client.search("rows", filters=ALICE))["results"][0]["id"] == one["id"]
            assert (await client.get_all(filters=ALICE))["count"] == 1
            await client.update(one["id"], data="Alice sails")
            assert (await client.get(one["id"]))["memory"] == "Alice sails"
            assert (await client.users())["count"] == 1
            assert await client.delete(one["id"]) == {"message": "Memory deleted successfully!"}
            assert len(await client.history(one["id"])) == 3
            await client.delete_all(**ALICE)

    asyncio.run(scenario())


def test_a_client_needs_a_key_and_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEM0_API_KEY", "MEMSTONE_KEY", "MEMSTONE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no key"):
        MemoryClient(host="http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="no address"):
        MemoryClient(api_key="k")
    monkeypatch.setenv("MEM0_API_KEY", "k")
    monkeypatch.setenv("MEMSTONE_URL", "http://127.0.0.1:1")
    MemoryClient().close()


def test_with_a_graph_answers_tell_relations() -> None:
    config: dict[str, Any] = {"history_db_path": ":memory:", "graph_store": {"provider": "kuzu", "config": {}}}
    with Memory.from_config(config) as memory:
        added = memory.add("My sister Ana works at Volvo", **ALICE)
        assert set(added["relations"]) == {"added_entities", "deleted_entities"}
        found = memory.search("Where does Ana work?", filters=ALICE)["relations"]
        listed = memory.get_all(filters=ALICE)["relations"]
        assert all(set(one) == {"source", "relationship", "destination"} for one in found)
        assert all(set(one) == {"source", "relationship", "target"} for one in listed)
        assert any("Volvo" in str(one) for one in listed)
        assert any("Volvo" in str(one) for one in found)
        assert "relations" not in memory.search("Ana", filters=ALICE, enable_graph=False)
    with Memory({"history_db_path": ":memory:"}) as memory:
        assert memory.search("Ana", filters=ALICE, enable_graph=True) == {"results": [], "relations": []}
        assert "relations" not in memory.get_all(filters=ALICE)
