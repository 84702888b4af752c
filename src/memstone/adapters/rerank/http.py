"""A reranker behind HTTP, in one of two dialects.

``cohere`` is spoken by Cohere, Jina, vLLM, llama.cpp and many gateways; ``tei`` by Text Embeddings Inference.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.retry import with_retry
from memstone.errors import BackendError, BackendRejected
from memstone.ports.io import HttpRequest, Io

MAX_TIMEOUT_SECONDS: Final = 600
# As many as Cohere advises, and as many as Text Embeddings Inference takes unless it is told otherwise.
_DOCUMENTS_A_REQUEST: Final = {"cohere": 1000, "tei": 32}
_SCORE: Final = {"cohere": "relevance_score", "tei": "score"}


class HttpRerankerConfig(BaseModel):
    """Requests go to ``{base_url}/rerank``: ``https://api.cohere.com/v2``, ``https://api.jina.ai/v1``, or your own.

    Somebody waits for a search, so the time-out is short and nothing is tried again unless ``retries`` says so.
    ``batch_size`` is how many documents go in one request; without it, as many as is usual in the dialect.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str = Field(pattern=r"^https?://[^/]")
    dialect: Literal["cohere", "tei"] = "cohere"
    model: str | None = Field(default=None, min_length=1)
    api_key: SecretStr | None = None
    batch_size: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=5.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=0, ge=0, le=10)

    @model_validator(mode="after")
    def _a_model_where_one_is_asked_for(self) -> Self:
        if self.dialect == "cohere" and self.model is None:
            raise ValueError("the cohere dialect needs a model in every request: set model")
        return self


class HttpReranker:
    """``POST {base_url}/rerank``. Documents without content are not sent (providers refuse them) and not ranked."""

    Config: ClassVar = HttpRerankerConfig

    def __init__(self, config: HttpRerankerConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._url = f"{config.base_url.rstrip('/')}/rerank"
        self._batch_size = config.batch_size or _DOCUMENTS_A_REQUEST[config.dialect]

    @property
    def model(self) -> str:
        return self._config.model or self._config.dialect

    @property
    def destination(self) -> str:
        return host_of(self._url)

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        sent = [place for place, document in enumerate(documents) if document.strip()]
        if not sent or top < 1:
            return []
        batches = [sent[start : start + self._batch_size] for start in range(0, len(sent), self._batch_size)]
        answers = await self._io.gather(
            *(self._scores(query, [documents[place] for place in batch], top) for batch in batches)
        )
        scored = [
            (batch[place], score) for batch, found in zip(batches, answers, strict=True) for place, score in found
        ]
        scored.sort(key=lambda item: (-item[1], item[0]))
        return scored[:top]

    async def _scores(self, query: str, documents: list[str], top: int) -> list[tuple[int, float]]:
        request = HttpRequest(
            "POST", self._url, self._payload(query, documents, top), self._headers(), timeout=self._config.timeout
        )

        async def attempt() -> bytes:
            response = await self._io.http(request)
            if not is_success(response.status):
                raise error_from_response(request, response, self._rejection_error)
            return response.body

        body = await with_retry(self._io, attempt, retries=self._config.retries)
        try:
            return _parse_ranks(json.loads(body), _SCORE[self._config.dialect], len(documents))
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            problem = f"{self.model} at {self.destination} did not return a score per document"
            raise BackendError(problem, kind="reranker", name=self.destination) from error

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        if self._config.dialect == "tei":  # which answers for all; without truncate a long text is an error
            return {"query": query, "texts": documents, "truncate": True}
        count = min(top, len(documents))
        return {"model": self._config.model, "query": query, "documents": documents, "top_n": count}

    def _headers(self) -> dict[str, str]:
        key = self._config.api_key.get_secret_value().strip() if self._config.api_key else ""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _rejection_error(self, message: str) -> BackendRejected:
        return BackendRejected(message, kind="reranker", name=self.destination)


def _parse_ranks(answer: Any, score: str, count: int) -> list[tuple[int, float]]:
    """(place, score) of each row; ``ValueError`` or its like for anything else."""
    rows = answer["results"] if isinstance(answer, dict) else answer
    ranks = {operator.index(row["index"]): float(row[score]) for row in rows}
    if len(ranks) != len(rows) or not all(0 <= place < count for place in ranks):
        raise ValueError("an index is repeated or out of range")
    if not all(map(math.isfinite, ranks.values())):
        raise ValueError("a score is not finite")
    return list(ranks.items())
