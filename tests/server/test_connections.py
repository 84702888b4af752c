"""Callers who send slowly, not at all, or too many at once: they are cut off, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from starlette.responses import PlainTextResponse, StreamingResponse

from benchmarks.server import attack
from memstone.sections_service import ConnectionSettings
from memstone.server import connections, metrics
from memstone.server.access import asks_who
from memstone.server.app import create_app
from memstone.server.connections import ACCEPTS, HEALTH_PATHS, RESERVE, within_descriptors
from memstone.server.middleware import KEYLESS_BODIES, SAFETY_HEADERS
from tests.patience import LONG, until
from tests.server.conftest import CONFIG
from tests.server.place import Place, listening
from tests.server.world import World

if TYPE_CHECKING:
    from fastapi import FastAPI

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def bounded(**settings: Any) -> Iterator[Place]:
    """A service with these bounds for connections, and two routes for long answers."""
    with listening({**CONFIG, "server": {"connections": settings}}, add_routes) as place:
        yield place


def add_routes(app: FastAPI) -> None:
    @app.get("/test/stream")
    async def stream(seconds: float) -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            yield "begin\n"
            await asyncio.sleep(seconds)
            yield "end\n"

        return StreamingResponse(pieces())

    @app.get("/test/large")
    async def large() -> PlainTextResponse:
        return PlainTextResponse("x" * 20_000_000)


def read_all(connection: socket.socket) -> bytes:
    """Everything until the service closes; '' when it was cut off."""
    try:
        return b"".join(iter(lambda: connection.recv(65_536), b""))
    except ConnectionResetError:
        return b""


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def problem_of(answer: bytes) -> dict[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    names = {line.partition(b":")[0].decode().lower() for line in head.split(b"\r\n")[1:]}
    assert {*SAFETY_HEADERS, "content-length", "connection"} <= names
    assert b"content-type: application/problem+json" in head
    problem: dict[str, Any] = json.loads(body)
    return problem


@pytest.mark.req("N-42")
@pytest.mark.parametrize("sent", [HEAD, b"G", b"POST /v1/memories HTTP/1.1\r\nContent-Length: 9\r\n"])
def test_a_head_that_does_not_end_is_answered_and_closed(sent: bytes) -> None:
    with bounded(head_seconds=0.2) as place, place.connect(sent) as slow:
        answer = read_all(slow)
        assert status_of(answer) == 408
        assert problem_of(answer)["code"] == "too_slow"
        assert httpx2.get(f"{place.url}/healthz").status_code == 200


def test_a_head_in_drops_has_no_more_time_than_one_that_stops() -> None:
    with bounded(head_seconds=0.5) as place, place.connect(HEAD) as slow:
        slow.settimeout(0.02)
        began, answer = time.monotonic(), b""
        while not answer:
            slow.sendall(b"X-More: 1\r\n")
            try:
                answer = slow.recv(65_536)
            except TimeoutError:
                assert time.monotonic() - began < LONG
        assert status_of(answer) == 408


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word() -> None:
    with bounded(head_seconds=0.1) as place, place.connect() as silent:
        assert read_all(silent) == b""


def test_the_head_of_a_second_request_has_the_same_deadline() -> None:
    with bounded(head_seconds=0.3) as place, place.connect(HEAD + b"\r\n") as twice:
        assert status_of(twice.recv(65_536)) == 200
        twice.sendall(HEAD)
        assert status_of(read_all(twice)) == 408


def test_what_follows_an_answer_that_came_early_is_not_read_for_ever() -> None:
    with bounded(head_seconds=0.3) as place:
        head = b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"
        with place.connect(head) as early:
            assert status_of(early.recv(65_536)) == 401
            early.settimeout(0.02)
            began = time.monotonic()
            while True:
                assert time.monotonic() - began < LONG
                try:
                    early.sendall(b" ")
                    if not early.recv(65_536):
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break


def test_an_answer_may_take_longer_than_a_head() -> None:
    with (
        bounded(head_seconds=0.2, body_seconds=0.2) as place,
        httpx2.stream("GET", f"{place.url}/test/stream?seconds=1.5", timeout=LONG) as answer,
    ):
        assert list(answer.iter_lines()) == ["begin", "end"]


def test_a_body_slower_than_the_pace_is_refused_and_one_that_keeps_it_is_read() -> None:
    def sent(place: Place, piece: bytes, pieces: int, pause: float) -> bytes:
        length = len(piece) * pieces
        head = f"POST /v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n"
        with place.connect(head.encode() + b"Content-Type: application/json\r\n\r\n" + piece) as slow:
            slow.settimeout(pause)
            for _ in range(pieces - 1):
                try:
                    return slow.recv(65_536) + read_all(slow)
                except TimeoutError:
                    slow.sendall(piece)
            slow.settimeout(LONG)
            return slow.recv(65_536)

    with bounded(body_seconds=0.4, bytes_per_second=1_000) as place:
        answer = sent(place, b" ", 10_000, 0.05)
        assert status_of(answer) == 408
        assert problem_of(answer)["code"] == "too_slow"
    with bounded(body_seconds=2.0, bytes_per_second=100) as place:
        assert status_of(sent(place, b" " * 2_000, 30, 0.1)) == 400  # all of it came, and it is no JSON


def test_who_does_not_read_their_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_STALL_SECONDS", 0.3)
    with bounded() as place:
        with place.connect(b"GET /test/large HTTP/1.1\r\nHost: localhost\r\n\r\n") as deaf:
            until(lambda: _closed("slow_reader") > 0)
            assert len(read_all(deaf)) < 20_000_000
        assert len(httpx2.get(f"{place.url}/test/large", timeout=LONG).content) == 20_000_000


def _closed(reason: str) -> float:
    value: float = metrics.CONNECTIONS_CLOSED.labels(reason)._value.get()
    return value


@pytest.mark.req("N-42")
def test_half_sent_heads_end_for_those_who_send_whole_ones() -> None:
    with bounded(limit=4, head_seconds=LONG) as place, ExitStack() as open_ones:
        current = list[socket.socket]()
        for _ in range(3):
            current += [open_ones.enter_context(place.connect(HEAD)) for _ in range(RESERVE)]
            assert httpx2.get(f"{place.url}/healthz", timeout=LONG).status_code == 200
            assert httpx2.get(f"{place.url}/v1/me", timeout=LONG).status_code == 401
        current[-1].sendall(b"\r\n")  # the newest was left alone
        assert status_of(current[-1].recv(65_536)) == 200


@pytest.mark.req("N-26")
def test_when_every_place_is_taken_health_is_answered_and_others_are_told_to_come_back() -> None:
    with bounded(limit=3) as place, ExitStack() as streams:
        url = f"{place.url}/test/stream?seconds={LONG}"
        answers = [streams.enter_context(httpx2.stream("GET", url, timeout=LONG)) for _ in range(3)]
        lines = [answer.iter_lines() for answer in answers]
        assert [next(line) for line in lines] == ["begin"] * 3
        for path in HEALTH_PATHS:
            assert httpx2.get(f"{place.url}{path}", timeout=LONG).status_code == 200
        refused = httpx2.get(f"{place.url}/v1/me", timeout=LONG)
        assert (refused.status_code, refused.headers["retry-after"], refused.json()["code"]) == (503, "1", "overloaded")
        assert refused.json()["retryable"] is True
        assert SAFETY_HEADERS.items() <= dict(refused.headers).items()
        streams.pop_all().close()
        until(lambda: httpx2.get(f"{place.url}/v1/me", timeout=LONG).status_code == 401)


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /\r\n:\r\n\r\n"],
)
def test_what_is_no_http_is_answered_like_any_other_error(sent: bytes) -> None:
    with bounded() as place, place.connect(sent) as odd:
        answer = read_all(odd)
        assert (status_of(answer), problem_of(answer)["code"]) == (400, "invalid_http")


def test_a_route_that_asks_nobody_who_they_are_reads_small_bodies_only() -> None:
    app = create_app({**CONFIG, "server": {"body_bytes": 1_000_000}})
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    keyless = {route.path for route in routes if route.dependant.body_params and not asks_who(route.dependant)}
    assert keyless == KEYLESS_BODIES
    with World.over(app) as world:
        for path in keyless:
            answer = world.anonymous().post(path, json={"x": "y" * 70_000})
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(("soft", "hard", "limit"), [(256, 100_000, 1_000), (1_024, 1_024, 288), (64, 64, 16)])
def test_there_are_no_more_connections_than_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, limit: int
) -> None:
    current = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(current))
    monkeypatch.setattr(resource, "setrlimit", lambda _, value: current.__setitem__(slice(None), value))
    assert within_descriptors(ConnectionSettings()).limit == limit
    assert current[0] >= min(2 * limit + RESERVE + ACCEPTS, hard)


@pytest.mark.system
@pytest.mark.req("N-42", "N-26")
@pytest.mark.parametrize("kind", attack.KINDS)
@pytest.mark.parametrize("number", [1_100, 2_000])
def test_a_service_bears_more_slow_connections_than_it_may_have_files_open(number: int, kind: str) -> None:
    found = attack.measured(kind, number, seconds=15, descriptors=1_024)
    answered = {"health 200", "search 200", "stream went on"}
    assert found["outcomes"].keys() == answered
    assert found["log_bytes"] <= attack.LOG_BYTES
