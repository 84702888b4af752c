"""The routes that callers of memory libraries know, and the families that show the same memory in their own words."""

from __future__ import annotations

import io
import os
import re
import shlex
import socket
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from memstone import AsyncMemory, Client, Memory
from memstone.cli.arguments import Arguments
from memstone.cli.banner import ServiceAddress, client_host
from memstone.cli.run import run_command
from memstone.cli.serve import _KeyPrinter, _print_startup_help
from memstone.config import Settings
from memstone.errors import LLMError
from memstone.server.app import create_app
from tests.patience import LONG
from tests.server.calls import call_verb
from tests.server.upstream import served
from tests.server.world import World

if TYPE_CHECKING:
    from starlette.testclient import TestClient

HERE = ServiceAddress("http://127.0.0.1:8420", "me")
HASH = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.mark.req("C-50")
@pytest.mark.parametrize("slash", ["", "/"])
def test_the_eleven_routes_answer_with_and_without_a_slash(client: TestClient, slash: str) -> None:
    texts = {"messages": "My sister Anna works at Contoso.", "user_id": "alice", "metadata": {"from": "chat"}}
    added = client.post(f"/v1/memories{slash}", json=texts).json()
    memory_id, text = added["results"][0]["id"], added["results"][0]["memory"]
    assert added["results"][0]["event"] == "ADD"

    scope: dict[str, str] = {"user_id": "alice", "limit": "5"}
    found = client.get(f"/v1/memories/search{slash}", params={"q": "Anna", **scope}).json()["results"]
    assert (found[0]["id"], found[0]["memory"]) == (memory_id, text)
    assert client.get(f"/v1/memories/{memory_id}{slash}").json()["metadata"] == {"from": "chat"}
    assert memory_id in [one["id"] for one in client.get(f"/v1/memories{slash}", params=scope).json()["results"]]
    assert client.get(f"/v1/memories{slash}?user_id=alice&agent_id=guide&run_id=r").json()["results"] == []

    names = [one["name"] for one in client.post(f"/v1/entities{slash}", params={"user_id": "alice"}).json()["results"]]
    assert {"Anna", "Contoso"} <= set(names)
    related = client.get(f"/v1/entities/Anna/relations{slash}", params={"user_id": "alice"}).json()["results"]
    assert ("Anna", "works_at", "Contoso") in [(one["source"], one["relation"], one["target"]) for one in related]

    changed = client.put(f"/v1/memories/{memory_id}{slash}", json={"text": "Anna works at Acme"}).json()
    assert (changed["id"], changed["memory"]) == (memory_id, "Anna works at Acme")
    assert client.delete(f"/v1/memories/{memory_id}{slash}").status_code == 200
    lines = client.get(f"/v1/memories/{memory_id}/history{slash}").json()["results"]
    assert [line["event"] for line in lines] == ["ADD", "UPDATE", "DELETE"]
    client.post(f"/v1/memories{slash}", json={"messages": "I live in Oslo", "user_id": "bob"})
    assert client.delete(f"/v1/memories{slash}", params={"user_id": "bob"}).json()["deleted"] >= 1
    assert client.post(f"/v1/reset{slash}", json={"confirm": "default"}).status_code == 200
    assert client.get(f"/v1/memories/{memory_id}/history{slash}").json()["results"] == []


@pytest.mark.req("X-22")
def test_every_family_of_routes_shows_the_same_memory(client: TestClient) -> None:
    made = call_verb(client, "add", {"messages": "tea is on the shelf", "user_id": "alice", "infer": False})
    memory_id = made.json()["results"][0]["id"]
    one = client.get(f"/v1/memories/{memory_id}").json()
    called = call_verb(client, "get", {"memory_id": memory_id}).json()
    assert {name: called[name] for name in one if name in called} == {name: one[name] for name in called}
    entry = client.get(f"/api/memory/{memory_id}").json()["memory"]
    assert (entry["id"], entry["content"]) == (memory_id, one["memory"])
    console = client.post("/v1/console/search", json={"user_id": "alice"}).json()["results"]
    assert [(item["id"], item["preview"]) for item in console] == [(memory_id, one["memory"])]
    client.put(f"/api/memory/{memory_id}", json={"content": "tea is in the box"})
    assert client.get(f"/v1/memories/{memory_id}").json()["memory"] == "tea is in the box"
    assert call_verb(client, "get", {"memory_id": memory_id}).json()["memory"] == "tea is in the box"


@pytest.mark.req("X-22")
@pytest.mark.parametrize("path", ["/v1/memories/x", "/api/memory/x", "/v1/console/memories/x/history"])
def test_every_family_wants_the_same_key(world: World, path: str) -> None:
    method = "POST" if "verbs" in path else "GET"
    refused = world.anonymous().request(method, path)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


@pytest.mark.req("O-86")
def test_the_tools_are_offered_to_this_machine_until_the_operator_names_another_address() -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    elsewhere = {**headers, "Host": "memory.example.org"}
    with World.of(HASH) as world:
        assert world.client.post("/mcp", json=listing, headers=headers).status_code == 200
        refused = world.client.post("/mcp", json=listing, headers=elsewhere)
        assert (refused.status_code, refused.json()["code"]) == (400, "unknown_host")
    with World.of({**HASH, "server": {"hosts": ["memory.example.org"]}}) as world:
        tools = world.client.post("/mcp", json=listing, headers=elsewhere).json()["result"]["tools"]
        assert len(tools) == 7
        assert world.anonymous().post("/mcp", json=listing, headers=elsewhere).status_code == 401


@pytest.mark.req("N-43")
def test_an_error_is_described_by_its_status_code_and_a_suggestion() -> None:
    def broken(_: Any) -> str:
        raise LLMError("the model is on fire", hint="try another one")

    async def memory() -> AsyncMemory:
        return AsyncMemory(HASH, llm=broken)

    with World.of(HASH) as world:
        client = world.client
        wrong = client.post("/v1/memories", json={"message": "I live in Oslo"})
        unknown = client.get("/v1/memories/no-such-id")
        world.app.state.memstone.doorkeeper._memory = world.run(memory)
        token = world.run(world.app.state.memstone.doorkeeper._memory.admin.keys.create)["key"]
        failed = world.anonymous(Authorization=f"Bearer {token}").post(
            "/v1/memories", json={"messages": "I live in Oslo", "user_id": "a", "strict": True}
        )
    assert [answer.status_code for answer in (wrong, unknown, failed)] == [400, 404, 502]
    for answer in (wrong, unknown, failed):
        body = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert body["error"]["message"] == body["detail"]
        assert body["error"]["code"] == body["code"]
        assert body["request_id"] == answer.headers["x-request-id"]
    assert {one["field"] for one in wrong.json()["error"]["details"]} == {"body.messages", "body.message"}
    assert unknown.json()["hint"]
    assert (failed.json()["code"], failed.json()["hint"]) == ("llm", "try another one")


@pytest.mark.req("D-21")
def test_what_the_service_says_when_it_starts_can_be_pasted(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/m.db"
    config = {"store": {"url": store}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        key = memory.admin.keys.create("first", verbs=["admin"])["key"]
        port = int(url.rsplit(":", 1)[1])
        printed = io.StringIO()
        with redirect_stdout(printed):
            settings = Settings.of({**config, "server": {"port": port}})
            _print_startup_help(settings, ServiceAddress(url, "alice"), key, _KeyPrinter())
        lines = printed.getvalue().splitlines()
        shell, asks, opens = lines[lines.index("Try it, in another terminal:") + 1 :][:3]
        assert [line for line in lines if key in line] == [f"export MEMSTONE_KEY={key}"]  # once, and in no command

        added = httpx2.request(**_request(shlex.split(shell.replace("$MEMSTONE_KEY", key))), timeout=LONG)
        assert added.json()["results"][0]["memory"] == "User lives in Oslo."
        assert "User lives in Oslo." in _pasted(asks, tmp_path, MEMSTONE_KEY=key)
        assert "'User lives in Oslo.'" in _pasted(opens, tmp_path), "the file, without the service"
        with Client(url, key) as other:
            assert other.search("Oslo", user_id="alice")["results"]


def _pasted(line: str, place: Path, **variables: str) -> str:
    """What a line prints in a terminal that was just opened, anywhere and without the environment of Memstone."""
    path = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}  # where these tests have it from
    shell = ["/bin/sh", "-c", line]
    known = {"PATH": "/usr/bin:/bin", "HOME": str(place), **path, **variables}
    return subprocess.run(shell, cwd=place, env=known, capture_output=True, text=True, check=True).stdout  # noqa: S603


@pytest.mark.parametrize("db", [False, True])
def test_the_line_for_the_library_opens_the_memory_that_is_configured(tmp_path: Path, *, db: bool) -> None:
    file, other = tmp_path / "a 'file'.toml", tmp_path / "other.db"
    named = f'preset = "companion"\n[store]\nurl = "sqlite:///{tmp_path}/m.db"\n[embedder]\nprovider = "hash"\n'
    file.write_text(named)
    arguments = Arguments(config=str(file), db=str(other) if db else None)
    settings, printed = arguments.settings(), io.StringIO()
    with redirect_stdout(printed):
        _print_startup_help(settings, HERE, None, _KeyPrinter(), arguments)
    lines = printed.getvalue().splitlines()
    code = next(shlex.split(line)[-1] for line in lines if "from memstone import Memory" in line)
    memory = code[code.index("print(") + 6 : code.index(".search(")]
    asked = f"from memstone import *; m = {memory}; print(m.settings.get()['preset'], m.stats()['memories'])"
    with Memory(settings) as own:
        own.add("I live in Oslo", user_id="alice", infer=False)
    output = _pasted(shlex.join([sys.executable, "-c", asked]), tmp_path)
    assert output.split() == ["companion", "1"]


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({}, "Memory()"),
        ({"preset": "shared"}, 'Memory({"preset": "shared"})'),
        ({"store": {"url": "sqlite:////srv/m.db"}}, 'Memory({"store": {"url": "sqlite:////srv/m.db"}})'),
        ({"store": {"url": "postgresql://me:secret@db/memstone"}}, None),
        ({"store": {"url": "memory:"}}, None),
    ],
)
def test_the_line_for_the_library_names_what_is_not_usual(config: dict[str, Any], line: str | None) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        _print_startup_help(Settings.of(config), HERE, None, _KeyPrinter())
    assert "secret" not in printed.getvalue()
    assert ("import Memory" in printed.getvalue()) is (line is not None)
    assert line is None or line in printed.getvalue()


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ({"host": "0.0.0.0"}, "http://127.0.0.1:8420"),  # noqa: S104 - what a container listens on
        ({"host": "::"}, "http://[::1]:8420"),
        ({"host": "10.1.2.3", "port": 80}, "http://10.1.2.3:80"),
    ],
)
def test_the_address_a_service_shows_can_be_asked(server: dict[str, Any], address: str) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        settings = Settings.of({"store": {"url": "postgresql://me:secret@db/memstone"}, "server": server})
        where = ServiceAddress(f"http://{client_host(settings.server.host)}:{settings.server.port}", "me")
        _print_startup_help(settings, where, "rt_1_2", _KeyPrinter())
    assert printed.getvalue().startswith(
        f"Memstone is listening on {address} and stores everything in postgresql://db/memstone"
    )
    assert f"curl {address}/v1/memories" in printed.getvalue()
    assert f'Client("{address}"' in printed.getvalue()


def test_a_service_says_that_it_listens_when_it_does_and_shows_its_key_in_any_case(tmp_path: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "memstone.cli", "--db", f"{tmp_path}/m.db", "serve"]
        port = str(taken.getsockname()[1])
        ended = subprocess.run([*command, "--port", port], capture_output=True, text=True, check=False)  # noqa: S603
    assert ended.returncode == 2
    assert f"error: the port {port} on 127.0.0.1 is in use" in ended.stderr
    assert "--port" in ended.stderr.partition("hint:")[2]
    assert "listens" not in ended.stdout
    key = ended.stdout.partition("export MEMSTONE_KEY=")[2].strip()
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as service:  # noqa: S603
        assert service.stdout is not None
        url = re.search(r"listening on (\S+)", service.stdout.readline())
        assert url is not None
        with Client(url[1], key) as client:
            first = client.admin.keys.list()[0]
            assert (first["name"], first["may_assert_user"]) == ("first", True), "the operator's"
            assert (first["verbs"], first["user_id"], first["agent_id"]) == (["read", "write", "admin"], None, None)
        service.terminate()


@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize("ends", [OSError("no room"), SystemExit(3), KeyboardInterrupt(), None])
def test_the_first_key_is_shown_once_however_a_start_ends(
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends: BaseException | None,
    *,
    listens: bool,
) -> None:
    def served_so(_: Any, __: Any, listening: Any, ___: Any) -> None:
        if listens:
            listening(8420)
        if ends is not None:
            raise ends

    monkeypatch.setattr("memstone.server.process.serve_app", served_so)
    monkeypatch.setattr("memstone.server.app.create_app", lambda _: None)
    monkeypatch.setattr("memstone.server.observe.configure_logging", lambda *_: None)
    monkeypatch.setenv("MEMSTONE_EMBEDDER__PROVIDER", "hash")
    visible = list[int]()
    for _ in range(2):
        with suppress(SystemExit):
            run_command(["--db", f"{tmp_path}/m.db", "serve"])
        visible.append(capsys.readouterr().out.count("shown only once"))
    assert visible == [1, 0]


def test_a_service_that_cannot_set_up_its_log_shows_its_first_key(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(*_: Any) -> None:
        raise OSError("no log")

    monkeypatch.setattr("memstone.server.observe.configure_logging", refuses)
    monkeypatch.setenv("MEMSTONE_EMBEDDER__PROVIDER", "hash")
    run_command(["--db", f"{tmp_path}/m.db", "serve"])
    assert capsys.readouterr().out.count("shown only once") == 1


def test_the_line_of_a_service_that_has_a_key_takes_it_from_the_environment() -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        _print_startup_help(Settings.of({"store": {"url": "memory:"}}), HERE, None, _KeyPrinter())
    (line,) = [line for line in printed.getvalue().splitlines() if line.startswith("curl ")]
    visible = subprocess.run(  # noqa: S603 - what our own command line prints
        ["/bin/sh", "-c", line.replace("curl", "printf '%s\\n'", 1)],
        env={"MEMSTONE_KEY": "rk_abc"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Authorization: Bearer rk_abc" in visible.stdout.splitlines()


def _request(words: list[str]) -> dict[str, Any]:
    """What a command line of ``curl`` asks for."""
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    url = next(word for word in words if word.startswith("http"))
    return {"method": method, "url": url, "headers": headers, "content": body}
