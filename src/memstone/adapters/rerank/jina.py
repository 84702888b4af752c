"""Reranking by Jina."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from memstone.adapters.rerank.remote import ADDRESS, RemoteReranker, RemoteRerankerConfig
from memstone.adapters.vendors import VENDORS, environment_reader


class JinaRerankerConfig(RemoteRerankerConfig):
    """The key is read from the environment where it is not set."""

    base_url: str = Field(default=VENDORS["jina"].base_url, pattern=ADDRESS)
    model: str = Field(default="jina-reranker-v2-base-multilingual", min_length=1)


class JinaReranker(RemoteReranker):
    """``POST {base_url}/rerank``."""

    Config: ClassVar = JinaRerankerConfig
    read_environment = staticmethod(environment_reader("jina"))

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        # We have the documents: they need not come back.
        return {**super()._payload(query, documents, top), "return_documents": False}
