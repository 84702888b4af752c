"""Embeddings from Voyage AI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from memstone.adapters.embed.remote import ADDRESS, Purpose, PurposeEmbedder, RemoteEmbedderConfig, rows_by_index
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.ports.io import HttpRequest, Io

KNOWN_DIMENSIONS: Final = {"voyage-3.5": 1024, "voyage-3.5-lite": 1024, "voyage-3-large": 1024, "voyage-code-3": 1024}


class VoyageEmbedderConfig(RemoteEmbedderConfig):
    """``input_type`` says what every text is for, where documents and questions should not be told apart."""

    model: str = Field(default="voyage-3.5", min_length=1)
    base_url: str = Field(default=VENDORS["voyage"].base_url, pattern=ADDRESS)
    batch_size: int = Field(default=128, ge=1, le=1000)
    input_type: Literal["document", "query", "none"] | None = None


class VoyageEmbedder(PurposeEmbedder):
    """``POST {base_url}/embeddings``; what is too long for the model is cut there."""

    Config: ClassVar = VoyageEmbedderConfig
    read_environment = staticmethod(environment_reader("voyage"))
    provider = "voyage"
    _config: VoyageEmbedderConfig

    def __init__(self, config: VoyageEmbedderConfig, io: Io) -> None:
        super().__init__(config, io, known=KNOWN_DIMENSIONS)

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:
        payload: dict[str, Any] = {"model": self.model, "input": list(texts), "truncation": True}
        kind = self._config.input_type or purpose
        if kind != "none":
            payload["input_type"] = kind
        if self._config.dimensions is not None:
            payload["output_dimension"] = self._config.dimensions
        return self._post_request("/embeddings", payload, self._bearer())

    def _parse_vectors(self, answer: Any) -> list[Any]:
        return rows_by_index(answer["data"])
