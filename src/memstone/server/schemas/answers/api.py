"""What the answers of ``/api`` and of the vector service hold besides."""

from __future__ import annotations

from memstone.server.schemas.answers.parts import Degraded, described_field, optional_field
from memstone.server.schemas.api import ApiAnswer, Part
from memstone.server.schemas.base import Answer, Json


class CacheSizes(ApiAnswer):
    """How often the vector of a text was at hand."""

    size: int
    max_size: int
    hits: int
    misses: int


class KeywordShown(Part):
    """The search by words."""

    backend: str


class ModelShown(Part):
    """A model, if there is one."""

    model: str | None


class EmbeddingShown(ModelShown):
    """What turns text into vectors."""

    provider: str | None
    dim: int | None
    destination: str | None = optional_field("where texts are sent")
    cache: CacheSizes = optional_field()
    error: str = optional_field("in a word, what is wrong with it")


class VectorsShown(Part):
    """Where the vectors are."""

    backend: str = described_field("`local` or `external`")
    pending: int = described_field("how many memories wait for a vector")
    signature: str = optional_field("the vectors of the embedder that is configured")
    active_signature: str | None = optional_field("the vectors that are searched; null before there are any")
    needs_reindex: bool = optional_field()


class EngineBesides(ApiAnswer):
    """What the parts of the engine tell of themselves."""

    keyword: KeywordShown
    embedding: EmbeddingShown
    vector_store: VectorsShown
    rerank: ModelShown
    llm: ModelShown


class EmbeddingModel(Answer):
    """A model that is known by name."""

    id: str
    provider: str
    model: str
    dimension: int


class ModelsBesides(ApiAnswer):
    """The models there are."""

    models: list[EmbeddingModel]


class SummarizedBesides(ApiAnswer):
    """By what it can be taken back."""

    job_ids: list[str]


class ResolutionBesides(ApiAnswer):
    """What could not be used."""

    degraded: list[Degraded]


class EntryHit(Answer):
    """An entry that was found, in the names of the library."""

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


class QdrantHitsBesides(ApiAnswer):
    """What it finds."""

    results: list[EntryHit]


class ModelListed(Answer):
    """A model of an upstream, in the upstream's own words."""

    id: str = described_field("the name by which it is asked for here")


class ModelsListed(Answer):
    """The models of every upstream."""

    data: list[ModelListed]


class MatchBesides(Answer):
    """What was asked for besides."""

    values: list[float] = optional_field()
    metadata: Json = optional_field()


class CountedBesides(Answer):
    """What the answer about several vectors has at times."""

    warnings: list[str] = optional_field()
    status: str = optional_field("`paused` or `disabled`, where nothing was stored")
    reason: str = optional_field()


class UnlinkedBesides(Answer):
    """From whom it was taken."""

    user_id: str | None
