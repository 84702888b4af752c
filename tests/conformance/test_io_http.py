"""Both Ios speak HTTP alike, and name its failures alike."""

from __future__ import annotations

import gzip
import os
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import httpcore2
import pytest

from memstone.adapters.io import http
from memstone.errors import (
    AuthenticationFailed,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    InvalidInput,
)
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WireReply, WireRequest, WireServer

both = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def fetch(mode: str, request: HttpRequest) -> HttpResponse:
    return run(mode, lambda io: _fetch(io, request))


async def _fetch(io: Io, request: HttpRequest) -> HttpResponse:
    return await io.http(request)


async def _lines(io: Io, request: HttpRequest) -> list[str]:
    return [line async for line in io.http_lines(request)]


@both
def test_a_request_arrives_as_it_was_written(mode: str, server: WireServer) -> None:
    server.script(WireReply(201, json={"ok": True}, headers={"X-Request-Id": "7"}))
    payload = {"text": "grüße \u2028 北京", "n": [1, None]}
    answer = fetch(mode, HttpRequest("PUT", f"{server.url}/v1/things?q=a%20b", payload, {"x-api-key": "secret"}))
    request = server.requests[0]
    assert (request.method, request.path, request.json) == ("PUT", "/v1/things?q=a%20b", payload)
    assert (request.headers["x-api-key"], request.headers["content-type"]) == ("secret", "application/json")
    assert (answer.status, answer.headers["x-request-id"], answer.body) == (201, "7", b'{"ok": true}')


@both
def test_a_request_sends_no_cookies_of_earlier_answers(mode: str, server: WireServer) -> None:
    async def scenario(io: Io) -> None:
        for _ in range(2):
            await io.http(HttpRequest("GET", f"{server.url}/v1/things"))

    server.handler = lambda _: WireReply(headers={"Set-Cookie": "session=7; Path=/"})
    run(mode, scenario)
    first, second = server.requests
    assert "cookie" not in second.headers
    usual = ("user-agent", "accept", "accept-encoding", "host")
    assert [second.headers[name] for name in usual] == [first.headers[name] for name in usual]
    assert second.headers["user-agent"] == "memstone"


@both
def test_a_compressed_answer_is_unpacked(mode: str, server: WireServer) -> None:
    server.script(WireReply(body=gzip.compress(b'{"ok": true}'), headers={"Content-Encoding": "gzip"}))
    assert fetch(mode, HttpRequest("GET", server.url)).body == b'{"ok": true}'
    assert "gzip" in server.requests[0].headers["accept-encoding"]


@both
def test_a_name_and_password_in_the_address_are_sent(mode: str, server: WireServer) -> None:
    server.script(WireReply())
    fetch(mode, HttpRequest("GET", server.url.replace("://", "://ann:secret@")))
    assert server.requests[0].headers["authorization"] == "Basic YW5uOnNlY3JldA=="


@both
def test_half_a_surrogate_pair_is_sent_as_a_json_escape(mode: str, server: WireServer) -> None:
    server.script(WireReply())
    fetch(mode, HttpRequest("POST", server.url, {"text": "a\ud83d"}))
    assert server.requests[0].json == {"text": "a\ud83d"}


@both
@pytest.mark.parametrize("payload", [{"x": float("nan")}, {"x": object()}])
def test_what_is_not_json_is_refused_before_anything_is_sent(mode: str, payload: Any, server: WireServer) -> None:
    with pytest.raises(InvalidInput):
        fetch(mode, HttpRequest("POST", server.url, payload))
    assert server.requests == []


@both
def test_a_status_is_an_answer_and_a_redirect_is_not_followed(mode: str, server: WireServer) -> None:
    server.script(WireReply(302, headers={"location": f"{server.url}/elsewhere"}), WireReply(500))
    assert fetch(mode, HttpRequest("GET", server.url)).status == 302
    assert fetch(mode, HttpRequest("GET", server.url)).status == 500
    assert [request.path for request in server.requests] == ["/", "/"]


@both
@pytest.mark.req("C-52")
def test_nobody_listening_is_unavailable_and_the_error_names_only_the_host(mode: str) -> None:
    with socket.socket() as taken:  # bound and not listening: refuses, and nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        address = f"user:pw@127.0.0.1:{taken.getsockname()[1]}/users/ann?key=k123"
        with pytest.raises(BackendUnavailable) as caught:
            fetch(mode, HttpRequest("GET", f"http://{address}", headers={"a": "hush"}))
    assert (caught.value.kind, caught.value.name, caught.value.retryable) == ("http", "127.0.0.1", True)
    assert caught.value.__cause__ is not None
    output = "".join(traceback.format_exception(caught.value, chain=False)[-1:])
    assert not [secret for secret in ("pw", "users", "k123", "hush") if secret in output]


@both
@pytest.mark.req("C-52")
def test_a_silent_server_is_a_timeout(mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(BackendTimeout) as caught:
        fetch(mode, HttpRequest("GET", f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1))
    assert (caught.value.kind, caught.value.name, caught.value.retryable) == ("http", "127.0.0.1", True)


@both
def test_a_server_that_drips_does_not_hold_us_for_ever(mode: str, server: WireServer) -> None:
    def drops() -> Iterator[bytes]:
        for _ in range(100):
            time.sleep(0.05)
            yield b" "

    server.script(WireReply(chunks=drops()))
    with pytest.raises(BackendTimeout):
        fetch(mode, HttpRequest("GET", server.url, timeout=0.3))


@both
def test_a_server_that_hangs_up_is_unavailable(mode: str, server: WireServer) -> None:
    server.script(WireReply(hang_up=True))
    with pytest.raises(BackendUnavailable):
        fetch(mode, HttpRequest("GET", server.url))


@both
def test_an_answer_without_end_is_rejected(mode: str, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 1000)
    server.script(WireReply(body=b"x" * 1000), WireReply(body=b"x" * 1001))
    assert len(fetch(mode, HttpRequest("GET", server.url)).body) == 1000
    with pytest.raises(BackendRejected):
        fetch(mode, HttpRequest("GET", server.url))


@both
@pytest.mark.req("R-38")
@pytest.mark.parametrize("key", ["sk-line\nbreak", "sk-ünïcode\u2028"])
def test_a_key_that_cannot_be_sent_is_a_config_error_that_does_not_show_it(mode: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fetch(mode, HttpRequest("GET", "http://127.0.0.1:9/", headers={"authorization": f"Bearer {key}"}))
    assert "sk-" not in "".join(traceback.format_exception(caught.value))


@both
@pytest.mark.parametrize("url", ["localhost:11434/api", "http://[", "ftp://host/file", ""])
def test_an_address_that_is_none_is_a_config_error(mode: str, url: str) -> None:
    with pytest.raises(ConfigError):
        fetch(mode, HttpRequest("GET", url))


@both
def test_lines_are_cut_at_line_feeds_only(mode: str, server: WireServer) -> None:
    text = "data: one\u2028two\r\n\r\ndata: 北京\nlast".encode()
    server.script(WireReply(chunks=[text[:13], text[13:25], text[25:]]))
    lines = run(mode, lambda io: _lines(io, HttpRequest("POST", server.url, {})))
    assert lines == ["data: one\u2028two", "", "data: 北京", "last"]


@both
def test_a_line_is_there_before_the_next_one_is_sent(mode: str, server: WireServer) -> None:
    first_was_read = threading.Event()

    def chunks() -> Iterator[bytes]:
        yield b"first\n"
        yield b"second\n" if first_was_read.wait(120) else b"too late\n"

    async def scenario(io: Io) -> list[str]:
        seen = []
        async for line in io.http_lines(HttpRequest("GET", server.url)):
            seen.append(line)
            first_was_read.set()
        return seen

    server.script(WireReply(chunks=chunks()))
    assert run(mode, scenario) == ["first", "second"]


@both
def test_a_stream_that_is_left_early_is_closed(mode: str, server: WireServer) -> None:
    async def scenario(io: Io) -> tuple[str, int]:
        stream: Any = io.http_lines(HttpRequest("GET", server.url))
        first = await anext(stream)
        await stream.aclose()
        return first, (await io.http(HttpRequest("GET", server.url))).status

    server.script(WireReply(chunks=[b"one\n", b"two\n"]), WireReply(204))
    assert run(mode, scenario) == ("one", 204)


@both
@pytest.mark.parametrize(
    ("status", "error"), [(401, AuthenticationFailed), (404, BackendRejected), (503, BackendUnavailable)]
)
def test_lines_of_a_refusal_are_an_error(mode: str, status: int, error: type[Exception], server: WireServer) -> None:
    server.script(WireReply(status, json={"error": {"message": "no such model"}}))
    with pytest.raises(error) as caught:
        run(mode, lambda io: _lines(io, HttpRequest("POST", server.url, {})))
    assert ("no such model" in str(caught.value)) is (status != 401)


@both
def test_a_line_without_end_is_rejected(mode: str, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_LINE_BYTES", 100)
    server.script(WireReply(body=b"x" * 101))
    with pytest.raises(BackendRejected):
        run(mode, lambda io: _lines(io, HttpRequest("GET", server.url)))


@both
def test_the_wire_server_says_when_it_has_nothing_to_say(mode: str, server: WireServer) -> None:
    def broken(_: WireRequest) -> WireReply:
        raise ZeroDivisionError

    assert b"no further answer" in fetch(mode, HttpRequest("GET", server.url)).body
    server.handler = broken
    assert b"ZeroDivisionError" in fetch(mode, HttpRequest("GET", server.url)).body


@both
def test_the_certificates_are_read_once_and_those_of_the_environment_are_used(
    mode: str, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str | None] = []

    def certificates(*, _trust_env: bool) -> ssl.SSLContext:
        read.append(os.environ.get("SSL_CERT_FILE"))
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(httpcore2, "default_ssl_context", certificates)
    server.handler = lambda _: WireReply(json={})
    files = [f"/certificates/of/{mode}/{number}.pem" for number in range(2)]
    for file in files:
        monkeypatch.setenv("SSL_CERT_FILE", file)
        for _ in range(3):
            assert fetch(mode, HttpRequest("GET", server.url)).status == 200
    assert read == files
