"""Embeddings from an Ollama server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from memstone.adapters.embed.remote import (
    ADDRESS,
    MAX_TIMEOUT_SECONDS,
    Purpose,
    RemoteEmbedder,
    RemoteEmbedderConfig,
)
from memstone.adapters.ollama_server import read_ollama_environment
from memstone.adapters.vendors import VENDORS
from memstone.errors import EmbeddingError
from memstone.ports.io import HttpRequest


class OllamaEmbedderConfig(RemoteEmbedderConfig):
    """The time-out is long because the first request loads the model.

    With more than one text a request, they go to the newer ``/api/embed``.
    """

    model: str = Field(default="nomic-embed-text", min_length=1)
    base_url: str = Field(default=VENDORS["ollama"].base_url, pattern=ADDRESS)
    batch_size: int = Field(default=1, ge=1, le=2048)
    timeout: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_SECONDS)


class OllamaEmbedder(RemoteEmbedder):
    """``POST {base_url}/api/embeddings``, one request a text, or ``/api/embed`` with several.

    The length of the vectors is asked of the model, since a tag (``:0.6b``) may change it;
    ``dimensions`` says it beforehand and is never sent.
    """

    Config: ClassVar = OllamaEmbedderConfig
    read_environment = staticmethod(read_ollama_environment)
    provider = "ollama"

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:  # noqa: ARG002 - the same for both
        if self._config.batch_size > 1:
            payload: dict[str, Any] = {"model": self.model, "input": list(texts)}
            return self._post_request("/api/embed", payload, self._bearer())
        return self._post_request("/api/embeddings", {"model": self.model, "prompt": texts[0]}, self._bearer())

    def _parse_vectors(self, answer: Any) -> list[Any]:
        vectors: list[Any] = answer["embeddings"] if self._config.batch_size > 1 else [answer["embedding"]]
        return vectors

    def _rejection_error(self, message: str) -> EmbeddingError:
        return EmbeddingError(message, hint=f"if the model is missing there: ollama pull {self.model}")
