"""The store and the engine: their state, and what was done to all of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memstone.server.schemas.answers.parts import CacheState, Degraded, Failure, described_field, optional_field
from memstone.server.schemas.base import Answer


class EnginePart(Answer):
    """One part of the engine, and why it is not there."""

    available: bool
    reason: str | None


class KeywordPart(EnginePart):
    """The search by words."""

    backend: str


class ModelPart(EnginePart):
    """A model, if there is one."""

    model: str | None


class EmbeddingPart(ModelPart):
    """What turns text into vectors."""

    provider: str | None
    dim: int | None
    destination: str | None = optional_field("where texts are sent")
    cache: CacheState = optional_field("for the tenant that runs the service")
    error: str = optional_field("in a word, what is wrong with it")


class VectorPart(EnginePart):
    """Where the vectors are."""

    backend: str = described_field("`local` or `external`")
    pending: int = described_field("how many memories wait for a vector")
    signature: str = optional_field("the vectors of the embedder that is configured")
    active_signature: str | None = optional_field("the vectors that are searched; null before there are any")
    needs_reindex: bool = optional_field()


class EngineMade(Answer):
    """What the engine is made of."""

    keyword: KeywordPart
    embedding: EmbeddingPart
    vector_store: VectorPart
    rerank: ModelPart
    llm: ModelPart


class Verified(Answer):
    """Whether a memory can be stored, found and deleted; it was, and nothing of it is left."""

    working: bool
    latency_ms: float
    error: str | None


class Probe(Answer):
    """Whether something could be stored and found again."""

    ok: bool
    failed_at: str | None = described_field("the step that failed")
    error: Failure | None


class Health(Answer):
    """Whether memory works, and if not, where it fails; the counts are there when it could be looked at."""

    level: Literal["healthy", "degraded", "unavailable"]
    reasons: list[str]
    probe: Probe
    memories: int = optional_field()
    fulltext: int = optional_field("memories that are found by words")
    vectors: int = optional_field()
    pending: int = optional_field("how much waits to be learned from")
    dead: int = optional_field("how much was given up")
    without_vector: int = optional_field()
    late: bool = optional_field("whether something has waited too long")
    waiting_for_model: int = optional_field("how many sessions wait for a model that could not be asked")
    jobs: bool = optional_field("whether work in the background was ever done")


class VectorSpace(Answer):
    """An index of vectors."""

    signature: str
    state: str = described_field("`active` or `building`")
    dim: int
    quant: str | None = described_field("how its vectors are made smaller")


class Formation(Answer):
    """How memory is formed, and how often this process has kept something for later."""

    mode: str
    attempts: int = optional_field("as all that follow, for the tenant that runs the service")
    insert_successes: int = optional_field()
    insert_failures: int = optional_field()
    early_returns_empty_message: int = optional_field()
    early_returns_disabled: int = optional_field()
    last_attempt_at: str | None = optional_field()
    last_success_at: str | None = optional_field()
    last_error: str | None = optional_field()
    worker: bool = optional_field("whether a worker is at work in this process")


class Stats(Answer):
    """Counts of everything."""

    memories: int
    turns: int
    events: int
    fulltext: int = described_field("memories that are found by words")
    vectors: int
    pending: int = described_field("how much waits to be learned from")
    dead: int = described_field("how much was given up")
    indexes: list[VectorSpace]
    embedding_cache: CacheState = optional_field("for the tenant that runs the service")
    formation: Formation


class StoreState(Answer):
    """The state of a store; which of the rest is there depends on what it is."""

    location: str
    schema_: int = Field(alias="schema", description="the version of its schema")
    latest_schema: int
    bytes: int
    sqlite: str = optional_field("of SQLite: its version")
    journal: str = optional_field("of SQLite")
    integrity: list[str] = optional_field("of SQLite: `ok`, or what is damaged")
    foreign_keys: int = optional_field("of SQLite: how many rows refer to what is not there")
    postgresql: str = optional_field("of PostgreSQL: its version")
    pgvector: str | None = optional_field("of PostgreSQL: the version of the extension")
    role: str = optional_field("of PostgreSQL: who connects")
    acts_as: str = optional_field("of PostgreSQL: as whom it works")
    walled: bool = optional_field("of PostgreSQL: whether the database itself keeps tenants apart")


class Reindexed(Answer):
    """Vectors that were made."""

    signature: str = described_field("the vectors of the embedder that is configured")
    indexed: int
    failed: int
    dropped: int = described_field("vectors of other embedders that are gone")


class Refreshed(Reindexed):
    """Vectors that were made, and those that were made anew."""

    refreshed: int


class Redacted(Answer):
    """What was masked, or would be."""

    dry_run: bool
    scanned: int
    found: int
    by_kind: dict[str, int]
    by_table: dict[str, int]
    degraded: list[Degraded] = optional_field()


class ConsolidatedBesides(Answer):
    """What a pass has changed; nothing of it is there when there was none."""

    status: str = described_field("`completed`, `already_running` or `disabled`")
    job_id: str = optional_field("by this it can be taken back")
    dry_run: Literal[True] = optional_field()
    merged: int = optional_field()
    promoted: int = optional_field()
    evicted: int = optional_field()
    expired: int = optional_field()
    pruned: int = optional_field()
    summarized: int = optional_field()
    narratives: int = optional_field("texts about users that were made anew")
    purged: dict[str, int] = optional_field("rows that were kept long enough, by table")


class Shortened(Answer):
    """What was shortened to its first sentences, or would be."""

    originalCount: int = described_field("how many memories there were")  # noqa: N815 - the name on the wire
    summarizedCount: int  # noqa: N815 - the name on the wire
    tokensSaved: int  # noqa: N815 - the name on the wire


class ShortenedOne(Shortened):
    """The same, of one scope."""

    job_id: str = optional_field("by this it can be taken back")


class ShortenedAll(Shortened):
    """The same, of everybody."""

    job_ids: list[str] = described_field("by these it can be taken back")
    dry_run: bool
