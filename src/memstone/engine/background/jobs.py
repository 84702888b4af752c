"""The log of background work: outcomes, kinds of failure, and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.engine.learn.by_model import MeteredLlm
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import LARGEST, checked_limit
from memstone.engine.store.embedding import is_outage
from memstone.errors import (
    AuthenticationFailed,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BadModelOutput,
    InvalidInput,
    LLMError,
    LlmUnavailable,
    MemstoneError,
    ModelRefused,
    RateLimited,
    UsageError,
)
from memstone.model.event import STATUSES, Job
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.literals import JobStatus
    from memstone.results import JobItem, JobList

DISTILLED: Final = "distilled"
NO_SIGNALS: Final = "no_signals"
NO_EPISODE: Final = "empty:no_episode"
UNSET: Final = "skipped:core_model_unset"
DISABLED: Final = "skipped:memory_disabled"
CANCELLED: Final = "skipped:cancelled"
_LOW: Final = "skipped:low_novelty:"
_MESSAGE: Final = 300
_MILLION: Final = 1_000_000

_UNREACHED: Final = "skipped:core_model_unavailable"
_LOADING: Final = "skipped:not_resident"
_TRANSIENT: Final = (
    (LlmUnavailable, "skipped:breaker_open"),
    (RateLimited, "skipped:model_in_use"),
    ((AuthenticationFailed, BackendUnavailable, UsageError), _UNREACHED),
)
"""States of a model and of its configuration that pass, or that somebody will mend: they speak against no session."""


FORMING: Final = frozenset({"facts", "distill"})
"""The tasks that make memory of a session."""


def waits_for_model(outcome: str) -> bool:
    """Return whether a session waits because the model could not be asked, and others wait with it."""
    return outcome in {_UNREACHED, _LOADING, *(name for _, name in _TRANSIENT)}


def low_novelty(chars: int) -> str:
    """Return the outcome of a session that says too little."""
    return f"{_LOW}{chars}chars"


def is_low(outcome: str) -> bool:
    """Return whether a session said too little so far: what is said next is looked at together with it."""
    return outcome.startswith(_LOW)


def is_finished(outcome: str) -> bool:
    """Return whether nothing is left to do: it was distilled, or there is nothing in it."""
    return outcome in (DISTILLED, NO_SIGNALS) or outcome.startswith(("empty:", _LOW))


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a job failed.

    It says so in words, whether it ``counts`` against the session, and whether all jobs would fail like this.
    """

    outcome: str
    error: str
    counts: bool = True
    outage: bool = False


def failure_of(error: Exception, *, session: bool = True) -> JobFailure:
    """Return what kind of failure an error is.

    Of a session that was kept for later everything counts that is not a passing state of the model. What was put off in
    a call, whose caller was told so, is given up only when a model has answered and will hardly answer better.
    """
    if not isinstance(error, MemstoneError):
        return JobFailure(f"error:{type(error).__name__}", f"{type(error).__name__}: {error}")
    outage = is_outage(error)
    for kind, outcome in _TRANSIENT:
        if isinstance(error, kind) and not isinstance(error, BackendTimeout):
            return JobFailure(_LOADING if _is_loading(error) else outcome, str(error), counts=False, outage=outage)
    if isinstance(error.__cause__, ConnectionError):  # a function of somebody's own that did not get through
        return JobFailure(_UNREACHED, str(error), counts=False, outage=outage)
    return JobFailure(f"error:{error.message[:_MESSAGE]}", str(error), session or is_hopeless(error), outage)


def _is_loading(error: MemstoneError) -> bool:
    """Return whether a model is there and not in memory yet.

    Servers of local models say so with a 503 and these words.
    """
    return isinstance(error, BackendUnavailable) and "loading model" in error.message.lower()


def is_hopeless(error: MemstoneError) -> bool:
    """Return whether a model has answered and will hardly answer better: unreadably, refusing, or refused."""
    if isinstance(error, (BadModelOutput, ModelRefused, BackendRejected)):
        return True
    # An LLMError of no finer kind is a request the service rejects; with a cause it is a function of somebody's own
    # that has failed, which may have been the network.
    return type(error) is LLMError and error.__cause__ is None


@dataclass(slots=True)
class Patience:
    """Whether it is worth going on: not in an outage, nor after two failures in a row that nobody understands."""

    in_a_row: int = 0
    outage: bool = False

    def record_outcome(self, failure: JobFailure | None) -> None:
        """Take note of how a piece of work ended."""
        self.in_a_row = 0 if failure is None or failure.counts else self.in_a_row + 1
        self.outage = self.outage or (failure is not None and failure.outage)

    @property
    def over(self) -> bool:
        """Whether to leave the rest for later."""
        return self.outage or self.in_a_row > 1


@dataclass(slots=True)
class Work:
    """A job under way: what it is, for whom, since when, and what it has cost so far."""

    task: str
    scope: Scope
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    started: float = field(default_factory=perf_counter)

    def add_cost(self, meter: MeteredLlm | None) -> None:
        """Take over what a model has cost."""
        if meter is not None and meter.calls:
            self.model, self.input_tokens, self.output_tokens = meter.model, meter.input_tokens, meter.output_tokens

    def row(self, outcome: str, details: Mapping[str, Any], now: Instant) -> Job:
        """Return the row it leaves in the log."""
        took = round((perf_counter() - self.started) * 1000, 3)
        answer = {"outcome": outcome, **details}
        cost = (self.model, answer, self.input_tokens, self.output_tokens, took)
        return Job(new_id(), self.task, self.scope, status_of(outcome), now, *cost)


def status_of(outcome: str) -> str:
    """Return the status of a job that ended so."""
    word = outcome.partition(":")[0]
    return word if word in STATUSES else "success"


async def list_jobs(
    runtime: Runtime, values: Mapping[str, Any], task: str | None, status: str | None, limit: int, *, everybody: bool
) -> JobList:
    """Return what was done in the background, newest first."""
    if status is not None and status not in STATUSES:
        raise InvalidInput(f"unknown status {status!r}", hint="one of " + ", ".join(STATUSES))
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    most = checked_limit(limit, runtime.policy.limits.page, LARGEST)
    found = await runtime.ledger.peek(lambda tx: tx.jobs.find(scope, task=task, status=status, limit=most))
    return {"results": [_format_job(job, runtime.policy.prices) for job in found]}


def price_of(
    prices: Sequence[tuple[str, float, float]], model: str | None, input_tokens: int, output_tokens: int
) -> float | None:
    """Return what tokens of a model cost; None where its price is not known."""
    known = next(((read, written) for name, read, written in prices if name == model), None)
    if known is None:
        return None
    return round((input_tokens * known[0] + output_tokens * known[1]) / _MILLION, 9)


def _format_job(job: Job, prices: Sequence[tuple[str, float, float]]) -> JobItem:
    return {
        "user_id": job.scope.user_id,
        "agent_id": job.scope.agent_id,
        "run_id": job.scope.run_id,
        "id": job.id,
        "task": job.task,
        "status": cast("JobStatus", job.status),
        "created_at": job.created_at,
        "model": job.model,
        "details": deepcopy(job.details),
        "input_tokens": job.input_tokens,
        "output_tokens": job.output_tokens,
        "cost": price_of(prices, job.model, job.input_tokens, job.output_tokens),
        "duration_ms": job.duration_ms,
        "outcome": job.details.get("outcome"),
    }
