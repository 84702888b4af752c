"""Queue turns for learning later, in one transaction and without a model.

The row says when it is due, so every process can see it: at once, after some seconds without a message, or only when
somebody calls ``flush``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine.access.admission import why_idle
from memstone.engine.learn.commit import CommitPlan, apply_plan
from memstone.engine.learn.converse import ConversationToLearn, signal_of
from memstone.engine.learn.inbox import QUEUED
from memstone.engine.runtime import Runtime
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AddResult


def is_on(runtime: Runtime) -> bool:
    """Return whether learning is on for this scope."""
    return runtime.policy.learns and why_idle(runtime) is None


def is_inline(runtime: Runtime) -> bool:
    """Return whether learning happens during the call."""
    return runtime.policy.formation.mode == "inline"


def due_at(runtime: Runtime, now: Instant, *, silence: bool = True) -> Instant | None:
    """Return when turns are due: '' means at once, None only when somebody calls ``flush``."""
    formation = runtime.policy.formation
    if formation.mode == "manual":
        return None
    if formation.mode != "session_end" or not silence:
        return ""
    return to_instant(datetime_from_instant(now) + timedelta(seconds=formation.debounce_seconds))


async def queue_conversation(runtime: Runtime, conversation: ConversationToLearn, warnings: Sequence[str]) -> AddResult:
    """Queue a conversation, and wake a worker."""
    counters, now = runtime.worker_state.counters, runtime.now()
    if not conversation.turns:
        counters.early_returns_empty_message += 1
        return _format_answer(0, warnings)
    try:
        stored_count = await runtime.ledger.write(
            partial(_store_and_queue, runtime=runtime, conversation=conversation, now=now)
        )
    except Exception as error:
        counters.record_failure(error)
        raise
    counters.record_success(now)
    if stored_count:
        runtime.worker_state.touched[conversation.scope] = None
        wake_worker(runtime)
    return _format_answer(stored_count, warnings)


def wake_worker(runtime: Runtime) -> None:
    """Wake the worker of this process, and start it if there is none."""
    from memstone.engine.background.worker import start_worker

    start_worker(runtime)
    runtime.worker_state.bell(runtime.io).ring()


async def _store_and_queue(tx: Tx, *, runtime: Runtime, conversation: ConversationToLearn, now: Instant) -> int:
    """Store turns and one signal; return how many turns are new.

    The vectors of the turns are made when memory is formed of them.
    """
    await apply_plan(
        runtime,
        tx,
        CommitPlan(conversation.scope, conversation.stored_turns, [], 0, None, project=conversation.project),
        now,
    )
    fresh = [turn for turn in conversation.turns if not turn.said_before]
    if not fresh:
        return 0
    if runtime.policy.formation.mode == "session_end":
        await tx.signals.hurry(conversation.scope, now)
    await tx.signals.put([signal_of(conversation, fresh, now, due_at=due_at(runtime, now), mark=QUEUED)])
    return len(fresh)


def _format_answer(stored_count: int, warnings: Sequence[str]) -> AddResult:
    answer: AddResult = {"results": [], "status": "queued" if stored_count else "ok"}
    if stored_count:
        answer["queued"] = stored_count
    if warnings:
        answer["warnings"] = list(warnings)
    return answer
