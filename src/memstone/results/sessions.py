"""Answers about sessions, agents, identity, entities and relations."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import IdleStatus, JobStatus, StatusName
from memstone.results.common import Degradation, ErrorInfo, ScopeIds

# --- sessions ---------------------------------------------------------------------------------------------------------


class IngestResult(TypedDict):
    """What happened to the turns of a transcript."""

    stored: int
    known: int
    """How many were there already."""
    deleted: int
    """How many somebody had deleted before; they stay deleted."""
    masked: int
    """How many held something that was masked."""
    dropped: int
    """How many held something that may not be stored."""
    skipped: int
    """How many were empty, or said neither by a person nor by the assistant."""
    queued: int
    """How many pieces are learned from later."""
    degraded: NotRequired[list[Degradation]]
    warnings: NotRequired[list[str]]
    status: NotRequired[IdleStatus]
    """Why nothing was stored."""
    reason: NotRequired[str]
    hint: NotRequired[str]


class SessionResult(TypedDict):
    """The result of storing a whole conversation and learning from it."""

    status: Literal["ok", "pending", "failed", "disabled", "paused"]
    """``pending`` is tried again."""
    turns_ingested: int
    distillation: str
    """``distilled``, or why no episode came of it."""
    episode_id: NotRequired[int]
    warnings: NotRequired[list[str]]
    reason: NotRequired[str]
    """Why nothing was stored."""


class BackfillItem(TypedDict):
    """The result for one conversation of a backfill."""

    run_id: Any
    """Text, or what was given in its place if it is wrong."""
    status: Literal["ok", "known", "pending", "failed", "disabled", "paused", "error"]
    turns_ingested: NotRequired[int]
    distillation: NotRequired[str]
    """``distilled``, or why no episode came of it."""
    episode_id: NotRequired[int]
    warnings: NotRequired[list[str]]
    reason: NotRequired[str]
    error: NotRequired[ErrorInfo]


class BackfillResult(TypedDict):
    """The results of a backfill, in order."""

    ingested: int
    known: int
    """How many were there already, and are left alone."""
    failed: int
    cancelled: bool
    results: list[BackfillItem]


class SessionEnd(TypedDict):
    """The result for one session; an id is empty if there is none."""

    user_id: str | None
    """None is the pool of the key itself."""
    agent_id: str
    run_id: str
    distillation: str
    """``distilled``, or why no episode came of it."""
    episode_id: NotRequired[int]


class SessionEndList(TypedDict):
    """The result for every session that was waiting."""

    results: list[SessionEnd]


class FlushResult(TypedDict):
    """How many queued sessions were processed, and how many still wait."""

    stored: int
    waiting: int


class WorkerResult(TypedDict):
    """How many sessions a worker processed, and with which outcomes."""

    sessions: int
    outcomes: dict[str, int]


class JobItem(TypedDict):
    """One piece of background work; an id is empty if it was for nobody in particular."""

    user_id: str | None
    """None is the pool of the key itself."""
    agent_id: str
    run_id: str
    id: str
    task: str
    status: JobStatus
    created_at: str
    model: str | None
    """None where rules did it."""
    details: dict[str, Any]
    """What came of it; each task has its own."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """What the tokens cost by ``llm.prices``; None without a price for the model."""
    duration_ms: float
    outcome: str | None


class JobList(TypedDict):
    """Background jobs, newest first."""

    results: list[JobItem]


class TranscriptTurn(ScopeIds):
    """One turn of a transcript."""

    id: str
    index: int
    """Its place, counted from 0."""
    role: str | None
    content: str
    token_count: int
    occurred_at: str


class TranscriptPage(TypedDict):
    """What was said, in order."""

    results: list[TranscriptTurn]
    total: int


class EpisodeItem(ScopeIds):
    """An episode: the digest of one session."""

    id: str
    summary: str
    topics: list[str]
    entities: list[str]
    decisions: list[str]
    action_items: list[str]
    facts: list[str]
    """The ids of the facts it mentions."""
    salience: float
    token_count: int
    model: str | None
    """None where rules wrote it."""
    version: int
    status: StatusName
    occurred_at: str
    created_at: str
    updated_at: str


class EpisodeList(TypedDict):
    """Episodes, newest first."""

    results: list[EpisodeItem]


# --- identity, and facts by weight ------------------------------------------------------------------------------------


class IdentityItem(TypedDict):
    """A standing instruction."""

    id: str
    text: str
    token_count: int
    created_at: str


class DerivedIdentity(IdentityItem):
    """An identity line that was derived from a fact."""

    fact: str | None
    """The id of the fact."""


class NarrativeItem(TypedDict):
    """The narrative of a user."""

    id: str
    text: str
    version: int
    model: str | None
    """Who wrote it: a model, ``rules``, or ``user`` by hand."""
    generated_at: str
    token_count: int
    stale: bool
    """Whether something it was made of has changed since."""


class IdentityResult(TypedDict):
    """Who a user is: standing instructions, derived facts, and the narrative."""

    user_id: str | None
    """None is the pool of the key itself."""
    overrides: list[IdentityItem]
    derived: list[DerivedIdentity]
    narrative: NarrativeItem | None
    warnings: NotRequired[list[str]]
    dry_run: NotRequired[Literal[True]]


class FactItem(TypedDict):
    """A fact as companions see it."""

    id: str
    content: str
    salience: float
    effective_salience: float
    """What time has left of the salience since the fact was last told or used."""
    source_count: int
    """How many sessions tell it."""
    source_episode_id: str | None
    last_used: str | None
    use_count: int
    status: StatusName
    tags: list[str]
    user_id: str | None
    agent_id: str | None
    occurred_at: str
    created_at: str


class FactList(TypedDict):
    """Facts, most salient first."""

    results: list[FactItem]


class InstructionItem(TypedDict):
    """A standing instruction of a user."""

    id: str
    text: str
    occurred_at: str


class InstructionList(TypedDict):
    """The standing instructions of a user, oldest first."""

    text: str
    """All of them, one a line; may be empty."""
    instructions: list[InstructionItem]


# --- the graph --------------------------------------------------------------------------------------------------------


class EntityItem(TypedDict):
    """A person, place or thing that memories mention."""

    id: str
    name: str
    type: str
    description: str | None
    mentions: int
    updated_at: str


class EntityList(TypedDict):
    """Entities, most mentioned first."""

    results: list[EntityItem]


class RelationItem(TypedDict):
    """How two entities are related."""

    source: str
    source_id: str
    relation: str
    target: str
    target_id: str
    confidence: float
    valid_from: str
    valid_to: str | None
    """None while it holds."""
    memories: int
    """How many memories state it."""


class RelationList(TypedDict):
    """Relations between entities, newest first."""

    results: list[RelationItem]


# --- agents -----------------------------------------------------------------------------------------------------------


class AgentItem(TypedDict):
    """An agent, its settings, and how many memories it has."""

    id: str
    name: str
    model: str | None
    system_prompt: str | None
    settings: dict[str, Any]
    """Values by the names of the settings, and its switches under the names its host has for them."""
    memory_entry_count: int
    """All its memories but turns."""
    paused: bool
    memory_counts: dict[str, int]
    """How many memories of each layer it has."""
    created_at: str
    updated_at: str


class AgentList(TypedDict):
    """All agents."""

    agents: list[AgentItem]
    total: int


class AgentDeletion(TypedDict):
    """A deleted agent, and how many memories were deleted with it."""

    id: str
    deleted: int
    dry_run: NotRequired[Literal[True]]
