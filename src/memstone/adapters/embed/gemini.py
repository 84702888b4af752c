"""Embeddings from Google's Gemini, by ``batchEmbedContents``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.embed.remote import ADDRESS, Purpose, PurposeEmbedder, RemoteEmbedderConfig
from memstone.adapters.google_api import API_VERSION, model_path, read_google_response
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.ports.io import HttpRequest, HttpResponse, Io

KNOWN_DIMENSIONS: Final = {"gemini-embedding-001": 3072}
_TASKS: Final = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiEmbedderConfig(RemoteEmbedderConfig):
    """``task_type`` says what every text is for, where documents and questions should not be told apart."""

    model: str = Field(default="gemini-embedding-001", min_length=1)
    base_url: str = Field(default=VENDORS["gemini"].base_url, pattern=ADDRESS)
    api_version: str = Field(default=API_VERSION, pattern=r"^v\w+$")
    batch_size: int = Field(default=100, ge=1, le=100)
    task_type: str | None = Field(default=None, min_length=1)


class GeminiEmbedder(PurposeEmbedder):
    """``POST {base_url}/{api_version}/models/{model}:batchEmbedContents``."""

    Config: ClassVar = GeminiEmbedderConfig
    read_environment = staticmethod(environment_reader("gemini"))
    provider = "gemini"
    _config: GeminiEmbedderConfig

    def __init__(self, config: GeminiEmbedderConfig, io: Io) -> None:
        super().__init__(config, io, known=KNOWN_DIMENSIONS)

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:
        path = model_path(self.model)
        asked: dict[str, Any] = {"model": path, "taskType": self._config.task_type or _TASKS[purpose]}
        if self._config.dimensions is not None:
            asked["outputDimensionality"] = self._config.dimensions
        requests = [{**asked, "content": {"parts": [{"text": text}]}} for text in texts]
        headers = {"x-goog-api-key": self._config.key} if self._config.key else {}
        return self._post_request(
            f"/{self._config.api_version}/{path}:batchEmbedContents", {"requests": requests}, headers
        )

    def _parse_vectors(self, answer: Any) -> list[Any]:
        return [row["values"] for row in answer["embeddings"]]

    def _read_response(self, response: HttpResponse) -> HttpResponse:
        return read_google_response(response)
