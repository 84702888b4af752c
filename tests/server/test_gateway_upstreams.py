"""Upstreams that fail, refuse, fall silent or break off: who is asked next, and what a caller is told."""

from __future__ import annotations

import asyncio
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import anthropic
import httpx2
import pytest
from starlette.requests import Request  # noqa: TC002 - the stand-in reads it from the signature
from starlette.responses import JSONResponse

from memstone import Memory
from memstone.server.app import create_app
from tests.patience import LONG
from tests.server.gate import Gate, ask, gated, until
from tests.server.upstream import Upstream, served

HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CUT: Final = HEAD + b'content-length: 500\r\n\r\n{"data": ['


def refusal(status: int, headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d No\r\ncontent-type: application/json\r\n%scontent-length: 2\r\n\r\n{}" % (status, headers)


class Wire(socketserver.ThreadingTCPServer):
    """Answers every request with the same bytes and closes; with None it says nothing until it is ended.

    ``sent`` are the headers of the last request, ``asked`` says how many there were, ``times`` when they came.
    """

    allow_reuse_address, daemon_threads, block_on_close = True, True, False

    def __init__(self, answer: bytes | None) -> None:
        super().__init__(("127.0.0.1", 0), _Wired)
        self.answer, self.asked, self.ended = answer, 0, threading.Event()
        self.sent = dict[str, str]()
        self.times: list[float] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Wired(socketserver.StreamRequestHandler):
    server: Wire

    def handle(self) -> None:
        sent = dict[str, str]()
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            sent[name.lower()] = value.strip()
        self.rfile.read(int(sent.get("content-length", "0")))
        self.server.sent = sent
        self.server.asked += 1
        self.server.times.append(time.monotonic())
        if self.server.answer is None:
            self.server.ended.wait(LONG)
        else:
            self.wfile.write(self.server.answer)


@contextmanager
def wired(answer: bytes | None) -> Iterator[Wire]:
    with Wire(answer) as wire:
        thread = threading.Thread(target=wire.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield wire
        finally:
            wire.ended.set()
            wire.shutdown()
            thread.join(LONG)


@contextmanager
def gateway(place: Path, *upstreams: dict[str, Any]) -> Iterator[httpx2.Client]:
    """A gateway before some upstreams, and a client with a key of alice."""
    config: dict[str, Any] = {
        "store": {"url": f"sqlite:///{place}/g.db"},
        "embedder": {"provider": "hash"},
        "preset": "gateway",
        "gateway": {"upstreams": list(upstreams), "recall_ms": 120_000},
    }
    with Memory(config) as memory, served(create_app(config)) as url:
        key = memory.admin.keys.create(user_id="alice")["key"]
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=LONG) as client:
            yield client


@pytest.fixture
def good() -> Iterator[tuple[Upstream, str]]:
    behind = Upstream()
    with served(behind.app) as url:
        yield behind, f"{url}/v1"


def chat(client: httpx2.Client, *, stream: bool = False, memory: str = "on") -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    return client.post("/v1/chat/completions", json=body, headers={} if memory == "on" else {"x-memory": memory})


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])
def test_what_another_upstream_may_do_better_is_tried_there(
    tmp_path: Path, good: tuple[Upstream, str], status: int
) -> None:
    with (
        wired(refusal(status)) as bad,
        gateway(tmp_path, {"name": "a", "base_url": bad.url}, {"name": "b", "base_url": good[1]}) as client,
    ):
        answer = chat(client)
    assert answer.json()["choices"][0]["message"]["content"] == "Noted."
    assert bad.asked == (1 if status in (429, 504, 524) else 2), "who may still be at work is not asked twice"


@pytest.mark.parametrize("length", [b"transfer-encoding: chunked\r\n\r\n", b"content-length: 500\r\n\r\n", b"\r\n"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_head_that_nothing_follows_is_no_answer_yet(
    tmp_path: Path, good: tuple[Upstream, str], length: bytes, *, stream: bool
) -> None:
    one = {"name": "a", "retries": 0}
    with (
        wired(HEAD + length) as bad,
        gateway(tmp_path, {**one, "base_url": bad.url}, {"name": "b", "base_url": good[1]}) as client,
    ):
        answer = chat(client, stream=stream)
        assert (answer.status_code, bad.asked, len(good[0].seen)) == (200, 1, 1)
        assert "Noted." in answer.text
        assert "error" not in answer.text


def test_a_head_that_nothing_follows_and_nobody_stands_in_for_is_an_error_of_the_upstream(tmp_path: Path) -> None:
    with (
        wired(HEAD + b"content-length: 500\r\n\r\n") as bad,
        gateway(tmp_path, {"name": "a", "base_url": bad.url}) as client,
    ):
        answer = chat(client, stream=True)
    assert (answer.status_code, answer.json()["code"], bad.asked) == (502, "backend_unavailable", 2)


def test_who_asks_too_often_and_has_nobody_else_to_ask_is_told_how_long_to_wait(tmp_path: Path) -> None:
    nowhere = {"name": "b", "base_url": "http://127.0.0.1:9/v1"}
    with wired(refusal(429, b"retry-after: 7\r\n")) as bad:
        for others in ([], [nowhere]):
            with gateway(tmp_path, {"name": "a", "base_url": bad.url, "retries": 3}, *others) as client:
                answer = chat(client)
            assert (answer.status_code, answer.headers["retry-after"], answer.text) == (429, "7", "{}")
    assert bad.asked == 2


@pytest.mark.parametrize("begun", [b"", HEAD + b"content-length: 500\r\n\r\n"])
def test_a_request_that_may_be_paid_for_is_not_sent_to_the_same_service_twice(tmp_path: Path, begun: bytes) -> None:
    class Slow(_Wired):
        def handle(self) -> None:
            self.connection.sendall(begun)
            super().handle()

    with wired(None) as silent:
        silent.RequestHandlerClass = Slow
        slow = {"base_url": silent.url, "timeout": 0.3, "retries": 2}
        with gateway(tmp_path, {"name": "a", **slow}, {"name": "b", **slow}) as client:
            answer = chat(client)
        until(lambda: silent.asked)  # who is not waited for may hear of it later
        assert (answer.status_code, answer.json()["code"], silent.asked) == (504, "backend_timeout", 1)


def test_who_does_not_answer_in_time_is_stood_in_for(tmp_path: Path, good: tuple[Upstream, str]) -> None:
    with wired(None) as silent:
        slow = {"name": "a", "base_url": silent.url, "timeout": 0.3}
        with gateway(tmp_path, slow, {"name": "b", "base_url": good[1]}) as client:
            assert "Noted." in chat(client).text
        until(lambda: silent.asked)
        assert silent.asked == 1


@pytest.mark.parametrize("answer", [None, HEAD + b"content-length: 500\r\n\r\n"])
def test_an_answer_that_does_not_come_has_its_receipt_too(tmp_path: Path, answer: bytes | None) -> None:
    one = {"name": "a", "timeout": 0.3 if answer is None else LONG}
    with wired(answer) as bad, gateway(tmp_path, {**one, "base_url": bad.url}) as client:
        failed = chat(client)
        assert failed.status_code == (504 if answer is None else 502)
        assert len(failed.headers["x-memstone-receipt"]) > len("none")
        failed = chat(client, memory="off")
        assert (failed.status_code >= 500, failed.headers["x-memstone-receipt"]) == (True, "none")


def test_what_the_official_clients_act_on_comes_back(tmp_path: Path) -> None:
    answer = b"request-id: req_1\r\nx-should-retry: false\r\nretry-after-ms: 50\r\nset-cookie: a=b\r\n"
    with (
        wired(refusal(429, answer)) as bad,
        gateway(tmp_path, {"name": "a", "base_url": bad.url, "dialect": "anthropic"}) as client,
    ):
        key = client.headers["authorization"].removeprefix("Bearer ")
        with (
            anthropic.Anthropic(api_key=key, base_url=str(client.base_url), max_retries=2) as claude,
            pytest.raises(anthropic.RateLimitError) as failed,
        ):
            claude.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": "hi"}])
    assert (failed.value.request_id, bad.asked) == ("req_1", 1)
    assert failed.value.response.headers["retry-after-ms"] == "50"
    assert "set-cookie" not in failed.value.response.headers


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/models"])
def test_an_answer_that_is_cut_is_an_error_of_the_upstream_on_every_route(tmp_path: Path, path: str) -> None:
    with wired(CUT) as bad, gateway(tmp_path, {"name": "a", "base_url": bad.url}) as client:
        body = None if path == "/v1/models" else {"model": "m", "input": "x"}
        answer = client.request("POST" if body else "GET", path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (502, "backend_unavailable")


def listing(*names: Any) -> bytes:
    body = str([{"id": name} for name in names]).replace("'", '"').encode()
    return HEAD + b'content-length: %d\r\n\r\n{"data": %s}' % (len(body) + 10, body)


def test_one_upstream_that_lists_no_models_does_not_hide_those_of_the_others(tmp_path: Path) -> None:
    nonsense = [b"", b"[1]", b'{"data": 5}', b'{"data": [NaN]}', b'{"data": [{"id": "\\ud800"}]}', b"[" * 99_999]
    answers = [None, CUT, refusal(503), *(HEAD + b"\r\n" + one for one in nonsense), listing("m", 7)]
    with ExitStack() as stack:
        wires = [stack.enter_context(wired(answer)) for answer in answers]
        usual = [{"timeout": 0.3 if answer is None else LONG, "retries": 3} for answer in answers]
        upstreams = [{"name": str(at), "base_url": one.url, **usual[at]} for at, one in enumerate(wires)]
        with gateway(tmp_path, *upstreams) as client:
            found = client.get("/v1/models")
        assert (found.status_code, found.json()["data"]) == (200, [{"id": "m"}])
        until(lambda: all(one.asked for one in wires))  # who is not waited for may hear of it later
        assert [one.asked for one in wires] == [1] * len(answers)


def test_when_every_upstream_refuses_to_list_its_models_that_is_an_error(tmp_path: Path) -> None:
    with wired(refusal(503)) as one, gateway(tmp_path, {"name": "a", "base_url": one.url}) as client:
        assert client.get("/v1/models").status_code == 502


def test_models_are_listed_once_and_only_if_asking_for_them_would_reach_them(tmp_path: Path) -> None:
    with wired(listing("gpt-1", "other", "claude-1")) as one, wired(listing("claude-1", "gpt-1")) as two:
        upstreams: list[dict[str, Any]] = [
            {"name": "a", "base_url": one.url, "models": ["gpt-"]},
            {"name": "b", "base_url": two.url, "models": ["claude-", "gpt-"]},
            {"name": "c", "base_url": two.url, "models": ["at/home/", "home/"], "strip": True},
            {"name": "d", "base_url": one.url, "models": ["at/home/other"]},
        ]
        with gateway(tmp_path, *upstreams) as client:
            found = [item["id"] for item in client.get("/v1/models").json()["data"]]
    assert found == ["gpt-1", "claude-1", "at/home/claude-1", "at/home/gpt-1"]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, write={"mode": "manual"}) as made:
        yield made


def test_a_key_that_a_caller_brought_is_seen_by_one_service_only(tmp_path: Path) -> None:
    with wired(listing("gpt-1")) as one, wired(listing("claude-1")) as two:
        upstreams: list[dict[str, Any]] = [
            {"name": "a", "base_url": one.url, "api_key": "sk-a", "models": ["gpt-"]},
            {"name": "b", "base_url": two.url, "api_key": "sk-b", "models": ["claude-"], "dialect": "anthropic"},
        ]
        with gateway(tmp_path, *upstreams) as client:
            client.get("/v1/models", headers={"X-Upstream-Authorization": "Bearer sk-mine"})
        assert (one.sent["authorization"], one.sent.get("x-api-key")) == ("Bearer sk-mine", None)
        assert (two.sent.get("authorization"), two.sent["x-api-key"]) == (None, "sk-b")
        assert "sk-mine" not in str(two.sent)


@pytest.mark.parametrize("given", ["Bearer sk-mine", "bearer sk-mine", "BEARER  sk-mine", "sk-mine"])
def test_a_key_that_a_caller_brought_is_read_however_it_is_written(gate: Gate, given: str) -> None:
    ask(gate.openai(), "hello", extra_headers={"X-Upstream-Authorization": given})
    assert gate.upstream.headers[-1]["authorization"] == "Bearer sk-mine"


def test_no_key_in_place_of_one_is_none(gate: Gate) -> None:
    ask(gate.openai(), "hello", extra_headers={"X-Upstream-Authorization": "Bearer"})
    assert gate.upstream.headers[-1]["authorization"] == "Bearer sk-upstream"


@pytest.mark.parametrize(
    ("path", "stream"), [("/v1/chat/completions", False), ("/v1/chat/completions", True), ("/v1/embeddings", False)]
)
def test_a_caller_who_leaves_before_the_answer_ends_the_work_on_it(gate: Gate, path: str, *, stream: bool) -> None:
    noticed, begun = threading.Event(), threading.Event()

    async def forever(request: Request) -> Any:
        await request.json()
        begun.set()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        noticed.set()
        return JSONResponse({})

    routes = gate.upstream.app.router.routes
    routes[:] = [one for one in routes if getattr(one, "path", "") != path]
    gate.upstream.app.post(path)(forever)
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    body = {"model": "m", "messages": [{"role": "user", "content": "I live in Oslo"}], "stream": stream}

    async def leave() -> None:
        async with httpx2.AsyncClient(timeout=LONG) as client:
            asking = asyncio.ensure_future(client.post(f"{gate.url}{path}", json=body, headers=headers))
            assert await asyncio.to_thread(begun.wait, LONG)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(leave())
    assert noticed.wait(LONG)
    until(lambda: gate.tasks == 0)
    assert gate.turns("alice") == []


def test_what_a_request_holds_goes_on_as_it_came_even_where_no_text_can_be_made_of_it(gate: Gate) -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "half \\ud83d"}], "temperature": NaN}'
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}", "x-memory": "off"}
    answer = httpx2.post(f"{gate.url}/v1/chat/completions", content=body, headers=headers, timeout=LONG)
    assert answer.status_code == 200
    assert gate.upstream.seen[-1]["messages"][0]["content"] == "half \ud83d"
    assert str(gate.upstream.seen[-1]["temperature"]) == "nan"


@pytest.mark.parametrize("name", ["müller", "Žižek", "山田"])
def test_a_name_in_a_header_is_the_person_of_the_same_name_in_a_body(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, identity={"sources": ["body"]}) as gate:
        client = gate.openai(may_assert_user=True)
        ask(client, "I live in Oslo", user=name)
        until(lambda: gate.facts(name))
        body = {"model": "m", "messages": [{"role": "user", "content": "Where do I live?"}]}
        for key in (client.api_key, gate.key(user_id=name)):
            headers = {b"Authorization": f"Bearer {key}".encode(), b"X-Memstone-User": name.encode()}
            answer = httpx2.post(f"{gate.url}/v1/chat/completions", json=body, headers=headers, timeout=LONG)
            assert answer.status_code == 200
            assert "User lives in Oslo" in gate.sent
