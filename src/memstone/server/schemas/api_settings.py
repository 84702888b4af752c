"""Requests and answers of ``/api/settings``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from memstone.server.schemas.api import ApiAnswer, ApiBody, EmbeddingModel, Words, camel_config
from memstone.server.schemas.base import AnswerModel, Json


class MemorySettings(ApiAnswer):
    """The settings that apply. ``retentionDays`` is null if nothing is hidden because of its age."""

    enabled: bool
    max_tokens: int
    retention_days: int | None
    strategy: str
    skills_enabled: bool
    embedding_source: str
    embedding_provider_model: str | None
    transformers_enabled: bool
    static_enabled: bool
    rerank_enabled: bool
    rerank_provider_model: str | None
    vector_store: str
    primary_backend: str
    fallback_backends: list[str]
    backend_configs: dict[str, Json]
    restart_required: bool


class MemorySettingsBody(ApiBody):
    """The settings to change. Numbers are rounded and moved into their range; backends apply from the next start."""

    model_config = camel_config({"maxTokens": 1_500, "strategy": "hybrid"})

    enabled: StrictBool = True
    max_tokens: StrictInt | StrictFloat = 2_000
    retention_days: StrictInt | StrictFloat = 30
    strategy: Literal["recent", "semantic", "hybrid"] = "hybrid"
    skills_enabled: StrictBool = False
    embedding_source: Literal["auto", "remote", "static", "transformers"] = "auto"
    embedding_provider_model: str | None = None
    transformers_enabled: StrictBool = True
    static_enabled: StrictBool = False
    rerank_enabled: StrictBool = False
    rerank_provider_model: str | None = None
    vector_store: Literal["auto", "sqlite-vec", "qdrant"] = "auto"
    primary_backend: str = "ledger"
    fallback_backends: list[str] = Field(default_factory=list)
    backend_configs: dict[str, Json] = Field(default_factory=dict)


class QdrantSettings(ApiAnswer):
    """Where Qdrant is, and the last four characters of its key."""

    enabled: bool
    host: str
    port: int
    api_key: str
    has_api_key: bool
    collection: str
    embedding_model: str
    status: Literal["active", "restart_required", "not_configured"]
    reason: str | None
    cleared: list[str] = Field(default_factory=list)


class QdrantBody(ApiBody):
    """The settings to change. An empty ``apiKey`` removes the key; so does another host or port without a new key."""

    model_config = camel_config({"enabled": True, "host": "https://xyz.cloud.qdrant.io", "apiKey": "secret"})

    enabled: StrictBool = False
    host: str = Field(default="", max_length=500)
    port: StrictInt = Field(default=6_333, ge=1, le=65_535)
    api_key: str = Field(default="", max_length=4_096)
    collection: str = "omniroute_memory"
    embedding_model: str = "openai/text-embedding-3-small"


class QdrantHealth(ApiAnswer):
    """Whether Qdrant answers, and how fast."""

    ok: bool
    status: Literal["ok", "error", "not_configured"]
    latency_ms: float | None = None
    error: str | None = None


class QdrantSearchBody(ApiBody):
    """A search to test the store."""

    model_config = camel_config({"query": "green tea", "topK": 5})

    query: Annotated[Words, Field(max_length=10_000)]
    top_k: int = Field(default=5, ge=1, le=50)


class QdrantHit(AnswerModel):
    """An entry that was found, with the field names of the library."""

    id: str
    api_key_id: str
    session_id: str
    type: str
    key: str
    content: str
    metadata: Json
    created_at: str
    updated_at: str
    expires_at: str | None
    score: float


class QdrantHits(ApiAnswer):
    """The results of a test search."""

    ok: bool
    status: Literal["ok", "not_configured"]
    reason: str | None = None
    results: list[QdrantHit]


class QdrantCleanupBody(ApiBody):
    """With ``dryRun``, the store stays as it is, and the answer says how many points would be deleted.

    With ``retentionDays``, points of older memories are deleted, too; the memories stay. Moved into 1 to 3,650.
    """

    model_config = camel_config({"dryRun": True, "retentionDays": 90})

    dry_run: StrictBool = False
    retention_days: StrictInt | None = None


class QdrantCleanup(ApiAnswer):
    """How many points were deleted that the ledger does not know, or whose memories have expired or are too old."""

    ok: bool
    status: Literal["ok", "error", "not_configured", "dry_run"]
    reason: str | None = None
    deleted_count: int = 0
    latency_ms: float = 0.0
    error: str | None = None


class EmbeddingModels(ApiAnswer):
    """Models whose vectors can be stored in Qdrant."""

    models: list[EmbeddingModel]
