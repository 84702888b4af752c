from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from structlog.testing import capture_logs

from memstone import AsyncMemory, Memory
from memstone.config import Settings
from memstone.errors import ScopeError, StorageBusy
from memstone.server.app import create_app
from memstone.server.mcp.stdio import serve_stdio
from tests.patience import LONG
from tests.server.upstream import served
from tests.server.world import World

Session = Callable[[Callable[[Client], Awaitable[Any]]], Any]


@pytest.fixture(params=["stdio", "http"])
def session(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Session]:
    """Runs a coroutine with the official client, over either transport."""
    path = tmp_path / "m.db"
    config = {"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}
    if request.param == "stdio":
        environment = {"MEMSTONE_EMBEDDER__PROVIDER": "hash", "PYTHONWARNINGS": "ignore"}
        command = ["-m", "memstone.cli", "--db", str(path), "mcp", "--for-user", "alice"]
        parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)

        def run(work: Callable[[Client], Awaitable[Any]]) -> Any:
            return asyncio.run(_with(parameters, work))

        yield run
        return
    with Memory(config) as memory, served(create_app(config)) as url:
        token = memory.create_key(user_id="alice")["key"]

        def over_http(work: Callable[[Client], Awaitable[Any]]) -> Any:
            return asyncio.run(_http(url, token, work))

        yield over_http


async def _with(parameters: Any, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async with Client(parameters) as client:
        return await work(client)


async def _http(url: str, token: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=LONG) as http:
        return await _with(streamable_http_client(f"{url}/mcp", http_client=http), work)


@pytest.mark.req("O-83", "O-84", "O-85", "O-86", "X-32", "S-65")
def test_the_official_client_uses_every_tool(session: Session) -> None:
    async def steps(client: Client) -> None:
        listed = (await client.list_tools()).tools
        names = ["memory_search", "memory_add", "memory_clear", "memory_context", "search_memory"]
        assert [one.name for one in listed] == names
        added = await client.call_tool("memory_add", {"content": "I live in Oslo"})
        assert added.structured_content["data"]["changes"][0]["memory"] == "User lives in Oslo."
        found = await client.call_tool("memory_search", {"query": "Where does the user live?", "max_tokens": 100})
        data = found.structured_content["data"]
        assert (data["count"], data["memories"][0]["memory"]) == (1, "User lives in Oslo.")
        said = await client.call_tool("search_memory", {"scope": "transcript", "query": "Oslo"})
        assert said.structured_content["data"]["memories"][0]["memory"] == "I live in Oslo"
        pack = await client.call_tool("memory_context", {"query": "Where do I live?"})
        assert "Oslo" in pack.structured_content["data"]["text"]
        gone = await client.call_tool("memory_clear", {"kind": "factual"})
        assert gone.structured_content["data"]["deletedCount"] >= 1
        again = await client.call_tool("memory_search", {"query": "Where does the user live?"})
        assert again.structured_content["data"]["count"] == 0

    session(steps)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("search_memory", {"scope": "dreams", "query": "x"}),
    ("search_memory", {"scope": "pinned"}),
    ("search_memory", {"scope": "pinned", "query": "x", "kind": "factual"}),
    ("memory_search", {"query": "x", "limit": 0}),
    ("memory_search", {"query": 7}),
    ("memory_search", {"query": "x", "scope": "transcript", "kind": "factual"}),
    ("memory_add", {}),
    ("memory_forget", {}),
]


@pytest.mark.req("S-65")
def test_wrong_arguments_are_an_answer_a_model_can_act_on(session: Session) -> None:
    async def steps(client: Client) -> None:
        for tool, arguments in WRONG:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error, (tool, arguments)
            assert answer.structured_content["error"]["message"]

    session(steps)


def test_over_http_a_key_is_needed_and_its_bounds_hold(tmp_path: Any) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        memory.add("I live in Rome", user_id="bob")
        reader = memory.create_key(user_id="alice", verbs=["read"])["key"]
        assert httpx2.post(f"{url}/mcp", json={}, timeout=LONG).status_code == 401

        async def steps(client: Client) -> None:
            foreign = await client.call_tool("memory_search", {"query": "Rome", "user_id": "bob"})
            assert foreign.structured_content["error"]["code"] == "forbidden"
            own = await client.call_tool("memory_search", {"query": "Rome"})
            assert own.structured_content["data"]["count"] == 0
            refused = await client.call_tool("memory_add", {"content": "I live in Oslo"})
            assert refused.structured_content["error"]["code"] == "forbidden"

        asyncio.run(_http(url, reader, steps))
        assert memory.get_all(user_id="alice")["results"] == []


def test_what_a_model_leaves_empty_or_writes_oddly_is_no_fault_of_the_service(session: Session) -> None:
    async def steps(client: Client) -> None:
        added = await client.call_tool("memory_add", {"content": "I live in Oslo", "key": None, "session_id": None})
        assert added.structured_content["data"]["message"] == "1 change"
        again = await client.call_tool("memory_add", {"content": "I live in Oslo"})
        assert again.structured_content["data"]["message"] == "it was known already"
        for limit in (None, 3.0):
            found = await client.call_tool("memory_search", {"query": "Oslo", "limit": limit})
            assert found.structured_content["data"]["count"] == 1
        long = await client.call_tool("memory_add", {"content": "Tea", "key": "k" * 300})
        assert long.structured_content["error"]["code"] == "invalid_input"

    session(steps)


def test_a_service_without_the_extra_says_so_and_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        for _ in range(2):
            answer = world.client.post("/mcp", json={})
            assert (answer.status_code, answer.json()["code"]) == (400, "missing_extra")


def test_a_tool_that_breaks_says_so_without_telling_what_was_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("Anna lives in Oslo")

    monkeypatch.setattr(AsyncMemory, "search", broken)
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        call = {"name": "memory_search", "arguments": {"query": "tea", "user_id": "alice"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = world.client.post("/mcp", json=message, headers={"accept": "application/json, text/event-stream"})
    told = answer.json()["result"]["structuredContent"]
    assert (told["success"], told["error"]["message"]) == (False, "something went wrong in here")
    assert "Oslo" not in answer.text + capsys.readouterr().err


def test_nobody_is_left_listening_for_what_never_comes() -> None:
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        for method in ("GET", "DELETE"):
            answer = world.client.request(method, "/mcp", headers={"accept": "text/event-stream"})
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_user_that_cannot_be_one_is_refused_at_the_start() -> None:
    with pytest.raises(ScopeError, match="--for-user"):
        serve_stdio(Settings.of({"store": {"url": "memory:"}}), "a b")


def test_where_the_store_is_is_no_matter_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any, **__: Any) -> Any:
        raise StorageBusy("postgresql://db.internal/memstone: no connection")

    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call = {"name": "memory_search", "arguments": {"query": "tea", "user_id": "alice"}}
    accepts = {"accept": "application/json, text/event-stream"}
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world, capture_logs() as logs:
        monkeypatch.setattr(AsyncMemory, "search", busy)
        tool = world.client.post("/mcp", json={**message, "params": call}, headers=accepts)
        monkeypatch.setattr(world.app.state.memstone.doorkeeper, "admit", busy)
        door = world.client.post("/mcp", json={**message, "params": call}, headers=accepts)
    error = tool.json()["result"]["structuredContent"]["error"]
    assert (error["code"], error["retryable"], door.json()["code"]) == ("storage_busy", True, "storage_busy")
    assert "internal" not in tool.text + door.text
    assert ["no connection" in one["reason"] for one in logs if one["event"] == "request.failed"] == [True, True]
