"""What embedders over HTTP do when the other side fails, refuses or answers nonsense."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from memstone.adapters.embed.ollama import OllamaEmbedder
from memstone.adapters.embed.openai import OpenAiEmbedder
from memstone.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    EmbeddingError,
    RateLimited,
)
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, WireReply, WireServer, fake_ollama, fake_openai

both = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(fake_openai) as running:
        yield running


@pytest.fixture
def ollama_server() -> Iterator[WireServer]:
    with WireServer(fake_ollama) as running:
        yield running


Scenario = Callable[[Io], Coroutine[Any, Any, Any]]


def openai_embedder(server: WireServer, io: Io, **options: Any) -> OpenAiEmbedder:
    options = {"base_url": f"{server.url}/v1", "api_key": KEY, **options}
    return OpenAiEmbedder(OpenAiEmbedder.Config.model_validate(options), io)


def ollama_embedder(server: WireServer, io: Io, **options: Any) -> OllamaEmbedder:
    return OllamaEmbedder(OllamaEmbedder.Config.model_validate({"base_url": server.url, **options}), io)


def embedding(server: WireServer, texts: list[str], **options: Any) -> Scenario:
    return lambda io: openai_embedder(server, io, **options).embed(texts)


def answer(*vectors: list[float]) -> WireReply:
    return WireReply(json={"data": [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]})


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (WireReply(429, json={"error": {"message": "slow down"}}), RateLimited),
        (WireReply(500), BackendUnavailable),
        (WireReply(503, body=b"<html>busy</html>"), BackendUnavailable),
        (WireReply(504), BackendTimeout),
        (WireReply(hang_up=True), BackendUnavailable),
    ],
)
def test_a_passing_failure_is_tried_three_times_more(
    mode: str, reply: WireReply, error: type[Exception], server: WireServer
) -> None:
    naps: list[float] = []
    server.script(*[reply] * 3)
    assert run(mode, embedding(server, ["a"], dimensions=4), naps=naps).shape == (1, 4)
    server.script(*[reply] * 4)
    with pytest.raises(error):
        run(mode, embedding(server, ["a"]), naps=naps)
    assert [int(nap) for nap in naps] == [1, 2, 4] * 2
    assert len(server.requests) == 8


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (503, BackendUnavailable)])
def test_a_service_is_left_alone_as_long_as_it_asks_but_nobody_waits_for_an_hour(
    mode: str, status: int, error: type[Exception], server: WireServer
) -> None:
    naps: list[float] = []
    server.script(WireReply(status, headers={"Retry-After": "7"}))
    run(mode, embedding(server, ["a"], dimensions=4), naps=naps)
    assert [int(nap) for nap in naps] in ([7], [8])
    server.script(WireReply(status, headers={"Retry-After": "3600"}))
    with pytest.raises(error):
        run(mode, embedding(server, ["a"], dimensions=4), naps=naps)
    assert (len(naps), len(server.requests)) == (1, 3)


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize("status", [400, 404, 413, 422, 307])
def test_a_wrong_request_rises_at_once_with_the_servers_words(mode: str, status: int, server: WireServer) -> None:
    naps: list[float] = []
    words = "the model does not exist"
    server.script(WireReply(status, json={"error": {"message": words}}, headers={"location": server.url}))
    with pytest.raises(EmbeddingError) as caught:
        run(mode, embedding(server, ["a"]), naps=naps)
    assert (words in str(caught.value)) is (status != 307)
    assert (naps, len(server.requests)) == ([], 1)


@both
@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.req("R-38")
def test_a_refused_key_is_an_authentication_failure_that_does_not_show_it(
    mode: str, status: int, server: WireServer
) -> None:
    server.script(WireReply(status, json={"error": {"message": "Wrong key sk-te***4711", "code": "invalid_api_key"}}))
    with pytest.raises(AuthenticationFailed, match="invalid_api_key") as caught:
        run(mode, embedding(server, ["a"]))
    assert "sk-te" not in str(caught.value)


@both
@pytest.mark.req("R-38")
def test_the_servers_words_are_cut_and_never_hold_the_key(mode: str, server: WireServer) -> None:
    server.script(WireReply(400, body=f"bad\r\nrequest \x1b[31m Bearer {KEY} {'x' * 1000}".encode()))
    with pytest.raises(EmbeddingError) as caught:
        run(mode, embedding(server, ["a"]))
    assert KEY not in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 350


@both
def test_a_key_with_a_line_break_at_its_end_is_sent_without_it(mode: str, server: WireServer) -> None:
    assert run(mode, embedding(server, ["a"], api_key=f"{KEY}\n")).shape == (1, 1536)


@both
def test_a_key_that_cannot_be_sent_is_a_config_error(mode: str, server: WireServer) -> None:
    with pytest.raises(ConfigError):
        run(mode, embedding(server, ["a"], api_key="sk-\x00"))
    assert server.requests == []


@both
def test_without_a_key_no_authorization_is_sent(mode: str, server: WireServer) -> None:
    server.script(answer([1.0, 2.0]))
    run(mode, embedding(server, ["a"], api_key=None, dimensions=2))
    assert "authorization" not in server.requests[0].headers


@both
@pytest.mark.parametrize(
    "reply",
    [
        answer([1.0, float("nan")]),
        answer([1.0, float("inf")]),
        answer([1.0, 2.0, 3.0]),
        answer([]),
        WireReply(json={"data": [{"index": 0, "embedding": ["a", "b"]}]}),
        WireReply(json={"data": [{"index": 0, "embedding": [[1.0, 2.0]]}]}),
        WireReply(json={"data": [{"index": 0}]}),
        WireReply(json={"data": []}),
        WireReply(json=["no data"]),
        WireReply(body=b"\xff not json"),
    ],
)
def test_an_answer_that_is_no_vector_is_an_embedding_error(mode: str, reply: WireReply, server: WireServer) -> None:
    server.script(reply)
    with pytest.raises(EmbeddingError):
        run(mode, embedding(server, ["a"], dimensions=2))


@both
def test_a_model_that_ollama_lacks_is_an_error_that_says_how_to_get_it(mode: str, ollama_server: WireServer) -> None:
    with pytest.raises(EmbeddingError, match="ollama pull unknown"):
        run(mode, lambda io: ollama_embedder(ollama_server, io, model="unknown").embed(["a"]))


@both
@pytest.mark.parametrize("reply", [WireReply(json={}), WireReply(body=b"oops"), WireReply(json={"embedding": []})])
def test_an_ollama_answer_that_is_no_vector_is_an_embedding_error(
    mode: str, reply: WireReply, ollama_server: WireServer
) -> None:
    ollama_server.script(reply)
    with pytest.raises(EmbeddingError):
        run(mode, lambda io: ollama_embedder(ollama_server, io).embed(["a"]))
