"""Embeddings from Cohere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.embed.remote import ADDRESS, Purpose, PurposeEmbedder, RemoteEmbedderConfig
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.ports.io import HttpRequest, Io

KNOWN_DIMENSIONS: Final = {
    "embed-v4.0": 1536,
    "embed-english-v3.0": 1024,
    "embed-multilingual-v3.0": 1024,
}
_TYPES: Final = {"document": "search_document", "query": "search_query"}


class CohereEmbedderConfig(RemoteEmbedderConfig):
    """``input_type`` says what every text is for, where documents and questions should not be told apart."""

    model: str = Field(default="embed-v4.0", min_length=1)
    base_url: str = Field(default=VENDORS["cohere"].base_url, pattern=ADDRESS)
    batch_size: int = Field(default=96, ge=1, le=96)
    input_type: str | None = Field(default=None, min_length=1)


class CohereEmbedder(PurposeEmbedder):
    """``POST {base_url}/v2/embed``."""

    Config: ClassVar = CohereEmbedderConfig
    read_environment = staticmethod(environment_reader("cohere"))
    provider = "cohere"
    _config: CohereEmbedderConfig

    def __init__(self, config: CohereEmbedderConfig, io: Io) -> None:
        super().__init__(config, io, known=KNOWN_DIMENSIONS)

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:
        payload: dict[str, Any] = {
            "model": self.model,
            "texts": list(texts),
            "input_type": self._config.input_type or _TYPES[purpose],
            "embedding_types": ["float"],
        }
        if self._config.dimensions is not None:
            payload["output_dimension"] = self._config.dimensions
        return self._post_request("/v2/embed", payload, self._bearer())

    def _parse_vectors(self, answer: Any) -> list[Any]:
        vectors: list[Any] = answer["embeddings"]["float"]
        return vectors
