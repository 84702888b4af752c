"""Embedders over HTTP, against a loopback server that the vendors' own clients accept."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import numpy as np
import ollama
import openai
import pytest
from pydantic import ValidationError

from memstone.adapters.embed.ollama import OllamaEmbedder
from memstone.adapters.embed.openai import OpenAiEmbedder
from memstone.ports.io import Io
from memstone.ports.models import Embedder
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, WireReply, WireServer, fake_ollama, fake_openai, raw_vector

both = pytest.mark.parametrize("mode", MODES)

TEXTS = ["likes tea", "lives in Köln", "北京 is home"]


def unit_vector(text: str, dimension: int) -> Any:
    raw = np.array(raw_vector(text, dimension))
    return raw / np.linalg.norm(raw)


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


@pytest.mark.req("C-47")
@pytest.mark.parametrize("encoding", ["float", openai.omit])
def test_the_official_openai_client_accepts_the_fake(server: WireServer, encoding: Any) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        created = client.embeddings.create(
            model="text-embedding-3-small", input=TEXTS, dimensions=8, encoding_format=encoding
        )
        found = {row.index: row.embedding for row in created.data}
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="wrong").embeddings.create(model="m", input="x")
    assert found == {n: pytest.approx(raw_vector(text, 8)) for n, text in enumerate(TEXTS)}
    assert server.requests[0].json["encoding_format"] == ("base64" if encoding is openai.omit else "float")


@pytest.mark.req("C-47")
def test_the_official_ollama_client_accepts_the_fake(ollama_server: WireServer) -> None:
    with ollama.Client(host=ollama_server.url) as client:
        assert client.embeddings("nomic-embed-text", "likes tea").embedding == raw_vector("likes tea", 768)
        with pytest.raises(ollama.ResponseError):
            client.embeddings("unknown", "likes tea")


@both
@pytest.mark.req("C-47", "C-41")
def test_openai_is_asked_as_its_own_client_asks(mode: str, server: WireServer) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
        client.embeddings.create(model="text-embedding-3-small", input=TEXTS, dimensions=8, encoding_format="float")
    run(mode, embedding(server, TEXTS, dimensions=8))
    wire_request, ours = server.requests
    assert (ours.method, ours.path, ours.json) == (wire_request.method, wire_request.path, wire_request.json)
    assert ours.headers["authorization"] == wire_request.headers["authorization"] == f"Bearer {KEY}"


@both
@pytest.mark.req("C-47")
def test_ollama_is_asked_as_its_own_client_asks(mode: str, ollama_server: WireServer) -> None:
    with ollama.Client(host=ollama_server.url) as client:
        client.embeddings("nomic-embed-text", "likes tea")
    run(mode, lambda io: ollama_embedder(ollama_server, io).embed(["likes tea"]))
    wire_request, ours = ollama_server.requests
    assert (ours.method, ours.path) == (wire_request.method, wire_request.path)
    assert ours.json == {name: value for name, value in wire_request.json.items() if name in ("model", "prompt")}


@both
@pytest.mark.req("C-47")
def test_openai_vectors_come_in_the_order_of_the_texts_and_have_length_one(mode: str, server: WireServer) -> None:
    rows = run(mode, embedding(server, TEXTS, dimensions=16))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [unit_vector(text, 16) for text in TEXTS], atol=1e-6)


@both
@pytest.mark.req("C-47")
def test_ollama_vectors_come_in_the_order_of_the_texts_and_have_length_one(
    mode: str, ollama_server: WireServer
) -> None:
    texts = [f"fact {n}" for n in range(7)]
    rows = run(mode, lambda io: ollama_embedder(ollama_server, io).embed(texts))
    np.testing.assert_allclose(rows, [unit_vector(text, 768) for text in texts], atol=1e-6)
    assert sorted(request.json["prompt"] for request in ollama_server.requests) == texts


@both
def test_dimensions_are_sent_only_when_they_are_set(mode: str, server: WireServer) -> None:
    run(mode, embedding(server, ["a"], dimensions=8))
    run(mode, embedding(server, ["a"]))
    assert ["dimensions" in request.json for request in server.requests] == [True, False]


@both
def test_many_texts_go_in_batches(mode: str, server: WireServer) -> None:
    texts = [f"text {n}" for n in range(23)]
    rows = run(mode, embedding(server, texts, dimensions=4, batch_size=4))
    assert sorted(len(request.json["input"]) for request in server.requests) == [3, 4, 4, 4, 4, 4]
    np.testing.assert_allclose(rows, [unit_vector(text, 4) for text in texts], atol=1e-6)


@both
def test_texts_without_content_are_not_sent_and_give_zeros(mode: str, server: WireServer) -> None:
    rows = run(mode, embedding(server, ["", "tea", " \n"], dimensions=4))
    assert [request.json["input"] for request in server.requests] == [["tea"]]
    np.testing.assert_allclose(rows, [np.zeros(4), unit_vector("tea", 4), np.zeros(4)], atol=1e-6)


@both
def test_no_texts_need_no_request(mode: str, server: WireServer) -> None:
    assert run(mode, embedding(server, [], dimensions=4)).shape == (0, 4)
    assert run(mode, embedding(server, [" "])).shape == (1, 1536)
    assert server.requests == []


@both
@pytest.mark.req("C-47")
@pytest.mark.parametrize(
    "short", [answer([1.0, 0.0]), WireReply(json={"data": [{"index": 0, "embedding": [1, 0]}] * 2})]
)
def test_a_batch_with_a_wrong_count_is_embedded_one_by_one(mode: str, short: WireReply, server: WireServer) -> None:
    server.script(short)
    rows = run(mode, embedding(server, TEXTS[:2], dimensions=2))
    assert sorted(request.json["input"] for request in server.requests) == sorted([TEXTS[:2], TEXTS[:1], TEXTS[1:2]])
    np.testing.assert_allclose(rows, [unit_vector(text, 2) for text in TEXTS[:2]], atol=1e-6)


@both
@pytest.mark.parametrize(
    ("options", "dimension"),
    [
        ({}, 1536),
        ({"model": "text-embedding-3-large"}, 3072),
        ({"model": "text-embedding-ada-002"}, 1536),
        ({"model": "mistral-embed"}, 1024),
        ({"model": "text-embedding-3-large", "dimensions": 256}, 256),
    ],
)
@pytest.mark.req("C-41")
def test_known_dimensions_need_no_request(mode: str, options: Any, dimension: int, server: WireServer) -> None:
    assert run(mode, lambda io: openai_embedder(server, io, **options).dimension()) == dimension
    assert server.requests == []


@both
def test_unknown_dimensions_are_asked_for_once(mode: str, server: WireServer, ollama_server: WireServer) -> None:
    async def scenario(io: Io) -> list[int]:
        remote, local = openai_embedder(server, io, model="my-own"), ollama_embedder(ollama_server, io)
        return [await embedder.dimension() for embedder in (remote, remote, local, local)]

    assert run(mode, scenario) == [1536, 1536, 768, 768]
    assert (len(server.requests), len(ollama_server.requests)) == (1, 1)


@both
def test_an_embedder_says_who_it_is_and_where_text_goes(mode: str, ollama_server: WireServer) -> None:
    async def scenario(io: Io) -> list[tuple[str, str, str]]:
        default = OpenAiEmbedder.Config()
        made: list[Embedder] = [OpenAiEmbedder(default, io), OllamaEmbedder(OllamaEmbedder.Config(), io)]
        return [(embedder.provider, embedder.model, embedder.destination) for embedder in made]

    assert run(mode, scenario) == [
        ("openai", "text-embedding-3-small", "api.openai.com"),
        ("ollama", "nomic-embed-text", "localhost"),
    ]


@pytest.mark.parametrize("options", [{"modle": "x"}, {"batch_size": 0}, {"base_url": "localhost:1"}, {"timeout": 0}])
def test_a_wrong_setting_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenAiEmbedder.Config.model_validate(options)


@pytest.mark.req("R-38")
def test_a_config_does_not_show_its_key() -> None:
    config = OpenAiEmbedder.Config.model_validate({"api_key": KEY})
    assert KEY not in repr(config) + str(config.model_dump()) + config.model_dump_json()
