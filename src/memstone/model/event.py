"""Events: what happened to a memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, get_args

from memstone.literals import JobStatus
from memstone.model.instant import Instant
from memstone.model.scope import Scope

# --- what happened to a memory ----------------------------------------------------------------------------------------


class EventType(StrEnum):
    """The verbs of the history."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    REPLACE = "REPLACE"
    LINK = "LINK"
    UNLINK = "UNLINK"
    DISABLE = "DISABLE"
    ENABLE = "ENABLE"
    MERGE = "MERGE"
    PROMOTE = "PROMOTE"
    EVICT = "EVICT"
    SUMMARIZE = "SUMMARIZE"
    FEEDBACK = "FEEDBACK"
    REDACT = "REDACT"


@dataclass(slots=True)
class Event:
    """One append-only row of the history, written in the transaction of the change it records."""

    id: str
    memory_id: str
    event: str
    scope: Scope
    created_at: Instant
    old_text: str | None = None
    new_text: str | None = None
    old_id: str | None = None
    new_id: str | None = None
    reason: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    actor: str = "caller"
    job_id: str | None = None
    is_deleted: bool = False
    seq: int = 0
    undoes: str | None = None
    """The event that this one takes back."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events: by source, and since a time; None means any.

    A source is an actor, a job, or the means by which a memory was learned (``Record.source``).
    """

    source: str | None = None
    since: Instant | None = None


@dataclass(slots=True)
class Signal:
    """Something that still has to become memory: a row of the durable inbox."""

    id: str
    scope: Scope
    user_text: str
    occurred_at: Instant
    created_at: Instant
    assistant_text: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    status: str = "pending"
    attempts: int = 0
    last_error: str | None = None
    due_at: Instant | None = ""
    """When it may become memory: '' at once, None only when somebody asks for it."""


# --- work that was done in the background, as it is logged ------------------------------------------------------------


STATUSES: Final[tuple[str, ...]] = get_args(JobStatus)


@dataclass(slots=True)
class Job:
    """One row of the log: what was done, for whom, with what success, and what it cost.

    ``details`` holds the ``outcome`` word for word, and of facts the decisions. ``model`` is None where rules did it.
    """

    id: str
    task: str
    scope: Scope
    status: str
    created_at: Instant
    model: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class JobFigures:
    """How often a task ended in one way with one model, and what that took."""

    task: str
    status: str
    count: int
    duration_ms: float
    input_tokens: int
    output_tokens: int
    model: str | None = None
