"""Answers about memories: storing, finding, changing, deleting, and their history."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import (
    AddEventName,
    AddStatus,
    EventName,
    KindName,
    LayerName,
    ShareEvent,
    StatusName,
    VisibilityName,
)
from memstone.results.common import (
    AttachmentInfo,
    BatchMark,
    CacheHits,
    Degradation,
    ErrorInfo,
    Evidence,
    ScopeIds,
    VersionState,
)

# --- memories ---------------------------------------------------------------------------------------------------------


class MemoryFields(ScopeIds):
    """Common fields of all forms of a memory."""

    id: str
    metadata: dict[str, Any]
    layer: LayerName
    kind: KindName
    key: str | None
    """The caller's own name for it: storing under the same key makes the next version."""
    status: StatusName
    version: int
    occurred_at: str
    """When it was said, or happened."""
    created_at: str
    updated_at: str
    expires_at: str | None
    """When it stops being shown."""
    role: NotRequired[str]
    """Who said it: ``user`` or ``assistant``."""
    actor: NotRequired[str]
    """The name of who said it, else the role."""
    shared_by: NotRequired[str]
    """The owner of a memory that was shared, or said in a project."""
    order: NotRequired[int]
    """The place of a turn in time."""
    evidence: NotRequired[Evidence]
    category: NotRequired[str]
    doubt: NotRequired[str]
    """Why the conversation does not bear out what a model learned."""
    attachments: NotRequired[list[AttachmentInfo]]
    visibility: NotRequired[VisibilityName]


class MemoryItem(MemoryFields):
    """One memory."""

    memory: str
    hash: str


class CurrentFact(TypedDict):
    """The fact that holds now, in place of what a turn said."""

    id: str
    memory: str | None


class ScoreBreakdown(TypedDict, total=False):
    """The parts of a score; a channel that found nothing is left out."""

    semantic: float
    keyword: float
    words: float
    """Word by word."""
    speaker: float
    asking: float
    entity: float
    """It mentions whom or what the query asks about."""
    time: float
    rrf: float
    """By its ranks in the channels."""
    salience: float
    decay: float
    """By its age."""
    rerank: float


class HitSource(TypedDict, total=False):
    """How turns and facts among the hits belong together."""

    source: str
    """The id of the turn behind a fact, if the search found that too and left it out."""
    facts: list[CurrentFact]
    """The facts in whose place a turn is shown."""
    superseded_by: list[CurrentFact]
    """What holds now in place of a turn."""


class SearchHit(MemoryItem, HitSource):
    """A memory that a search found."""

    score: float
    """How well it answers, from 0 to 1."""
    score_parts: NotRequired[ScoreBreakdown]
    """What the score is made of, with ``explain``."""


class SearchResults(TypedDict):
    """What a search found, best first."""

    results: list[SearchHit]
    degraded: NotRequired[list[Degradation]]


class MemoryList(TypedDict):
    """Memories, newest first; with ``counts`` also how many there are on all pages."""

    results: list[MemoryItem]
    total: NotRequired[int]
    by_kind: NotRequired[dict[str, int]]
    limit: NotRequired[int]
    offset: NotRequired[int]
    page: NotRequired[int]


class PageStats(TypedDict):
    """Counts over all memories that match, on all pages."""

    total: int
    by_kind: dict[str, int]
    tokens: int
    hit_rate: float | None
    """The share of shown memories that answers used; None until an answer was recorded."""
    cache: CacheHits


class MemoryPage(TypedDict):
    """A page of memories, newest first, and counts over all that match."""

    results: list[MemoryItem]
    stats: PageStats
    total: int
    limit: int
    offset: int
    page: int
    """Counted from 1."""
    pages: int


class MemoryPreview(MemoryFields):
    """A memory with its secrets masked, and why it is listed."""

    preview: str
    why: str
    score: NotRequired[float]


class PreviewList(TypedDict):
    """Memories with their secrets masked, and why each is listed."""

    results: list[MemoryPreview]
    limit: int
    more: bool
    """Whether there are more than these."""


# --- adding -----------------------------------------------------------------------------------------------------------


class AddEvent(TypedDict):
    """What happened with one statement."""

    id: str
    """The memory it is about; empty where a model took a statement for known and named no memory."""
    event: AddEventName
    memory: str
    old_memory: str | None
    new_memory: str | None
    metadata: dict[str, Any]
    reason: NotRequired[str]
    old_id: NotRequired[str]
    """The memory that others still hold, whose place this one took."""
    new_id: NotRequired[str]
    """The memory that took the place of one that ended."""
    evidence: NotRequired[Evidence]
    doubt: NotRequired[str]
    """Why the conversation does not bear out what a model learned."""
    status: NotRequired[StatusName]
    """The status of a new memory that is not active."""
    erased: NotRequired[Literal[True]]
    """The memory was erased since."""


class DeferredEvent(TypedDict):
    """A statement that is queued, and why."""

    id: None
    event: Literal["DEFERRED"]
    memory: str
    old_memory: None
    new_memory: None
    metadata: dict[str, Any]
    evidence: NotRequired[Evidence]
    error: ErrorInfo


class DroppedFact(TypedDict):
    """A fact by a language model that was not stored."""

    text: str
    reason: str


class RemovalProposal(TypedDict):
    """A memory that a language model wanted to end together with more than two others; nothing was changed."""

    id: str
    memory: str
    operation: str


class AddResult(TypedDict):
    """The result of learning: an event for each statement."""

    results: list[AddEvent]
    status: AddStatus
    deferred: NotRequired[list[DeferredEvent]]
    error: NotRequired[ErrorInfo]
    warnings: NotRequired[list[str]]
    queued: NotRequired[int]
    """How many messages are learned from later."""
    left_out: NotRequired[int]
    """How much was left as it is: deleted by the user, or changed since it was said."""
    degraded: NotRequired[list[Degradation]]
    dropped: NotRequired[list[DroppedFact]]
    review: NotRequired[list[RemovalProposal]]
    """Memories that a model would end all at once: delete them by hand."""
    reason: NotRequired[str]
    """Why nothing was stored."""
    hint: NotRequired[str]


class AddBatchResult(BatchMark):
    """The result of each item of a batch, in order.

    In the answer to a batch that was carried out before, an event about a memory that was erased since holds only its
    ``id``, its ``event`` and ``erased``.
    """

    results: list[AddResult]


# --- changing and deleting --------------------------------------------------------------------------------------------


class UpdateResult(MemoryItem):
    """The changed memory.

    Where others hold what it was, the caller has a memory of their own from now on: ``event`` is ``REPLACE`` then.
    """

    event: NotRequired[Literal["UPDATE", "REPLACE"]]
    old_id: NotRequired[str]
    """The id of what the others hold."""
    warnings: NotRequired[list[str]]


class BatchError(TypedDict):
    """An item of a batch that failed, and why."""

    event: Literal["ERROR"]
    error: ErrorInfo


class ErasureMark(TypedDict):
    """What remains in a stored answer to a batch of a memory that was erased since."""

    id: NotRequired[str]
    memory_id: NotRequired[str]
    event: NotRequired[str]
    erased: Literal[True]


class UpdateBatchResult(BatchMark):
    """The result of each change of a batch, in order."""

    results: list[UpdateResult | BatchError | ErasureMark]


class DeleteResult(TypedDict):
    """A memory that was deleted, or with ``dry_run`` would be deleted."""

    id: str
    event: Literal["DELETE"]
    dry_run: NotRequired[Literal[True]]


class DeleteItem(TypedDict):
    """What happened to one memory that was to be deleted."""

    id: str
    event: Literal["DELETE", "ERROR"]
    error: NotRequired[ErrorInfo]
    erased: NotRequired[Literal[True]]
    """The memory was erased since."""


class DeleteBatchResult(BatchMark):
    """The result for each memory, in order."""

    results: list[DeleteItem]
    dry_run: NotRequired[Literal[True]]


class DeleteAllResult(TypedDict):
    """How many memories were deleted, or with ``dry_run`` would be deleted."""

    deleted: int
    dry_run: NotRequired[Literal[True]]


class VisibilityResult(TypedDict):
    """Whether models see a memory, as set by a person."""

    id: str
    event: Literal["UPDATE", "NONE"]
    """``NONE`` where it was so already."""
    visibility: VisibilityName
    version: NotRequired[int]
    """The new version of the memory, if there is one."""


class StatusResult(TypedDict):
    """The new status of a memory."""

    id: str
    event: Literal["DISABLE", "ENABLE", "DELETE", "NONE"]
    """``NONE`` where it was so already."""
    status: StatusName
    version: NotRequired[int]
    """The version that says so."""
    dry_run: NotRequired[Literal[True]]


class ShareResult(ScopeIds):
    """Who has a memory after it was shared or unshared."""

    id: str
    event: ShareEvent
    reason: NotRequired[str]
    dry_run: NotRequired[Literal[True]]


class ReplacementItem(ScopeIds):
    """Which memory replaced which for a user."""

    id: str
    """The id of the event."""
    event: EventName
    old_id: str
    new_id: str | None
    old_version: int | None
    """The version that ended."""
    new_version: int | None
    """The version that took its place under the same id."""
    old_memory: str | None
    new_memory: str | None
    reason: str | None
    created_at: str


class ReplacementList(TypedDict):
    """Which memories replaced which, newest first."""

    results: list[ReplacementItem]


class ReassignResult(TypedDict):
    """How much was moved to another scope, and the job that you can undo."""

    job_id: str | None
    moved: int
    merged: int
    """How many said the same as a memory that was there, and became one with it."""
    signals: int
    receipts: int


# --- history, undo ----------------------------------------------------------------------------------------------------


class HistoryEvent(ScopeIds):
    """An event in the history of a memory."""

    id: str
    memory_id: str
    event: EventName
    old_value: str | None
    """What the memory said before."""
    new_value: str | None
    """What it says since then; None when it was deleted."""
    timestamp: str
    is_deleted: bool
    reason: str | None
    actor: str
    before: VersionState | None
    after: VersionState | None
    old_id: str | None
    """The memory whose place was taken."""
    new_id: str | None
    """The memory that took the place of another."""


class FeedEvent(HistoryEvent):
    """One event of the feed."""

    seq: int
    """The cursor of this event."""
    job_id: str | None
    """The job that did it."""
    undoes: str | None
    """The event that this one takes back."""


class EventFeed(TypedDict):
    """Events, oldest first."""

    results: list[FeedEvent]
    cursor: int
    """Where the next call goes on, as ``after``."""


class UndoItem(TypedDict):
    """A memory that was restored, or whose change was undone."""

    id: str
    event: EventName
    memory: str | None
    status: StatusName
    event_id: str
    undoes: str | None
    """The event that was undone."""


class RestoreResult(UndoItem):
    """A restored memory."""

    degraded: NotRequired[list[Degradation]]


class UndoResult(TypedDict):
    """What was undone."""

    undone: int
    results: list[UndoItem]
    job_id: NotRequired[str]
    """The job by which several changes that were undone together can be done again."""
    degraded: NotRequired[list[Degradation]]


class RollbackConflict(TypedDict):
    """A change that was not undone, and why."""

    event_id: str
    event: EventName
    memory_id: str
    message: str
    hint: str


class RollbackResult(TypedDict):
    """What was undone, or would be."""

    dry_run: bool
    undone: int
    memories: int
    """How many memories that concerns."""
    by_event: dict[str, int]
    conflicts: list[RollbackConflict]
    """The first of the changes that were left, because somebody has changed the memory since."""
    skipped: int
    """How many changes were left."""
    job_id: NotRequired[str]
    """The job by which the rollback can be undone."""
    degraded: NotRequired[list[Degradation]]


class LoadResult(TypedDict):
    """How much of an export was restored, and how much already existed."""

    memories: int
    events: int
    deletions: int
    waiting: int
    already_there: int


class Explanation(TypedDict):
    """Why a memory is known: its words, the turn they come from, and every change with its reason."""

    memory: MemoryItem | None
    evidence: Evidence | None
    turn: MemoryItem | None
    history: list[HistoryEvent]
