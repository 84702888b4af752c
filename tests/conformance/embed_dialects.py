"""The dialects of embedders: the fake of each, our provider, and the vendor's own client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from memstone.testing.wire import KEY, Handler
from memstone.testing.wire_embed import (
    EMBED_MODEL,
    FakeAzureEmbeddings,
    FakeCohereEmbeddings,
    FakeEmbeddings,
    FakeGeminiEmbeddings,
    FakeOllamaEmbeddings,
    FakeTeiEmbeddings,
    FakeVoyageEmbeddings,
)

Vectors = list[list[float]]
Official = Callable[[str, list[str], str, str], Vectors]
"""Address, texts, key and model to vectors."""


@dataclass(frozen=True, slots=True)
class EmbedDialect:
    """One dialect; ``path`` is what stands before its routes in an address."""

    provider: str
    fake: Callable[..., Handler]
    official: Official
    path: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    tells_queries: bool = False

    def config(self, url: str, **more: Any) -> dict[str, Any]:
        """The options of our provider for a server."""
        return {"base_url": f"{url}{self.path}", "api_key": KEY, "model": EMBED_MODEL, **self.options, **more}


def by_openai(url: str, texts: list[str], key: str, model: str) -> Vectors:
    openai: Any = import_module("openai")
    with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as client:
        created = client.embeddings.create(model=model, input=texts)
    return [row.embedding for row in sorted(created.data, key=lambda row: row.index)]


def by_azure(url: str, texts: list[str], key: str, model: str) -> Vectors:
    openai: Any = import_module("openai")
    options = {"azure_endpoint": url, "api_version": "2024-10-21", "azure_deployment": EMBED_MODEL}
    with openai.AzureOpenAI(**options, api_key=key, max_retries=0) as client:
        created = client.embeddings.create(model=model, input=texts)
    return [row.embedding for row in sorted(created.data, key=lambda row: row.index)]


def by_mistral(url: str, texts: list[str], key: str, model: str) -> Vectors:
    mistral: Any = import_module("mistralai.client")
    with mistral.Mistral(api_key=key, server_url=url.removesuffix("/v1")) as client:
        created = client.embeddings.create(model=model, inputs=texts)
    return [row.embedding for row in sorted(created.data, key=lambda row: row.index)]


def by_gemini(url: str, texts: list[str], key: str, model: str) -> Vectors:
    genai: Any = import_module("google.genai")
    with genai.Client(api_key=key, http_options=genai.types.HttpOptions(base_url=url)) as client:
        config = genai.types.EmbedContentConfig(task_type="RETRIEVAL_DOCUMENT")
        created = client.models.embed_content(model=model, contents=texts, config=config)
    return [row.values for row in created.embeddings]


def by_cohere(url: str, texts: list[str], key: str, model: str) -> Vectors:
    cohere: Any = import_module("cohere")
    with cohere.ClientV2(api_key=key, base_url=url) as client:
        options = {"input_type": "search_document", "embedding_types": ["float"]}
        created = client.embed(model=model, texts=texts, **options, request_options={"max_retries": 0})
    vectors: Vectors = created.embeddings.float_
    return vectors


def by_voyage(url: str, texts: list[str], key: str, model: str) -> Vectors:
    voyage: Any = import_module("voyageai")
    created = voyage.Client(api_key=key, base_url=url, max_retries=0).embed(texts, model=model, input_type="document")
    vectors: Vectors = created.embeddings
    return vectors


def by_huggingface(url: str, texts: list[str], key: str, model: str) -> Vectors:
    hub: Any = import_module("huggingface_hub")
    with hub.InferenceClient(model=f"{url}/embed", token=key) as client:
        return [client.feature_extraction(text, truncate=True)[0].tolist() for text in texts]


def by_ollama(url: str, texts: list[str], key: str, model: str) -> Vectors:
    ollama: Any = import_module("ollama")
    client = ollama.Client(host=url, headers={"authorization": f"Bearer {key}"})
    try:
        return [list(row) for row in client.embed(model=model, input=texts).embeddings]
    finally:
        client._client.close()  # it has no way of its own


def _mistral_fake(*replies: Any) -> Handler:
    return FakeEmbeddings(*replies, dimensions="output_dimension")


EMBED_DIALECTS = {
    one.provider + one.options.get("name", ""): one
    for one in (
        EmbedDialect("openai", FakeEmbeddings, by_openai, "/v1"),
        EmbedDialect("mistral", _mistral_fake, by_mistral, "/v1"),
        EmbedDialect("azure_openai", FakeAzureEmbeddings, by_azure),
        EmbedDialect("gemini", FakeGeminiEmbeddings, by_gemini, tells_queries=True),
        EmbedDialect("cohere", FakeCohereEmbeddings, by_cohere, tells_queries=True),
        EmbedDialect("voyage", FakeVoyageEmbeddings, by_voyage, "/v1", tells_queries=True),
        EmbedDialect(
            "tei", FakeTeiEmbeddings, by_huggingface, options={"query_prompt_name": "query"}, tells_queries=True
        ),
        EmbedDialect("ollama", FakeOllamaEmbeddings, by_ollama, options={"batch_size": 16}),
    )
}
