"""When a client tries again, against a service that answers as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from memstone import Client
from memstone.errors import (
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    Conflict,
    LlmUnavailable,
    MemstoneError,
    NotFoundError,
    StorageBusy,
    TooManyRequests,
)
from memstone.remote import link
from tests.server.upstream import served

BUSY = {"code": "storage_busy", "detail": "busy", "hint": "later", "retryable": True}
REFUSED = {"code": "model_refused", "detail": "no", "hint": "", "retryable": False}


class Scripted:
    """Gives the next of its answers, the last one for ever; ``seen`` are the bodies it was sent."""

    def __init__(self) -> None:
        self.answers: list[Response] = []
        self.seen: list[dict[str, Any]] = []
        self.headers: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        self.headers.append(request.headers)
        self.seen.append(json.loads(await request.body() or b"{}"))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await answer(scope, receive, send)


def problem(status: int, body: dict[str, Any], **headers: str) -> Response:
    return Response(json.dumps(body), status, headers, "application/problem+json")


def fine(body: Any = None) -> Response:
    return Response(json.dumps(body), 200, media_type="application/json")


@pytest.fixture(scope="module")
def scripted() -> Iterator[tuple[Scripted, str]]:
    app = Scripted()

    async def full(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await app(scope, receive, send)

    with served(full) as url:
        yield app, url


@pytest.fixture
def service(scripted: tuple[Scripted, str], monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setattr(link, "_FIRST_WAIT", 0.0)
    scripted[0].seen.clear()
    scripted[0].headers.clear()
    return scripted[0]


@pytest.fixture
def client(scripted: tuple[Scripted, str], service: Scripted) -> Iterator[Client]:
    with Client(scripted[1], "secret-key") as made:
        yield made


@pytest.mark.parametrize("status", [502, 503, 504])
def test_what_a_proxy_says_for_a_moment_is_tried_again(service: Scripted, client: Client, status: int) -> None:
    service.answers = [Response("<html>", status), Response("<html>", status), fine({"results": []})]
    assert client.search("Oslo", user_id="alice") == {"results": []}
    assert len(service.seen) == 3


def test_it_is_given_up_after_the_last_try(service: Scripted, client: Client) -> None:
    service.answers = [problem(503, BUSY)]
    with pytest.raises(StorageBusy) as caught:
        client.search("Oslo", user_id="alice")
    assert (len(service.seen), caught.value.hint) == (3, "later")


def test_what_says_it_will_not_pass_is_not_tried_again(service: Scripted, client: Client) -> None:
    service.answers = [problem(502, REFUSED)]
    with pytest.raises(MemstoneError, match="no"):
        client.search("Oslo", user_id="alice")
    assert len(service.seen) == 1


def test_an_add_is_repeated_only_if_it_was_certainly_not_carried_out(service: Scripted, client: Client) -> None:
    service.answers = [problem(503, BUSY), fine({"results": [], "status": "ok"})]
    assert client.add("tea", user_id="alice")["status"] == "ok"
    service.answers = [Response("", 502)]
    with pytest.raises(BackendUnavailable):
        client.add("tea", user_id="alice")
    assert len(service.seen) == 3


def test_a_batch_that_is_sent_again_has_the_same_key(service: Scripted, client: Client) -> None:
    service.answers = [Response("", 502), fine({"results": []})]
    client.add_many([{"messages": "tea", "user_id": "alice"}])
    first, second = (one["idempotency-key"] for one in service.headers)
    assert first == second
    client.add_many([{"messages": "tea", "user_id": "alice"}])
    client.add_many([], idempotency_key="mine")
    assert service.headers[2]["idempotency-key"] != first
    assert service.headers[3]["idempotency-key"] == "mine"


def test_a_service_that_asks_for_time_gets_it(
    service: Scripted, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(client._link._io, "sleep", sleep)
    slow = {"code": "too_many_requests", "detail": "slow down", "hint": "", "retryable": True}
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for asked, least in (("7", 7.0), (soon, 25.0)):
        service.answers = [problem(429, slow, **{"Retry-After": asked}), fine({"results": []})]
        client.add("tea", user_id="alice")
        assert least <= waited.pop() <= 40.0
    service.answers = [problem(429, slow, **{"Retry-After": "3600"})]
    with pytest.raises(TooManyRequests) as caught:
        client.get("x")
    assert caught.value.retry_after == 3600.0
    assert waited == [], "nobody waits for an hour"


def test_every_try_comes_after_a_longer_pause(
    service: Scripted, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(link, "_FIRST_WAIT", 10.0)
    monkeypatch.setattr(client._link._io, "sleep", sleep)
    service.answers = [problem(503, BUSY)]
    with pytest.raises(StorageBusy):
        client.search("Oslo", user_id="alice")
    assert [int(pause / 10) for pause in waited] == [1, 2]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(404, "not_found", NotFoundError), (409, "conflict", Conflict), (502, "llm_unavailable", LlmUnavailable)],
)
def test_an_error_comes_back_as_the_class_it_was_raised_as(
    service: Scripted, client: Client, status: int, code: str, kind: type[MemstoneError]
) -> None:
    details = [{"field": "text", "message": "too short"}]
    answer = {"code": code, "detail": "what happened", "hint": "what to do", "request_id": "r1"}
    service.answers = [problem(status, {**answer, "retryable": False, "error": {"details": details}})]
    with pytest.raises(kind) as caught:
        client.delete("x")
    assert (caught.value.message, caught.value.hint) == ("what happened", "what to do")
    assert (vars(caught.value)["request_id"], vars(caught.value)["details"]) == ("r1", details)


def test_a_redirect_is_not_followed(service: Scripted, client: Client) -> None:
    service.answers = [Response("", 307, {"Location": "http://127.0.0.1:9/elsewhere"})]
    with pytest.raises(BackendRejected, match="redirects are not followed"):
        client.get("x")
    assert len(service.seen) == 1


@pytest.mark.parametrize("answer", [Response("hello"), Response("<html>", 404), Response("{}", 500)])
def test_somebody_who_is_not_memstone_is_noticed(service: Scripted, client: Client, answer: Response) -> None:
    service.answers = [answer]
    with pytest.raises(MemstoneError) as caught:
        client.get("x")
    assert "html" not in str(caught.value)


def test_an_unknown_route_is_not_taken_for_an_unknown_memory(service: Scripted, client: Client) -> None:
    service.answers = [problem(404, {"code": "not_found", "detail": "Not Found", "hint": ""})]
    with pytest.raises(BackendRejected, match="does not know this route"):
        client.delete("x")


def test_a_service_that_repeats_the_key_does_not_get_it_shown(service: Scripted, client: Client) -> None:
    service.answers = [problem(400, {"code": "invalid_input", "detail": "Bearer secret-key is odd", "hint": ""})]
    with pytest.raises(MemstoneError) as caught:
        client.get("x")
    assert "secret-key" not in f"{caught.value} {vars(caught.value)}"


def test_who_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_FIRST_WAIT", 0.0)
    with Client("http://127.0.0.1:9", "key") as client, pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1"):
        client.add("tea", user_id="alice")


def test_a_service_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Client(address, "key", timeout=0.1, max_retries=0) as client, pytest.raises(BackendTimeout):
            client.get("x")
