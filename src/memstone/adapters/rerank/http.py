"""A reranker behind HTTP, in one of two dialects.

``cohere`` is spoken by Cohere, Jina, vLLM, llama.cpp and many gateways; ``tei`` by Text Embeddings Inference.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, Self

from pydantic import model_validator

from memstone.adapters.rerank.remote import RemoteReranker, RemoteRerankerConfig, read_ranks
from memstone.ports.io import Io

# As many as Cohere advises, and as many as Text Embeddings Inference takes unless it is told otherwise.
_DOCUMENTS_A_REQUEST: Final = {"cohere": 1000, "tei": 32}


class HttpRerankerConfig(RemoteRerankerConfig):
    """Requests go to ``{base_url}/rerank``: a server of your own, or a service that has no name here.

    ``batch_size`` is how many documents go in one request; without it, as many as is usual in the dialect.
    """

    dialect: Literal["cohere", "tei"] = "cohere"

    @model_validator(mode="after")
    def _a_model_where_one_is_asked_for(self) -> Self:
        if self.dialect == "cohere" and self.model is None:
            raise ValueError("the cohere dialect needs a model in every request: set model")
        return self


class HttpReranker(RemoteReranker):
    """``POST {base_url}/rerank``."""

    Config: ClassVar = HttpRerankerConfig
    _config: HttpRerankerConfig

    def __init__(self, config: HttpRerankerConfig, io: Io) -> None:
        super().__init__(config, io)
        self._batch_size = config.batch_size or _DOCUMENTS_A_REQUEST[config.dialect]

    @property
    def model(self) -> str:
        return self._config.model or self._config.dialect

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        if self._config.dialect == "tei":  # which answers for all; without truncate a long text is an error
            return {"query": query, "texts": documents, "truncate": True}
        return super()._payload(query, documents, top)

    def _parse_ranks(self, answer: Any, count: int) -> list[tuple[int, float]]:
        if self._config.dialect == "tei":
            return read_ranks(answer, "score", count)
        return super()._parse_ranks(answer, count)
