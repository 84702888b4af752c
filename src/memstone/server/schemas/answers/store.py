"""The store and the engine: their state, and what was done to all of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memstone.server.schemas.answers.parts import CacheState, Degraded, Failure, means, sometimes
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
    destination: str | None = sometimes("where texts are sent")
    cache: CacheState = sometimes("for the tenant that runs the service")
    error: str = sometimes("in a word, what is wrong with it")


class VectorPart(EnginePart):
    """Where the vectors are."""

    backend: str = means("`local` or `external`")
    pending: int = means("how many memories wait for a vector")
    signature: str = sometimes("the vectors of the embedder that is configured")
    active_signature: str | None = sometimes("the vectors that are searched; null before there are any")
    needs_reindex: bool = sometimes()


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
    failed_at: str | None = means("the step that failed")
    error: Failure | None


class Health(Answer):
    """Whether memory works, and if not, where it fails; the counts are there when it could be looked at."""

    level: Literal["healthy", "degraded", "unavailable"]
    reasons: list[str]
    probe: Probe
    memories: int = sometimes()
    fulltext: int = sometimes("memories that are found by words")
    vectors: int = sometimes()
    pending: int = sometimes("how much waits to be learned from")
    dead: int = sometimes("how much was given up")
    without_vector: int = sometimes()
    late: bool = sometimes("whether something has waited too long")
    waiting_for_model: int = sometimes("how many sessions wait for a model that could not be asked")
    jobs: bool = sometimes("whether work in the background was ever done")


class VectorSpace(Answer):
    """An index of vectors."""

    signature: str
    state: str = means("`active` or `building`")
    dim: int
    quant: str | None = means("how its vectors are made smaller")


class Formation(Answer):
    """How memory is formed, and how often this process has kept something for later."""

    mode: str
    attempts: int = sometimes("as all that follow, for the tenant that runs the service")
    insert_successes: int = sometimes()
    insert_failures: int = sometimes()
    early_returns_empty_message: int = sometimes()
    early_returns_disabled: int = sometimes()
    last_attempt_at: str | None = sometimes()
    last_success_at: str | None = sometimes()
    last_error: str | None = sometimes()
    worker: bool = sometimes("whether a worker is at work in this process")


class Stats(Answer):
    """Counts of everything."""

    memories: int
    turns: int
    events: int
    fulltext: int = means("memories that are found by words")
    vectors: int
    pending: int = means("how much waits to be learned from")
    dead: int = means("how much was given up")
    indexes: list[VectorSpace]
    embedding_cache: CacheState = sometimes("for the tenant that runs the service")
    formation: Formation


class StoreState(Answer):
    """The state of a store; which of the rest is there depends on what it is."""

    location: str
    schema_: int = Field(alias="schema", description="the version of its schema")
    latest_schema: int
    bytes: int
    sqlite: str = sometimes("of SQLite: its version")
    journal: str = sometimes("of SQLite")
    integrity: list[str] = sometimes("of SQLite: `ok`, or what is damaged")
    foreign_keys: int = sometimes("of SQLite: how many rows refer to what is not there")
    postgresql: str = sometimes("of PostgreSQL: its version")
    pgvector: str | None = sometimes("of PostgreSQL: the version of the extension")
    role: str = sometimes("of PostgreSQL: who connects")
    acts_as: str = sometimes("of PostgreSQL: as whom it works")
    walled: bool = sometimes("of PostgreSQL: whether the database itself keeps tenants apart")


class Reindexed(Answer):
    """Vectors that were made."""

    signature: str = means("the vectors of the embedder that is configured")
    indexed: int
    failed: int
    dropped: int = means("vectors of other embedders that are gone")


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
    degraded: list[Degraded] = sometimes()


class ConsolidatedBesides(Answer):
    """What a pass has changed; nothing of it is there when there was none."""

    status: str = means("`completed`, `already_running` or `disabled`")
    job_id: str = sometimes("by this it can be taken back")
    dry_run: Literal[True] = sometimes()
    merged: int = sometimes()
    promoted: int = sometimes()
    evicted: int = sometimes()
    expired: int = sometimes()
    pruned: int = sometimes()
    summarized: int = sometimes()
    narratives: int = sometimes("texts about users that were made anew")
    purged: dict[str, int] = sometimes("rows that were kept long enough, by table")


class Shortened(Answer):
    """What was shortened to its first sentences, or would be."""

    originalCount: int = means("how many memories there were")  # noqa: N815 - the name on the wire
    summarizedCount: int  # noqa: N815 - the name on the wire
    tokensSaved: int  # noqa: N815 - the name on the wire


class ShortenedOne(Shortened):
    """The same, of one scope."""

    job_id: str = sometimes("by this it can be taken back")


class ShortenedAll(Shortened):
    """The same, of everybody."""

    job_ids: list[str] = means("by these it can be taken back")
    dry_run: bool
