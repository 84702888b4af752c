"""Work that was done in the background, as it is logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from memstone.model.instant import Instant
from memstone.model.scope import Scope

STATUSES: Final = ("success", "skipped", "empty", "error", "dead_letter")


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
    """How often a task ended in one way, and what that took."""

    task: str
    status: str
    count: int
    duration_ms: float
    input_tokens: int
    output_tokens: int
