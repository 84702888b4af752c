"""What is sent: read only of those who may send it, not waited for without end, and refused in words that help."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from memstone import Memory
from memstone.server.app import create_app
from tests.patience import LONG
from tests.server.conftest import CONFIG
from tests.server.upstream import served
from tests.server.world import World

JSON = {"content-type": "application/json"}


def _asked(url: str, head: str, body: bytes) -> bytes:
    """What a service answers to the beginning of a request, before the rest of it comes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=LONG) as connection:
        connection.sendall(f"{head} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n".encode())
        connection.sendall(b"Content-Type: application/json\r\n\r\n" + body)
        return connection.recv(65_536)


@pytest.mark.req("N-42")
def test_nobody_without_a_key_has_a_body_read(tmp_path: Any) -> None:
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/m.db"}}
    with served(create_app(config)) as url:
        for path in ("/v1/memories", "/v1/sessions", "/insert", "/memory/ingest", "/v1/chat/completions"):
            assert b" 401 " in _asked(url, f"POST {path}", b"{").partition(b"\r\n")[0], path


def test_a_body_that_stops_coming_is_not_waited_for_without_end(tmp_path: Any) -> None:
    server = {"connections": {"body_seconds": 0.05}}
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/m.db"}, "server": server}
    with Memory(config) as memory, served(create_app(config)) as url:
        key = memory.admin.keys.create()["key"]
        answer = _asked(url, "POST /v1/memories", b'{"messages"').partition(b"\r\n")[0]
        assert b" 401 " in answer
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=LONG) as connection:
            head = f"POST /v1/memories HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\nX-API-Key: {key}\r\n"
            connection.sendall(head.encode() + b'Content-Type: application/json\r\n\r\n{"messages"')
            reply = b"".join(iter(lambda: connection.recv(65_536), b""))  # to the end: the connection is closed
    assert b" 408 " in reply.partition(b"\r\n")[0]
    assert b'"code":"too_slow"' in reply


@pytest.mark.req("O-82", "N-43")
@pytest.mark.parametrize("body", [b"{", b'\xff\xfe{"a":1}', b"[" * 100_000, b"\x1f\x8b\x08\x00"])
def test_what_is_no_json_is_called_so(world: World, body: bytes) -> None:
    answer = world.client.put("/api/settings/memory", content=body, headers=JSON)
    assert answer.status_code == 400
    reply = {"message": "Invalid JSON body", "type": "invalid_request_error", "code": "invalid_json", "details": []}
    assert answer.json()["error"] == reply


def test_who_forgets_to_say_that_it_is_json_is_told(world: World) -> None:
    message = b'{"messages": "I live in Oslo", "user_id": "alice"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = world.client.post("/v1/memories", content=message, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["hint"]) == (400, "send it with Content-Type: application/json")
    assert world.client.post("/v1/memories", content=message, headers=JSON).status_code == 200


def test_a_method_that_is_not_there_is_told_all_that_are(world: World) -> None:
    answer = world.client.patch("/v1/memories")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, POST")


def test_an_id_may_hold_a_slash(world: World) -> None:
    client = world.client
    assert client.post("/agents", json={"id": "team/planner", "name": "Planner"}).status_code == 201
    assert client.get("/agents/team%2Fplanner").json()["name"] == "Planner"
    assert client.put("/agents/team/planner", json={"name": "P"}).json()["name"] == "P"
    assert client.delete("/agents/team%2Fplanner").status_code == 200
    assert client.get("/v1/entities/AC%2FDC/relations", params={"user_id": "alice"}).json() == {"results": []}


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/v1/memories?nonsense=1", 400, "invalid_request_error"),
        ("/v1/memories/none", 404, "not_found_error"),
        ("/v1/nowhere", 404, "not_found_error"),
        ("/v1/chat/completions", 405, "invalid_request_error"),
    ],
)
def test_an_error_has_the_type_that_clients_of_vendors_look_for(
    world: World, path: str, status: int, kind: str
) -> None:
    answer = world.client.get(path)
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert world.anonymous().get("/v1/memories").json()["error"]["type"] == "authentication_error"
    reader = world.as_key(verbs=["read"])
    assert reader.delete("/v1/memories/none").json()["error"]["type"] == "permission_error"
    large = world.client.post("/v1/memories", content=b"x" * (20 << 20))
    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")
