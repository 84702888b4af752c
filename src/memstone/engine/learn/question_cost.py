"""What a single question to a language model costs: a row in the log of jobs, as for work in the background."""

from __future__ import annotations

from dataclasses import dataclass
from logging import WARNING
from time import perf_counter
from typing import TYPE_CHECKING, Final

from memstone.errors import MemstoneError, StorageError
from memstone.model.event import Job
from memstone.model.ids import new_id
from memstone.trace import log_event

if TYPE_CHECKING:
    from memstone.engine.learn.by_model import MeteredLlm
    from memstone.engine.runtime import Runtime
    from memstone.model.scope import Scope

ADD: Final = "add"
GATE: Final = "gate"
INSTRUCTIONS: Final = "instructions"
RERANK: Final = "rerank"
_ANSWERED: Final = "answered"


@dataclass(frozen=True, slots=True)
class QuestionCost:
    """A question: the task it is for, whose memory it is about, and what it has cost so far.

    Ask the model of this ``runtime``, which counts.
    """

    runtime: Runtime
    task: str
    scope: Scope
    meter: MeteredLlm | None
    started: float

    async def log(self, problem: str = "") -> None:
        """Store what the question has cost; ``problem`` is the code of the error that it ended with.

        An answer that was known and a model that was not reached cost nothing, and leave no row. Nobody's answer
        depends on the row: if it cannot be stored, the log says so.
        """
        if self.meter is None or not (self.meter.input_tokens or self.meter.output_tokens):
            return
        job = self._build_job(self.meter, problem)
        try:
            await self.runtime.ledger.note(lambda tx: tx.jobs.put(job))
        except StorageError as error:
            log_event("job.not_stored", WARNING, task=self.task, code=error.code)

    def _build_job(self, meter: MeteredLlm, problem: str) -> Job:
        took = round((perf_counter() - self.started) * 1000, 3)
        status, outcome = ("error", f"error:{problem}") if problem else ("success", _ANSWERED)
        cost = (meter.model, {"outcome": outcome}, meter.input_tokens, meter.output_tokens, took)
        return Job(new_id(), self.task, self.scope, status, self.runtime.now(), *cost)


def start_question(runtime: Runtime, task: str, scope: Scope) -> QuestionCost:
    """Return the cost of a question that is about to be asked."""
    from memstone.engine.learn.by_model import meter_model_usage  # slow to load, and few searches ask a model

    counted, meter = meter_model_usage(runtime)
    return QuestionCost(counted, task, scope, meter, perf_counter())


def problem_of(error: Exception) -> str:
    """Return the code of an error; for a bug in somebody's own model, its name."""
    return error.code if isinstance(error, MemstoneError) else type(error).__name__
