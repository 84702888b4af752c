"""Embeddings from OpenAI, or from any server that speaks its dialect (Mistral, vLLM, llama.cpp, ...)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.embed.remote import MAX_TIMEOUT_SECONDS, RemoteEmbedder
from memstone.adapters.io.http import host_of
from memstone.adapters.openai_account import KEYS, read_environment
from memstone.errors import AuthenticationFailed, EmbeddingError
from memstone.ports.io import HttpRequest, Io

KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "mistral-embed": 1024,
}
NEEDS_KEY: Final = KEYS.keys()
"""Who answers nobody without a key; a server of your own may."""


class OpenAiEmbedderConfig(BaseModel):
    """``dimensions`` is sent only when it is set: not every model and server can shorten its vectors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="text-embedding-3-small", min_length=1)
    api_key: SecretStr | None = None
    base_url: str = Field(default="https://api.openai.com/v1", pattern=r"^https?://[^/]")
    dimensions: int | None = Field(default=None, ge=1)
    batch_size: int = Field(default=128, ge=1, le=2048)
    timeout: float = Field(default=30.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)

    @property
    def key(self) -> str:
        """The key as it is sent; '' where there is none."""
        return self.api_key.get_secret_value().strip() if self.api_key else ""

    @property
    def lacks_key(self) -> bool:
        """Whether nothing can be asked like this, because the service wants a key."""
        return not self.key and host_of(self.base_url) in NEEDS_KEY


class OpenAiEmbedder(RemoteEmbedder):
    """``POST {base_url}/embeddings`` with many texts at once."""

    Config: ClassVar = OpenAiEmbedderConfig
    read_environment = staticmethod(read_environment)
    provider = "openai"

    def __init__(self, config: OpenAiEmbedderConfig, io: Io) -> None:
        known = config.dimensions or KNOWN_DIMENSIONS.get(config.model)
        super().__init__(io, model=config.model, base_url=config.base_url, dimension=known)
        self._config = config
        self._batch_size = config.batch_size
        self._retries = config.retries

    @property
    def lacks_key(self) -> bool:
        """Whether the service wants a key and none is configured."""
        return self._config.lacks_key

    async def _fetch(self, texts: Sequence[str]) -> list[Any]:
        if self.lacks_key:  # said here, not there: no text is sent in vain
            raise AuthenticationFailed(
                f"{self.destination} needs a key", hint="set the api_key of this embedder, or OPENAI_API_KEY"
            )
        body = await self._post(self._request(texts))
        # Parsed as a unit of work: a full batch is megabytes of JSON, too long for an event loop.
        vectors = await self._io.run(lambda: _parse_embeddings(body, len(texts)))
        if vectors is not None:
            return vectors
        if len(texts) > 1:
            return await self._in_batches(texts, 1)
        raise EmbeddingError(f"{self._source} did not return one embedding per text")

    def _request(self, texts: Sequence[str]) -> HttpRequest:
        payload: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._config.dimensions is not None:
            payload["dimensions"] = self._config.dimensions
        return HttpRequest(
            "POST", f"{self._base_url}/embeddings", payload, self._headers(), timeout=self._config.timeout
        )

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._config.key}"} if self._config.key else {}


def _parse_embeddings(body: bytes, count: int) -> list[Any] | None:
    """Return the embeddings in the order of the texts; None when there is not exactly one for each."""
    try:
        rows = json.loads(body)["data"]
        by_index = {int(row.get("index", place)): row["embedding"] for place, row in enumerate(rows)}
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    if len(rows) != count or sorted(by_index) != list(range(count)):
        return None
    return [by_index[place] for place in range(count)]
