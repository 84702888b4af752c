"""Reranking by ZeroEntropy."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from memstone.adapters.rerank.remote import ADDRESS, RemoteReranker, RemoteRerankerConfig
from memstone.adapters.vendors import VENDORS, environment_reader


class ZeroEntropyRerankerConfig(RemoteRerankerConfig):
    """The key is read from the environment where it is not set.

    Without ``latency``, the service answers slowly (ten seconds and more) when the limit of fast answers is reached.
    """

    base_url: str = Field(default=VENDORS["zeroentropy"].base_url, pattern=ADDRESS)
    model: str = Field(default="zerank-2", min_length=1)
    latency: Literal["fast", "slow"] | None = "fast"


class ZeroEntropyReranker(RemoteReranker):
    """``POST {base_url}/models/rerank``."""

    Config: ClassVar = ZeroEntropyRerankerConfig
    read_environment = staticmethod(environment_reader("zeroentropy"))
    _path = "/models/rerank"
    _config: ZeroEntropyRerankerConfig

    def _payload(self, query: str, documents: list[str], top: int) -> dict[str, Any]:
        asked = super()._payload(query, documents, top)
        return asked if self._config.latency is None else {**asked, "latency": self._config.latency}
