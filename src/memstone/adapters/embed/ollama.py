"""Embeddings from an Ollama server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.embed.remote import MAX_TIMEOUT_SECONDS, RemoteEmbedder
from memstone.errors import EmbeddingError
from memstone.ports.io import HttpRequest, Io


class OllamaEmbedderConfig(BaseModel):
    """The time-out is long because the first request loads the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="nomic-embed-text", min_length=1)
    base_url: str = Field(default="http://localhost:11434", pattern=r"^https?://[^/]")
    dimensions: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)


class OllamaEmbedder(RemoteEmbedder):
    """``POST {base_url}/api/embeddings``, one request a text.

    The length of the vectors is asked of the model, since a tag (``:0.6b``) may change it;
    ``dimensions`` says it beforehand and is never sent.
    """

    Config: ClassVar = OllamaEmbedderConfig
    provider = "ollama"
    _batch_size = 1

    def __init__(self, config: OllamaEmbedderConfig, io: Io) -> None:
        super().__init__(io, model=config.model, base_url=config.base_url, dimension=config.dimensions)
        self._timeout = config.timeout
        self._retries = config.retries

    async def _fetch(self, texts: Sequence[str]) -> list[Any]:
        payload = {"model": self.model, "prompt": texts[0]}
        body = await self._post(HttpRequest("POST", f"{self._base_url}/api/embeddings", payload, timeout=self._timeout))
        try:
            return [json.loads(body)["embedding"]]
        except (KeyError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{self._source} did not return an embedding") from error

    def _rejection_error(self, message: str) -> EmbeddingError:
        return EmbeddingError(message, hint=f"if the model is missing there: ollama pull {self.model}")
