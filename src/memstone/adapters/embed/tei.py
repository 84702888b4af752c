"""Embeddings from Text Embeddings Inference: a server of your own, or an endpoint of Hugging Face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from memstone.adapters.embed.remote import ADDRESS, Purpose, PurposeEmbedder, RemoteEmbedderConfig
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.ports.io import HttpRequest


class TeiEmbedderConfig(RemoteEmbedderConfig):
    """A server has one model. ``model`` is its name here, which tells its vectors apart from those of others.

    ``prompt_name`` and ``query_prompt_name`` are prompts of the model that stand before texts and before questions.
    """

    base_url: str = Field(default=VENDORS["tei"].base_url, pattern=ADDRESS)
    batch_size: int = Field(default=32, ge=1, le=2048)
    prompt_name: str | None = Field(default=None, min_length=1)
    query_prompt_name: str | None = Field(default=None, min_length=1)


class TeiEmbedder(PurposeEmbedder):
    """``POST {base_url}/embed``; what is too long for the model is cut there."""

    Config: ClassVar = TeiEmbedderConfig
    read_environment = staticmethod(environment_reader("tei"))
    provider = "tei"
    _config: TeiEmbedderConfig

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:
        payload: dict[str, Any] = {"inputs": list(texts), "truncate": True}
        prompt = self._config.prompt_name
        if purpose == "query" and self._config.query_prompt_name:
            prompt = self._config.query_prompt_name
        if prompt is not None:
            payload["prompt_name"] = prompt
        if self._config.dimensions is not None:
            payload["dimensions"] = self._config.dimensions
        return self._post_request("/embed", payload, self._bearer())

    def _parse_vectors(self, answer: Any) -> list[Any]:
        vectors: list[Any] = answer
        return vectors
