"""Embeddings from OpenAI, or from any server that speaks its dialect (Mistral, vLLM, llama.cpp, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.embed.remote import ADDRESS, Purpose, RemoteEmbedder, RemoteEmbedderConfig, rows_by_index
from memstone.adapters.vendors import VENDORS, Vendor, environment_reader
from memstone.ports.io import HttpRequest, Io

KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "mistral-embed": 1024,
}


class OpenAiEmbedderConfig(RemoteEmbedderConfig):
    """``dimensions`` is sent only when it is set: not every model and server can shorten its vectors."""

    model: str = Field(default=VENDORS["openai"].embedding_model, min_length=1)
    base_url: str = Field(default=VENDORS["openai"].base_url, pattern=ADDRESS)


class OpenAiEmbedder(RemoteEmbedder):
    """``POST {base_url}/embeddings`` with many texts at once."""

    Config: ClassVar[type[OpenAiEmbedderConfig]] = OpenAiEmbedderConfig
    vendor: ClassVar[Vendor] = VENDORS["openai"]
    read_environment = staticmethod(environment_reader("openai"))
    provider = "openai"

    def __init__(self, config: RemoteEmbedderConfig, io: Io) -> None:
        super().__init__(config, io, known=KNOWN_DIMENSIONS)

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:  # noqa: ARG002 - the same for both
        return self._post_request("/embeddings", self._payload(texts), self._bearer())

    def _payload(self, texts: Sequence[str]) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._config.dimensions is not None:
            payload[self.vendor.dimensions_name] = self._config.dimensions
        return payload

    def _parse_vectors(self, answer: Any) -> list[Any]:
        return rows_by_index(answer["data"])
