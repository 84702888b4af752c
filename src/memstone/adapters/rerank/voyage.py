"""Reranking by Voyage AI."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from memstone.adapters.rerank.remote import ADDRESS, RemoteReranker, RemoteRerankerConfig, read_ranks
from memstone.adapters.vendors import VENDORS, environment_reader


class VoyageRerankerConfig(RemoteRerankerConfig):
    """The key is read from the environment where it is not set."""

    base_url: str = Field(default=VENDORS["voyage"].base_url, pattern=ADDRESS)
    model: str = Field(default="rerank-2.5", min_length=1)


class VoyageReranker(RemoteReranker):
    """``POST {base_url}/rerank``."""

    Config: ClassVar = VoyageRerankerConfig
    read_environment = staticmethod(environment_reader("voyage"))

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        asked = super()._payload(query, documents, top)
        return {"top_k": asked.pop("top_n"), "truncation": True, **asked}

    def _parse_ranks(self, answer: Any, count: int) -> list[tuple[int, float]]:
        return read_ranks(answer["data"], "relevance_score", count)
