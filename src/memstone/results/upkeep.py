"""Answers about the state of the store and the engine, and about upkeep."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import EncryptionState, JobStatus
from memstone.results.common import CacheStats, Degradation, ErrorInfo
from memstone.results.sessions import AgentItem, EpisodeItem, FactItem, IdentityResult

# --- the state of the engine and the store ----------------------------------------------------------------------------


class EnginePart(TypedDict):
    """A part of the engine: whether it is available, and if not, why."""

    available: bool
    reason: str | None


class KeywordPart(EnginePart):
    """Search by words."""

    backend: str


class ModelPart(EnginePart):
    """A model, if one is configured."""

    model: str | None


class EmbeddingPart(ModelPart):
    """The embedder."""

    provider: str | None
    dim: int | None
    destination: NotRequired[str | None]
    """Where texts are sent."""
    cache: NotRequired[CacheStats]
    """For the tenant that runs the service."""
    error: NotRequired[str | None]
    """What is wrong with it, in a word."""


class VectorPart(EnginePart):
    """The vector store."""

    backend: Literal["local", "external"]
    pending: int
    """How many memories wait for a vector."""
    signature: NotRequired[str]
    """The signature of the embedder that is configured."""
    active_signature: NotRequired[str | None]
    """The signature of the vectors that are searched; None before there are any."""
    needs_reindex: NotRequired[bool]
    lag: NotRequired[int]
    """How many changes a separate vector store does not have yet; 0 without one."""


class GraphPart(EnginePart):
    """Where entities and relations are: in the ledger alone (``local``), or also in a graph database."""

    backend: Literal["local", "external"]
    pending: int
    """How many changes the graph database has not seen yet."""


class GraphSize(TypedDict):
    """How much a graph contains."""

    entities: int
    mentions: int
    relations: int


class GraphReport(TypedDict):
    """The graph database compared with the ledger."""

    backend: Literal["local", "external"]
    agrees: bool
    pending: int
    """How many changes the graph database has not seen yet, at most 256."""
    ledger: GraphSize
    mirror: GraphSize | None
    """What the graph database holds; None if there is none."""
    repaired: Literal["filled", "rebuilt"] | None
    """What was done: missing changes were filled in, or everything was built again."""
    named: int
    """How many memories were read for names that had not been before."""


class EngineInfo(TypedDict):
    """The parts of the engine, and their state."""

    keyword: KeywordPart
    embedding: EmbeddingPart
    vector_store: VectorPart
    graph_store: GraphPart
    rerank: ModelPart
    llm: ModelPart


class SelfTest(TypedDict):
    """Whether a memory can be stored, listed and deleted; the test leaves nothing behind."""

    working: bool
    latency_ms: float
    error: str | None


class HealthProbe(TypedDict):
    """Whether a test memory could be stored and found."""

    ok: bool
    failed_at: str | None
    """The step that failed."""
    error: ErrorInfo | None


class HealthFigures(TypedDict, total=False):
    """Counts of a store, if it can be read."""

    memories: int
    fulltext: int
    """Memories that are found by words."""
    vectors: int
    pending: int
    """How many signals wait to be learned from."""
    dead: int
    """How many signals were given up."""
    without_vector: int
    late: bool
    """Whether something has waited too long."""
    waiting_for_model: int
    """How many sessions wait for a model that could not be asked."""
    jobs: bool
    """Whether background work was ever done."""


class HealthReport(HealthFigures):
    """Whether memory works, and if not, at which step it fails."""

    level: Literal["healthy", "degraded", "unavailable"]
    reasons: list[str]
    probe: HealthProbe


class VectorSpace(TypedDict):
    """A vector space: its signature, state and dimension."""

    signature: str
    state: str
    """``active`` or ``building``."""
    dim: int
    quant: str | None
    """How its vectors are made smaller."""


class LearningCounts(TypedDict, total=False):
    """Attempts of this process to store something in the background; for the tenant that runs the service."""

    attempts: int
    insert_successes: int
    insert_failures: int
    early_returns_empty_message: int
    early_returns_disabled: int
    last_attempt_at: str | None
    last_success_at: str | None
    last_error: str | None
    worker: bool
    """Whether a worker runs in this process."""


class LearningStats(LearningCounts):
    """Counts of background learning."""

    mode: str


class RowCounts(TypedDict):
    """How many rows there are."""

    memories: int
    turns: int
    events: int
    fulltext: int
    """Memories that are found by words."""
    vectors: int
    pending: int
    """How many signals wait to be learned from."""
    dead: int
    """How many signals were given up."""


class StoreStats(RowCounts):
    """Counts of everything in the store."""

    indexes: list[VectorSpace]
    embedding_cache: NotRequired[CacheStats]
    """For the tenant that runs the service."""
    formation: LearningStats


class EncryptionStatus(TypedDict):
    """What is encrypted on disk; only the first two fields are present if ``store.encryption_key`` is not set."""

    state: EncryptionState
    """Of the database: ``server`` leaves it to PostgreSQL, ``memory`` is a store that is never on disk."""
    files: bool
    """Whether Memstone encrypts the backups and exports that it writes."""
    cipher: NotRequired[str]
    key_place: NotRequired[str]
    """Where the keys are."""
    key: NotRequired[str | None]
    """The name of the key in use; it tells nothing about the key itself."""
    former_keys: NotRequired[int]
    """How many earlier keys are still in that place."""
    rotation_due: NotRequired[bool]
    """Whether the store has another key than the first in that place."""


class StoreCheck(TypedDict):
    """The state of a store; fields after the first four depend on the database."""

    location: str
    schema: int
    """The version of its schema."""
    latest_schema: int
    bytes: int
    encryption: EncryptionStatus
    sqlite: NotRequired[str]
    """The version of SQLite."""
    journal: NotRequired[str]
    integrity: NotRequired[list[str]]
    """``ok``, or what is damaged in the SQLite file."""
    foreign_keys: NotRequired[int]
    """How many rows of the SQLite file refer to one that is missing."""
    postgresql: NotRequired[str]
    """The version of PostgreSQL."""
    pgvector: NotRequired[str | None]
    role: NotRequired[str]
    """Who connects to PostgreSQL."""
    acts_as: NotRequired[str]
    walled: NotRequired[bool]
    """Whether PostgreSQL itself keeps tenants apart."""


class QueueStats(TypedDict):
    """How much waits to be learned from, and how much was given up."""

    pending: int
    dead: int


class JobStats(TypedDict):
    """Count, success rate and duration of background jobs."""

    calls: int
    success_rate: float | None
    average_ms: float | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    """What the tokens cost by ``llm.prices``; None without a price for any of the models."""


class WorkStats(JobStats):
    """Statistics of all background work, and by task."""

    by_task: dict[str, JobStats]


class LastConsolidation(TypedDict):
    """Time and outcome of the last consolidation."""

    at: str
    status: JobStatus


class DashboardLayers(TypedDict, total=False):
    """The layers of a named user, agent or run."""

    identity: IdentityResult | None
    """None where no user is named."""
    facts: list[FactItem]
    episodes: list[EpisodeItem]


class DashboardResult(DashboardLayers):
    """An overview for a management page: the layers of a scope, or the work of the whole tenant."""

    counts: dict[str, int]
    """Memories by layer."""
    last_consolidation: LastConsolidation | None
    processing: NotRequired[WorkStats]
    waiting: NotRequired[QueueStats]
    agents: NotRequired[list[AgentItem]]


class MetricCounts(TypedDict):
    """The counts behind the rates."""

    added: int
    replaced: int
    ended: int
    redundant: int
    """How many were known when they were said again."""
    injected: int
    """How many were shown to a model."""
    judged: int
    """How many were shown with an answer that was recorded."""
    used: int
    """How many of these the answer used."""
    useful: int
    useless: int


class MetricsReport(TypedDict):
    """Metrics of a user, or of everybody; a rate is None while there is no data."""

    user_id: str | None
    """None for everybody."""
    memory_total_count: int
    memory_replacement_rate: float | None
    memory_dedup_rate: float | None
    retrieval_hit_rate: float | None
    counts: MetricCounts


# --- upkeep -----------------------------------------------------------------------------------------------------------


class ReindexResult(TypedDict):
    """How many vectors were built."""

    signature: str
    """The signature of the embedder that is configured."""
    indexed: int
    failed: int
    dropped: int
    """Vectors of other embedders that were removed."""
    sent: int
    """Changes that were sent to a separate vector store; 0 without one."""


class VectorStoreCheck(TypedDict):
    """How an external vector store differs from the ledger."""

    points: int
    """Points in the store, before anything was repaired."""
    expected: int
    """Points that there should be: one for each owner of each active memory that has a vector."""
    missing: int
    different: int
    unknown: int
    """Points of memories that are not active, or of none."""
    repaired: bool


class RefreshResult(ReindexResult):
    """How many vectors were built, and how many of them rebuilt."""

    refreshed: int


class RedactResult(TypedDict):
    """How many secrets were masked, or would be masked."""

    dry_run: bool
    scanned: int
    found: int
    by_kind: dict[str, int]
    by_table: dict[str, int]
    degraded: NotRequired[list[Degradation]]


class ConsolidateCounts(TypedDict, total=False):
    """What a consolidation changed."""

    merged: int
    promoted: int
    evicted: int
    expired: int
    pruned: int
    summarized: int
    narratives: int
    """Texts about users that were made again."""
    purged: dict[str, int]
    """Rows that were old enough to be removed, by table."""


class ConsolidateResult(ConsolidateCounts):
    """The outcome of a consolidation, and what it changed."""

    status: Literal["completed", "already_running", "disabled"]
    job_id: NotRequired[str]
    """The job by which it can be undone."""
    dry_run: NotRequired[Literal[True]]


class SummaryCounts(TypedDict):
    """How many memories were shortened, or would be shortened."""

    originalCount: int
    summarizedCount: int
    tokensSaved: int


class SummaryResult(SummaryCounts):
    """How much of a scope was shortened, or would be shortened."""

    job_id: NotRequired[str]
    """The job by which it can be undone."""


class OldSummaryResult(SummaryCounts):
    """How many old memories were shortened, or would be shortened."""

    job_ids: list[str]
    """The jobs by which it can be undone."""
    dry_run: bool
