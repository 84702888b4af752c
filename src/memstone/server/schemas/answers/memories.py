"""Memories, what became of them, and their history."""

from __future__ import annotations

from typing import Literal

from memstone.server.schemas.answers.parts import (
    Attachment,
    Degraded,
    Evidence,
    Failure,
    Whose,
    described_field,
    optional_field,
)
from memstone.server.schemas.base import Answer, Json
from memstone.server.schemas.memories import Added, Change, HistoryLine, MemoryItem


class ScoreParts(Answer):
    """What a score is made of; a channel that had nothing to say is not there."""

    semantic: float = optional_field()
    keyword: float = optional_field()
    words: float = optional_field("word by word")
    speaker: float = optional_field()
    asking: float = optional_field()
    entity: float = optional_field("that it speaks of whom or what is asked about")
    time: float = optional_field()
    rrf: float = optional_field("by its ranks in the channels")
    salience: float = optional_field()
    decay: float = optional_field("by its age")
    rerank: float = optional_field()


class Overtaking(Answer):
    """The fact that holds in the place of what was said once."""

    id: str
    memory: str | None


class MemoryBesides(Whose):
    """Whose a memory is, and what it has at times."""

    layer: str = described_field("`fact`, `turn` (what was said, word for word), `episode` or `identity`")
    kind: str = described_field(
        "`factual`, `episodic`, `procedural`, `semantic`, or in the layer of identity what it is there"
    )
    key: str | None = described_field(
        "under which it is kept, where a caller gave one: the same key again is its next version"
    )
    status: str = described_field("`active`, `disabled`, `quarantined`, `evicted`, `superseded` or `deleted`")
    occurred_at: str = described_field("when it was said, or happened")
    expires_at: str | None = described_field("from when on it is not shown any more")
    role: str = optional_field("who said it: `user` or `assistant`")
    actor: str = optional_field("the name of who said it, else the role")
    shared_by: str = optional_field("of what was shared, or said in a project: whose it is")
    order: int = optional_field("of what was said word for word: its place in time")
    evidence: Evidence = optional_field()
    category: str = optional_field()
    doubt: str = optional_field("of what a model learned: why the conversation does not bear it out")
    attachments: list[Attachment] = optional_field()
    visibility: str = optional_field(
        "what a person decided about showing it to models: `pinned`, `hidden` or `private`"
    )
    score: float = optional_field("of what a search found: how well it answers, from 0 to 1")
    score_parts: ScoreParts = optional_field("where a search was asked to explain itself")
    source: str = optional_field("the id of what was said, where that was found as well and left out")
    facts: list[Overtaking] = optional_field("of what was said: the facts that it was found in the place of")
    superseded_by: list[Overtaking] = optional_field("of what was said: all that holds since then in its place")


class ChangedMemory(MemoryItem):
    """A memory as it is now.

    Where others hold what it was, the caller has a memory of their own from now on: ``event`` is ``REPLACE`` then.
    """

    event: str = optional_field("`UPDATE` or `REPLACE`")
    old_id: str = optional_field("the id of what the others hold")
    warnings: list[str] = optional_field()


class ChangeBesides(Answer):
    """What a change has at times."""

    old_id: str = optional_field("the memory whose place was taken")
    new_id: str = optional_field("of one that ended: the memory that took its place")
    evidence: Evidence = optional_field()
    doubt: str = optional_field("of a new memory: why the conversation does not bear it out")
    status: str = optional_field("of a new memory that is not active: `quarantined`, or `superseded` when it is past")
    error: Failure = optional_field("why it waits")
    erased: bool = optional_field("what stood here was erased since")


class DroppedFact(Answer):
    """Something a model wrote that is not stored."""

    text: str
    reason: str


class RemovalToReview(Answer):
    """A memory that a model would end, with more than two others in one answer: it is left as it is."""

    id: str
    memory: str
    operation: str = described_field("`REMOVE`")


class AddedBesides(Answer):
    """What the answer to something that was said has at times."""

    status: str = described_field(
        "`ok`, `queued` (it is learned from in a while), `partial` or `deferred` (some or all of it waits), `paused`, "
        "`disabled`, or, in a batch, `error`"
    )
    deferred: list[Change] = optional_field("what waits, and why")
    error: Failure = optional_field()
    warnings: list[str] = optional_field()
    queued: int = optional_field("how much is learned from in a while")
    left_out: int = optional_field("how much was left as it is: deleted by the user, or changed since it was said")
    degraded: list[Degraded] = optional_field()
    dropped: list[DroppedFact] = optional_field("what a model wrote and is not stored, and why")
    review: list[RemovalToReview] = optional_field("memories that a model would end all at once: delete them by hand")
    reason: str = optional_field("why nothing was stored")
    hint: str = optional_field()


class AddedMany(Answer):
    """What became of each item, in their order."""

    results: list[Added]
    replayed: Literal[True] = optional_field("this batch was carried out before, and this is what was answered then")


class FailedItem(Answer):
    """An item of a batch that could not be carried out, and why."""

    event: Literal["ERROR"]
    error: Failure


class ErasedItem(Answer):
    """What is left of an answer to a batch after what it spoke of was erased."""

    id: str = optional_field()
    memory_id: str = optional_field()
    event: str = optional_field()
    erased: Literal[True]


class ChangedMany(Answer):
    """What became of each item, in their order."""

    results: list[ChangedMemory | FailedItem | ErasedItem]
    replayed: Literal[True] = optional_field("this batch was carried out before, and this is what was answered then")


class DeletedItem(Answer):
    """What became of one that was to be deleted."""

    id: str
    event: Literal["DELETE", "ERROR"]
    error: Failure = optional_field()


class DeletedByIds(Answer):
    """What became of each, in their order."""

    results: list[DeletedItem]
    replayed: Literal[True] = optional_field("this batch was carried out before, and this is what was answered then")


class FoundBesides(Answer):
    """What a list of memories has at times."""

    degraded: list[Degraded] = optional_field()
    total: int = optional_field("how many match on all pages, where counts were asked for")
    by_kind: dict[str, int] = optional_field()
    limit: int = optional_field()
    offset: int = optional_field()
    page: int = optional_field()


class CacheCounts(Answer):
    """How often the vector of a text was at hand, and how often it had to be made."""

    hits: int
    misses: int


class PageFigures(Answer):
    """About all that match, on whichever page."""

    total: int
    by_kind: dict[str, int]
    tokens: int
    hit_rate: float | None = described_field(
        "the share of shown memories that answers used; null until one was recorded"
    )
    cache: CacheCounts


class MemoryPage(Answer):
    """A page of memories, newest first, and figures about all that match."""

    results: list[MemoryItem]
    stats: PageFigures
    total: int
    limit: int
    offset: int
    page: int = described_field("counted from 1")
    pages: int


class State(Answer):
    """A version without its words; of its fields those that are not as usual."""

    kind: str = optional_field()
    layer: str = optional_field()
    key: str = optional_field()
    status: str = optional_field()
    version: int = optional_field()
    metadata: Json = optional_field()
    occurred_at: str = optional_field()
    expires_at: str = optional_field()


class HistoryBesides(Whose):
    """What a line of history tells besides, and in whose name it happened."""

    old_value: str | None = described_field("what it said before")
    new_value: str | None = described_field("what it says since then; null when it was deleted")
    reason: str | None
    before: State | None
    after: State | None
    old_id: str | None = described_field("the memory whose place was taken")
    new_id: str | None = described_field("the memory that took the place of another")


class Happened(HistoryLine):
    """One line of the feed."""

    seq: int = described_field("the cursor of this line")
    job_id: str | None = described_field("the job that did it")
    undoes: str | None = described_field("the event that it takes back")


class Events(Answer):
    """What happened, oldest first."""

    results: list[Happened]
    cursor: int = described_field("where the next call goes on, as `after`")


class Replacement(Whose):
    """What took the place of what for somebody."""

    id: str = described_field("the id of the event")
    event: str
    old_id: str
    new_id: str | None
    old_version: int | None = described_field("the number of the version that ended")
    new_version: int | None = described_field("the number of the version that took its place under the same id")
    old_memory: str | None
    new_memory: str | None
    reason: str | None
    created_at: str


class Replacements(Answer):
    """What took the place of what, newest first."""

    results: list[Replacement]


class VisibilitySet(Answer):
    """What a person decided about showing a memory to models."""

    id: str
    event: str = described_field("`UPDATE`, or `NONE` where it was so already")
    visibility: str
    version: int = optional_field("of the memory, where it is a new one")


class StatusSet(Answer):
    """What became of a memory that was put aside, brought back or let out of quarantine."""

    id: str
    event: str = described_field("`NONE` where it was so already")
    status: str
    version: int = optional_field("the version that says so")


class Shared(Whose):
    """Who holds a memory now, or no longer."""

    id: str
    event: str = described_field(
        "`LINK`, `UNLINK`, `DELETE` with the last who held it, or `NONE` where it was so already"
    )
    reason: str = optional_field()


class Restored(Answer):
    """What became of a memory that was brought back, or whose change was taken back."""

    id: str
    event: str
    memory: str | None
    status: str
    event_id: str
    undoes: str | None = described_field("the event that was taken back")


class RestoredMemory(Restored):
    """A memory that was brought back."""

    degraded: list[Degraded] = optional_field()


class TakenBack(Answer):
    """What was taken back."""

    undone: int
    results: list[Restored]
    job_id: str = optional_field("where several were taken back together: by this they can be done again")
    degraded: list[Degraded] = optional_field()


class Kept(Answer):
    """A change that was not taken back, and why."""

    event_id: str
    event: str
    memory_id: str
    message: str
    hint: str


class RolledBack(Answer):
    """What was taken back, or would be."""

    dry_run: bool
    undone: int
    memories: int = described_field("how many memories that are")
    by_event: dict[str, int]
    conflicts: list[Kept] = described_field(
        "the first of those that were left, because somebody has changed them since"
    )
    skipped: int = described_field("how many were left")
    job_id: str = optional_field("by this it can be taken back again")
    degraded: list[Degraded] = optional_field()


class Explanation(Answer):
    """Why a memory is known."""

    memory: MemoryItem | None
    evidence: Evidence | None
    turn: MemoryItem | None
    history: list[HistoryLine]
