"""The tools of a model, by the official client over every transport."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from structlog.testing import capture_logs

from memstone import Memory
from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.config import Settings
from memstone.errors import ScopeError, StorageBusy
from memstone.server.app import create_app
from memstone.server.mcp import http as mcp_http
from memstone.server.mcp.stdio import serve_stdio
from tests.patience import LONG, until
from tests.server.upstream import served
from tests.server.world import World

Session = Callable[[Callable[[Client], Awaitable[Any]]], Any]
PATH: Final = os.environ.get("PYTHONPATH", "")
NAMES: Final = [
    "memory_search",
    "memory_add",
    "memory_list",
    "memory_delete",
    "memory_clear",
    "memory_context",
    "search_memory",
]


@pytest.fixture(params=["stdio", "http", "sse"])
def session(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Session]:
    """Runs a coroutine with the official client, over each transport."""
    path = tmp_path / "m.db"
    config = {"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}
    if request.param == "stdio":
        environment = {"MEMSTONE_EMBEDDER__PROVIDER": "hash", "PYTHONWARNINGS": "ignore", "PYTHONPATH": PATH}
        command = ["-m", "memstone.cli", "--db", str(path), "mcp", "--for-user", "alice"]
        parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)

        def run(work: Callable[[Client], Awaitable[Any]]) -> Any:
            return asyncio.run(_with(parameters, work))

        yield run
        return
    with Memory(config) as memory, served(create_app(config)) as url:
        token = memory.admin.keys.create(user_id="alice")["key"]
        way = _http if request.param == "http" else _sse

        def over_http(work: Callable[[Client], Awaitable[Any]]) -> Any:
            return asyncio.run(way(url, token, work))

        yield over_http


async def _with(parameters: Any, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async with Client(parameters) as client:
        return await work(client)


async def _http(url: str, token: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=LONG) as http:
        return await _with(streamable_http_client(f"{url}/mcp", http_client=http), work)


async def _sse(url: str, token: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    return await _with(sse_client(f"{url}/mcp/sse", {"Authorization": f"Bearer {token}"}, timeout=LONG), work)


async def data_of(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, when it succeeds."""
    answer = await client.call_tool(tool, arguments)
    body = answer.structured_content
    assert body is not None
    assert (answer.is_error, body["success"], list(body)) == (False, True, ["success", "data"]), body
    data: dict[str, Any] = body["data"]
    return data


@pytest.mark.req("O-83", "O-84", "O-85", "O-86", "X-32", "S-65")
def test_the_official_client_uses_every_tool(session: Session) -> None:
    async def steps(client: Client) -> None:
        assert [one.name for one in (await client.list_tools()).tools] == NAMES
        added = await data_of(client, "memory_add", content="I live in Oslo")
        assert added["memory"]["content"] == "User lives in Oslo."
        found = await data_of(client, "memory_search", query="Where does the user live?", max_tokens=100)
        assert (found["count"], found["memories"][0]["content"]) == (1, "User lives in Oslo.")
        texts = await data_of(client, "search_memory", scope="transcript", query="Oslo")
        assert texts["memories"][0]["content"] == "I live in Oslo"
        assert "Oslo" in (await data_of(client, "memory_context", query="Where do I live?"))["text"]
        listed = await data_of(client, "memory_list")
        assert [one["id"] for one in listed["memories"]] == [added["memory"]["id"]]
        assert (await data_of(client, "memory_delete", id=added["memory"]["id"]))["deletedCount"] == 1
        await data_of(client, "memory_add", content="Likes tea", type="factual", key="drink")
        assert (await data_of(client, "memory_clear", type="factual"))["deletedCount"] >= 1
        assert (await data_of(client, "memory_search", query="Where does the user live?"))["count"] == 0

    session(steps)


@pytest.mark.req("O-83", "O-84", "O-85")
def test_the_names_of_the_gateway_are_taken_and_its_shapes_given_back(session: Session) -> None:
    async def steps(client: Client) -> None:
        owner = {"apiKeyId": "alice"}
        entry = {"type": "procedural", "key": "deploy", "content": "Deploy with make ship", "metadata": {"by": "ann"}}
        added = await data_of(client, "memory_add", **owner, sessionId="s1", **entry)
        stored = added["memory"]
        assert {name: stored[name] for name in entry} == entry
        assert (stored["apiKeyId"], stored["sessionId"], added["message"]) == ("alice", "s1", "memories: 1 stored")
        await data_of(client, "memory_add", **owner, type="factual", key="tea", content="Likes green tea")
        for arguments in ({"query": "deploy make ship"}, {"type": "procedural"}, {"sessionId": "s1"}):
            found = await data_of(client, "memory_search", **owner, maxTokens=8_000, limit=100, **arguments)
            assert sorted(found) == ["count", "memories", "totalTokens"]
            assert [one["id"] for one in found["memories"]] == [stored["id"]]
            assert (found["count"], found["totalTokens"]) == (1, 6)
        newest = await data_of(client, "memory_search", **owner)
        assert [one["key"] for one in newest["memories"]] == ["tea", "deploy"], "without a query the newest first"
        untouched = await data_of(client, "memory_clear", **owner, olderThan="2020-01-01")
        assert untouched == {"deletedCount": 0, "message": "0 memories deleted"}
        gone = await data_of(client, "memory_clear", **owner, type="procedural", olderThan="2999-01-01T00:00:00Z")
        assert gone == {"deletedCount": 1, "message": "1 memory deleted"}
        assert [one["key"] for one in (await data_of(client, "memory_list", **owner))["memories"]] == ["tea"]

    session(steps)


@pytest.mark.req("O-85")
def test_nothing_is_cleared_unasked(session: Session) -> None:
    async def steps(client: Client) -> None:
        for text in ("one", "two"):
            await data_of(client, "memory_add", content=f"Note number {text}", key=text)
        for arguments in ({}, {"confirm": False}, {"user_id": "alice"}, {"type": None}, {"olderThan": ""}):
            answer = await client.call_tool("memory_clear", arguments)
            assert answer.structured_content["error"]["code"] == "invalid_input"
        assert (await data_of(client, "memory_list"))["total"] == 2
        assert (await data_of(client, "memory_clear", confirm=True))["deletedCount"] == 2
        assert (await data_of(client, "memory_list"))["total"] == 0

    session(steps)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("search_memory", {"scope": "dreams", "query": "x"}),
    ("search_memory", {"scope": "pinned"}),
    ("search_memory", {"scope": "pinned", "query": "x", "kind": "factual"}),
    ("memory_search", {"query": "x", "limit": 0}),
    ("memory_search", {"query": "x", "maxTokens": 8_001}),
    ("memory_search", {"query": 7}),
    ("memory_search", {"query": "x", "scope": "transcript", "kind": "factual"}),
    ("memory_search", {"query": "x", "scope": "session"}),
    ("memory_search", {"query": "x", "kind": "factual", "type": "semantic"}),
    ("memory_search", {"query": "x", "user_id": "alice", "apiKeyId": "bob"}),
    ("memory_add", {}),
    ("memory_delete", {"id": "no-such-id"}),
    ("memory_clear", {"olderThan": "soon"}),
    ("memory_forget", {}),
]


@pytest.mark.req("S-65", "O-83", "O-85")
def test_wrong_arguments_are_an_answer_a_model_can_act_on(session: Session) -> None:
    async def steps(client: Client) -> None:
        for tool, arguments in WRONG:
            answer = await client.call_tool(tool, arguments)
            body = answer.structured_content
            assert (answer.is_error, body["success"]) == (True, False), (tool, arguments)
            assert sorted(body["error"]) == ["code", "hint", "message", "retryable"]
            assert body["error"]["message"]

    session(steps)


def test_over_http_a_key_is_needed_and_its_bounds_hold(tmp_path: Any) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        memory.add("I live in Rome", user_id="bob")
        other = memory.get_all(user_id="bob")["results"][0]["id"]
        reader = memory.admin.keys.create(user_id="alice", verbs=["read"])["key"]
        assert httpx2.post(f"{url}/mcp", json={}, timeout=LONG).status_code == 401
        assert httpx2.get(f"{url}/mcp/sse", timeout=LONG).status_code == 401
        assert httpx2.post(f"{url}/mcp/messages?session_id=0", json={}, timeout=LONG).status_code == 401

        async def steps(client: Client) -> None:
            for owner in ({"user_id": "bob"}, {"apiKeyId": "bob"}):
                foreign = await client.call_tool("memory_search", {"query": "Rome", **owner})
                assert foreign.structured_content["error"]["code"] == "forbidden"
            own = await client.call_tool("memory_search", {"query": "Rome"})
            assert own.structured_content["data"]["count"] == 0
            for tool, arguments in (("memory_add", {"content": "I live in Oslo"}), ("memory_delete", {"id": other})):
                refused = await client.call_tool(tool, arguments)
                assert refused.structured_content["error"]["code"] == "forbidden"

        async def deleting(client: Client) -> None:
            refused = await client.call_tool("memory_delete", {"id": other})
            assert refused.structured_content["error"]["code"] == "not_found"

        for way in (_http, _sse):
            asyncio.run(way(url, reader, steps))
            asyncio.run(way(url, memory.admin.keys.create(user_id="alice")["key"], deleting))
        assert memory.get_all(user_id="alice")["results"] == []
        assert len(memory.get_all(user_id="bob")["results"]) == 1


def test_what_a_model_leaves_empty_or_writes_oddly_is_no_fault_of_the_service(session: Session) -> None:
    async def steps(client: Client) -> None:
        added = await data_of(client, "memory_add", content="I live in Oslo", key=None, session_id=None)
        assert added["message"] == "memories: 1 stored"
        again = await data_of(client, "memory_add", content="I live in Oslo")
        assert again["message"] == "it was already known"
        for limit in (None, 3.0):
            assert (await data_of(client, "memory_search", query="Oslo", limit=limit))["count"] == 1
        long = await client.call_tool("memory_add", {"content": "Tea", "key": "k" * 600})
        assert long.structured_content["error"]["code"] == "invalid_input"

    session(steps)


# --- who may come from where ------------------------------------------------------------------------------------------


def _tool_call(name: str = "memory_list", **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


ACCEPTS: Final = {"accept": "application/json, text/event-stream"}
LOCAL: Final = ["127.0.0.1", "127.8.8.8", "::1"]
ELSEWHERE: Final = ["192.0.2.7", "10.0.0.1", "2001:db8::1", "unknown"]


def _status(world: World, client: Any, address: str, **headers: str) -> int:
    """How a call is answered that comes from an address."""
    client._transport.client = (address, 50_000)
    answer = client.post("/mcp", json=_tool_call(user_id="alice"), headers={**ACCEPTS, **headers})
    if answer.status_code == 403:
        assert "admin" in answer.json()["detail"]
        stream = client.get("/mcp/sse", headers=headers)
        message = client.post("/mcp/messages?session_id=00", json=_tool_call(), headers=headers)
        assert (stream.status_code, message.status_code) == (403, 403), "no way in is wider than another"
    return int(answer.status_code)


@pytest.mark.req("O-86")
def test_only_the_machine_itself_reaches_the_tools_unless_the_key_may_administer() -> None:
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        plain, admin = world.as_key(user_id="alice"), world.client
        assert {_status(world, plain, address) for address in LOCAL} == {200}
        assert {_status(world, plain, address) for address in ELSEWHERE} == {403}
        assert {_status(world, admin, address) for address in (*LOCAL, *ELSEWHERE)} == {200}


@pytest.mark.req("O-86")
@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_what_a_proxy_on_the_same_machine_passes_on_comes_from_elsewhere(header: str) -> None:
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        plain = world.as_key(user_id="alice")
        assert _status(world, plain, "127.0.0.1", **{header: "192.0.2.7"}) == 403


@pytest.mark.req("O-86")
def test_a_setting_opens_the_tools_to_other_machines() -> None:
    config = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "server": {"mcp_remote": True}}
    with World.of(config) as world:
        plain = world.as_key(user_id="alice")
        assert {_status(world, plain, address) for address in (*LOCAL, *ELSEWHERE)} == {200}


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("O-86")
def test_a_session_takes_messages_only_from_the_key_that_opened_it(tmp_path: Any) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        tokens = [memory.admin.keys.create(user_id=user)["key"] for user in ("alice", "bob")]
        alice, bob = ({"Authorization": f"Bearer {token}"} for token in tokens)
        with httpx2.stream("GET", f"{url}/mcp/sse", headers=alice, timeout=LONG) as stream:
            lines = stream.iter_lines()
            place = next(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
            assert httpx2.post(url + place, json=_tool_call(), headers=bob, timeout=LONG).status_code == 404
            assert httpx2.post(url + place, json=_tool_call(), timeout=LONG).status_code == 401
            assert httpx2.post(url + place, json=_tool_call(), headers=alice, timeout=LONG).status_code == 202


@pytest.mark.req("O-86")
def test_a_stream_ends_with_its_key(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "CHECK_SECONDS", 0.0)
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        made = memory.admin.keys.create(user_id="alice")
        headers = {"Authorization": f"Bearer {made['key']}"}
        with httpx2.stream("GET", f"{url}/mcp/sse", headers=headers, timeout=LONG) as stream:
            memory.admin.keys.revoke(made["id"])
            assert [line for line in stream.iter_lines() if line.startswith("data:")], "and it comes to an end"


def test_a_service_ends_although_somebody_listens(tmp_path: Any) -> None:
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    app = create_app(config)
    with Memory(config) as memory:
        headers = {"Authorization": f"Bearer {memory.admin.keys.create(user_id='alice')['key']}"}
        with served(app) as url, httpx2.stream("GET", f"{url}/mcp/sse", headers=headers, timeout=LONG) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("event: endpoint")
            app.state.memstone.ready = False  # as the process says when it is told to end
            until(lambda: not [line for line in lines if line])


def test_nobody_is_left_listening_for_what_never_comes() -> None:
    allowed = {"/mcp": "POST", "/mcp/messages": "POST", "/mcp/sse": "GET"}
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        for path, method in allowed.items():
            for other in {"GET", "POST", "DELETE", "PUT"} - {method}:
                answer = world.client.request(other, path, headers={"accept": "text/event-stream"})
                assert (answer.status_code, answer.headers["allow"]) == (405, method)


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["mcp.server.streamable_http_manager", "mcp.server.sse"])
def test_a_service_without_the_extra_says_so_and_ends_well(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = "/mcp/messages" if module.endswith("sse") else "/mcp"
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        for _ in range(2):
            answer = world.client.post(path, json={})
            assert (answer.status_code, answer.json()["code"]) == (400, "missing_extra")


def test_a_tool_that_breaks_says_so_without_telling_what_was_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("Anna lives in Oslo")

    monkeypatch.setattr(AsyncMemoryVerbs, "search", broken)
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world:
        call = _tool_call("memory_search", query="tea", user_id="alice")
        answer = world.client.post("/mcp", json=call, headers=ACCEPTS)
    reply = answer.json()["result"]["structuredContent"]
    assert (reply["success"], reply["error"]["message"]) == (False, "internal error")
    assert "Oslo" not in answer.text + capsys.readouterr().err


def test_a_user_that_cannot_be_one_is_refused_at_the_start() -> None:
    with pytest.raises(ScopeError, match="--for-user"):
        serve_stdio(Settings.of({"store": {"url": "memory:"}}), "a b")


def test_where_the_store_is_is_no_matter_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any, **__: Any) -> Any:
        raise StorageBusy("postgresql://db.internal/memstone: no connection")

    call = _tool_call("memory_search", query="tea", user_id="alice")
    with World.of({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as world, capture_logs() as logs:
        monkeypatch.setattr(AsyncMemoryVerbs, "search", busy)
        tool = world.client.post("/mcp", json=call, headers=ACCEPTS)
        monkeypatch.setattr(world.app.state.memstone.doorkeeper, "admit", busy)
        door = world.client.post("/mcp", json=call, headers=ACCEPTS)
    error = tool.json()["result"]["structuredContent"]["error"]
    assert (error["code"], error["retryable"], door.json()["code"]) == ("storage_busy", True, "storage_busy")
    assert "internal" not in tool.text + door.text
    assert ["no connection" in one["reason"] for one in logs if one["event"] == "request.failed"] == [True, True]
