"""Reranking by Cohere."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from memstone.adapters.rerank.remote import ADDRESS, RemoteReranker, RemoteRerankerConfig
from memstone.adapters.vendors import VENDORS, environment_reader


class CohereRerankerConfig(RemoteRerankerConfig):
    """The key is read from the environment where it is not set."""

    base_url: str = Field(default=VENDORS["cohere"].base_url, pattern=ADDRESS)
    model: str = Field(default="rerank-v3.5", min_length=1)


class CohereReranker(RemoteReranker):
    """``POST {base_url}/v2/rerank``."""

    Config: ClassVar = CohereRerankerConfig
    read_environment = staticmethod(environment_reader("cohere"))
    _path = "/v2/rerank"
