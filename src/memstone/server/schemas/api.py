"""Requests and answers of ``/api/memory``, in the names of the gateway's own clients."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool
from pydantic.alias_generators import to_camel

from memstone.engine.access.admission import key_of
from memstone.literals import CallerKind, SearchScope
from memstone.server.schemas.base import AnswerModel, Id, Json, RequestBody

if TYPE_CHECKING:
    from memstone.results import MemoryItem


def _require_text(text: str) -> str:
    """Return a text that says something; raise if it is blank."""
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Words = Annotated[str, Field(min_length=1), AfterValidator(_require_text)]


def camel_config(example: Json | None = None, *, extra: Literal["forbid", "allow"] = "forbid") -> ConfigDict:
    """Return the form of a model in camelCase, with an example."""
    more: Any = {"examples": [example]} if example else None
    return ConfigDict(extra=extra, alias_generator=to_camel, validate_by_name=True, json_schema_extra=more)


class ApiBody(RequestBody):
    """A body in camelCase; unknown fields are an error."""

    model_config: ClassVar[ConfigDict] = camel_config()


class ApiAnswer(AnswerModel):
    """An answer in camelCase."""

    model_config: ClassVar[ConfigDict] = camel_config(extra="allow")


class EntryBody(ApiBody):
    """An entry under a key; the same key again changes the entry."""

    model_config = camel_config(
        {"key": "user:city", "content": "Lives in Oslo", "type": "factual", "sessionId": "chat-7"}
    )

    content: Words
    key: Words
    type: CallerKind = "factual"
    session_id: Id = ""
    api_key_id: Id = ""
    user_id: Id | None = None
    metadata: Json = Field(default_factory=dict)
    expires_at: datetime | date | None = None


class EntryChangeBody(ApiBody):
    """The fields to change; at least one."""

    model_config = camel_config({"content": "Lives in Bergen"})

    content: Words = ""
    key: Words = ""
    type: CallerKind = "factual"
    metadata: Json = Field(default_factory=dict)
    expires_at: datetime | date | None = None


class Entry(ApiAnswer):
    """One entry. ``apiKeyId`` is its owner: the id of a key, or of a user."""

    id: str
    api_key_id: str
    session_id: str
    type: str
    key: str
    content: str
    metadata: Json
    created_at: str
    updated_at: str
    expires_at: str | None = None


class EntryCacheStats(ApiAnswer):
    """How often the vector of a text was cached, and how often it had to be computed."""

    hits: int
    misses: int


class EntryStats(ApiAnswer):
    """Counts over all entries that match, on all pages; ``hitRate`` is null until an answer was recorded."""

    total: int
    by_type: dict[str, int]
    tokens_used: int
    hit_rate: float | None
    cache_stats: EntryCacheStats


class EntryPage(ApiAnswer):
    """A page of entries, newest first."""

    data: list[Entry]
    total: int
    page: int
    limit: int
    total_pages: int
    stats: EntryStats


class EntryAddition(ApiAnswer):
    """``id`` is the whole entry, as this interface has always had it; ``memoryId`` is its id alone."""

    success: Literal[True] = True
    id: Entry
    memory_id: str


class EntryAnswer(ApiAnswer):
    """One entry."""

    memory: Entry


class EntryChange(ApiAnswer):
    """The changed entry."""

    success: Literal[True] = True
    memory: Entry


class SuccessFlag(ApiAnswer):
    """The request was carried out."""

    success: Literal[True] = True


class EntryNotFound(BaseModel):
    """There is no such entry."""

    error: Literal["Not found"] = "Not found"


class EntrySelfTest(ApiAnswer):
    """Whether an entry can be created, listed and deleted; the test leaves nothing behind."""

    working: bool
    latency_ms: float
    error: str | None = None


class EntryPreviewBody(ApiBody):
    """A query, and how much of the result would be shown."""

    model_config = camel_config({"query": "Where does she live?", "maxTokens": 500, "limit": 5})

    query: Words
    strategy: Literal["recent", "exact", "semantic", "hybrid"] = "hybrid"
    max_tokens: int | None = Field(default=None, ge=0, le=16_000)
    limit: int = Field(default=20, ge=1, le=100)
    api_key_id: Id | None = None
    user_id: Id | None = None
    session_id: Id | None = None
    scope: SearchScope | None = None


class EntryPreviewHit(Entry):
    """A hit, and why it was found."""

    score: float
    tier: str
    tokens: int
    vec_score: float | None
    fts_score: float | None
    injected: bool


class EntryDegradation(AnswerModel):
    """A part of a search that could not be used, and why."""

    step: str | None = None
    channel: str | None = None
    code: str
    message: str
    hint: str | None = None
    retryable: bool | None = None
    reason: str | None = None


class EntryResolution(ApiAnswer):
    """How the search was carried out."""

    strategy: str
    embedding: str | None
    vectors: bool
    rerank: bool
    fallback_reason: str | None
    degraded: list[EntryDegradation]


class EntryPreviewTotals(ApiAnswer):
    """How much was found, and how much of it fits."""

    found: int
    shown: int
    tokens: int
    max_tokens: int


class EntryPreview(ApiAnswer):
    """What would be shown, best first. Nothing counts as used."""

    items: list[EntryPreviewHit]
    block: str
    resolution: EntryResolution
    totals: EntryPreviewTotals


class EngineStatusPart(ApiAnswer):
    """One part of the engine."""

    available: bool
    reason: str | None


class KeywordStatus(EngineStatusPart):
    """Search by words."""

    backend: str


class ModelStatus(EngineStatusPart):
    """A model, if one is configured."""

    model: str | None


class EmbeddingCacheStatus(ApiAnswer):
    """How often the vector of a text was cached."""

    size: int
    max_size: int
    hits: int
    misses: int


class EmbeddingStatus(ModelStatus):
    """The embedder; ``destination`` is where texts are sent, ``error`` what is wrong, in one word."""

    provider: str | None
    dim: int | None
    destination: str | None = None
    cache: EmbeddingCacheStatus | None = None
    error: str | None = None


class VectorStoreStatus(EngineStatusPart):
    """Where vectors are, how many memories wait for one, and whether they are those of the current embedder."""

    backend: str
    pending: int
    signature: str | None = None
    active_signature: str | None = None
    needs_reindex: bool | None = None
    lag: int | None = None


class GraphStoreStatus(EngineStatusPart):
    """Where entities and relations are, and how many changes a graph database has not seen yet."""

    backend: str
    pending: int


class EngineStatus(ApiAnswer):
    """The parts of the engine, and their state."""

    keyword: KeywordStatus
    embedding: EmbeddingStatus
    vector_store: VectorStoreStatus
    graph_store: GraphStoreStatus
    qdrant: EngineStatusPart
    rerank: ModelStatus
    llm: ModelStatus


class EmbeddingModel(AnswerModel):
    """A known embedding model."""

    id: str
    provider: str
    model: str
    dimension: int


class EmbeddingProvider(ApiAnswer):
    """A provider of embeddings."""

    id: str
    available: bool
    active: bool
    local: bool
    reason: str | None
    models: list[EmbeddingModel]


class EmbeddingProviders(ApiAnswer):
    """All providers of embeddings."""

    providers: list[EmbeddingProvider]


class EntrySummaryBody(ApiBody):
    """Which old entries to shorten: those of one owner, or of everybody."""

    model_config = camel_config({"olderThanDays": 60, "dryRun": True})

    older_than_days: int = Field(default=30, ge=1, le=365)
    api_key_id: Id | None = None
    dry_run: StrictBool = False


class EntrySummary(ApiAnswer):
    """What was shortened, or would be shortened."""

    original_count: int
    summarized_count: int
    tokens_saved: int
    dry_run: bool
    job_ids: list[str]


class ReindexBody(ApiBody):
    """With ``force``, existing vectors are rebuilt as well."""

    model_config = camel_config({"force": False})

    force: StrictBool = False


class ReindexState(ApiAnswer):
    """Whether reindexing runs in the background now, and how many memories wait for a vector."""

    started: bool
    pending: int


def entry_from_memory(item: MemoryItem) -> Json:
    """Return a memory in the names of this interface."""
    return {
        "id": item["id"],
        "api_key_id": key_of(item["user_id"]),
        "session_id": item["run_id"] or "",
        "type": item["kind"],
        "key": item["key"] or "",
        "content": item["memory"],
        "metadata": item["metadata"],
        "created_at": item["created_at"],
        "updated_at": item["updated_at"],
        "expires_at": item["expires_at"],
    }
