"""What is said now and becomes memory later: kept, with a row in the inbox, in one transaction and without a model.

When it is due stands in the row, so that any process sees it: at once, after so many seconds of silence, or only when
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine.access.admission import why_idle
from memstone.engine.learning.commit import Plan, apply_plan
from memstone.engine.learning.converse import ConverseConversation, signal_of
from memstone.engine.learning.retold import QUEUED
from memstone.engine.runtime import Parts
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AddResult


def is_on(parts: Parts) -> bool:
    """Whether anything is learned from those for whom these parts are tuned."""
    return parts.policy.learns and why_idle(parts) is None


def is_inline(parts: Parts) -> bool:
    """Whether it is learned inside the call."""
    return parts.policy.formation.mode == "inline"


def due_at(parts: Parts, now: Instant, *, silence: bool = True) -> Instant | None:
    """When what is said now is due: '' is at once, None only when somebody asks for it."""
    formation = parts.policy.formation
    if formation.mode == "manual":
        return None
    if formation.mode != "session_end" or not silence:
        return ""
    return to_instant(datetime_from_instant(now) + timedelta(seconds=formation.debounce_seconds))


async def queue_conversation(parts: Parts, said: ConverseConversation, warnings: Sequence[str]) -> AddResult:
    """Keep what was said for later and wake whoever forms memory of it."""
    counters, now = parts.workshop.counters, parts.now()
    if not said.turns:
        counters.early_returns_empty_message += 1
        return _format_answer(0, warnings)
    try:
        kept = await parts.ledger.write(partial(_store_and_queue, parts=parts, said=said, now=now))
    except Exception as error:
        counters.failed(error)
        raise
    counters.succeeded(now)
    if kept:
        parts.workshop.touched[said.scope] = None
        wake_worker(parts)
    return _format_answer(kept, warnings)


def wake_worker(parts: Parts) -> None:
    """Let the worker of this process see that there is something to do, and start it where there is none."""
    from memstone.engine.work.worker import start_worker

    start_worker(parts)
    parts.workshop.bell(parts.io).ring()


async def _store_and_queue(tx: Tx, *, parts: Parts, said: ConverseConversation, now: Instant) -> int:
    """Turns and one row of the inbox; words that are known already are not learned from again. Gives how many are new.

    The vectors of the turns are made when memory is formed of them.
    """
    await apply_plan(parts, tx, Plan(said.scope, said.kept, [], 0, None, project=said.project), now)
    fresh = [turn for turn in said.turns if not turn.said_before]
    if not fresh:
        return 0
    if parts.policy.formation.mode == "session_end":
        await tx.signals.hurry(said.scope, now)
    await tx.signals.put([signal_of(said, fresh, now, due_at=due_at(parts, now), mark=QUEUED)])
    return len(fresh)


def _format_answer(kept: int, warnings: Sequence[str]) -> AddResult:
    answer: AddResult = {"results": [], "status": "queued" if kept else "ok"}
    if kept:
        answer["queued"] = kept
    if warnings:
        answer["warnings"] = list(warnings)
    return answer
