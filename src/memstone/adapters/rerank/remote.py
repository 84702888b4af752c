"""Common parts of remote rerankers: batches, retries, and checks of their answers."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.retry import with_retry
from memstone.adapters.vendors import key_variables, needs_key
from memstone.errors import AuthenticationFailed, BackendError, BackendRejected
from memstone.ports.io import HttpRequest, Io

MAX_TIMEOUT_SECONDS: Final = 600
ADDRESS: Final = r"^https?://[^/]"


class RemoteRerankerConfig(BaseModel):
    """Somebody waits for a search, so the time-out is short and nothing is tried again unless ``retries`` says so."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str = Field(pattern=ADDRESS)
    model: str | None = Field(default=None, min_length=1)
    api_key: SecretStr | None = None
    batch_size: int | None = Field(default=None, ge=1)
    max_concurrent: int = Field(default=4, ge=1, le=100)
    timeout: float = Field(default=5.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=0, ge=0, le=10)

    @property
    def key(self) -> str:
        """Return the key as it is sent; '' where there is none."""
        return self.api_key.get_secret_value().strip() if self.api_key else ""


class RemoteReranker:
    """Documents without content are not sent (providers refuse them) and not ranked.

    A subclass says what a request looks like and where the scores are in an answer.
    """

    _config: RemoteRerankerConfig
    _path: str = "/rerank"
    _documents_a_request: int = 1000

    def __init__(self, config: RemoteRerankerConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._url = f"{config.base_url.rstrip('/')}{self._path}"
        self._batch_size = config.batch_size or self._documents_a_request

    @property
    def model(self) -> str:
        return self._config.model or "reranker"

    @property
    def destination(self) -> str:
        return host_of(self._url)

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        sent = [place for place, document in enumerate(documents) if document.strip()]
        if not sent or top < 1:
            return []
        batches = [sent[start : start + self._batch_size] for start in range(0, len(sent), self._batch_size)]
        scored: list[tuple[int, float]] = []
        for start in range(0, len(batches), self._config.max_concurrent):
            wave = batches[start : start + self._config.max_concurrent]
            calls = (self._scores(query, [documents[place] for place in batch], top) for batch in wave)
            for batch, found in zip(wave, await self._io.gather(*calls), strict=True):
                scored += [(batch[place], score) for place, score in found]
        scored.sort(key=lambda item: (-item[1], item[0]))
        return scored[:top]

    async def _scores(self, query: str, documents: list[str], top: int) -> list[tuple[int, float]]:
        if needs_key(self._url) and not self._config.key:  # said here, not there: no text is sent in vain
            hint = f"set the api_key of this reranker, or {key_variables(self._url)[0]}"
            raise AuthenticationFailed(f"{self.destination} needs a key", hint=hint)
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
            return self._parse_ranks(json.loads(body), len(documents))
        except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
            problem = f"{self.model} at {self.destination} did not return a score per document"
            raise BackendError(problem, kind="reranker", name=self.destination, hint="check base_url") from error

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._config.key}"} if self._config.key else {}

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        """Return what is sent for a batch; this is Cohere's form, which many have taken over."""
        return {"model": self._config.model, "query": query, "documents": documents, "top_n": min(top, len(documents))}

    def _parse_ranks(self, answer: Any, count: int) -> list[tuple[int, float]]:
        """Return (place, score) of each row; ``ValueError`` or its like for anything else."""
        return read_ranks(answer["results"], "relevance_score", count)

    def _rejection_error(self, message: str) -> BackendRejected:
        return BackendRejected(message, kind="reranker", name=self.destination)


def read_ranks(rows: Any, score: str, count: int) -> list[tuple[int, float]]:
    """Return (place, score) of rows with an index and a score by that name."""
    ranks = {operator.index(row["index"]): float(row[score]) for row in rows}
    if len(ranks) != len(rows) or not all(0 <= place < count for place in ranks):
        raise ValueError("an index is repeated or out of range")
    if not all(map(math.isfinite, ranks.values())):
        raise ValueError("a score is not finite")
    return list(ranks.items())
