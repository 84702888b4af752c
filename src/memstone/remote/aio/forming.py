"""How memory forms in the background: sessions, jobs and the worker.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memstone.core.talk.transcript import TranscriptInput
from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import JobStatus
    from memstone.results import BackfillResult, FlushResult, HealthReport, JobList, SessionEndList, SessionResult


class Forming(Remote):
    """How memory forms in the background: sessions, jobs and the worker."""

    async def jobs(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        task: str | None = None,
        status: JobStatus | None = None,
        limit: int = 100,
    ) -> JobList:
        """What was done in the background for a scope, or with ``everybody`` for all, newest first.

        ``task`` is what was done: ``facts``, ``distill`` and others. ``status`` is ``success``, ``skipped``, ``empty``,
        ``error`` or ``dead_letter``. Each row holds its ``outcome`` word for word, the decisions about facts, and what
        it cost: model, tokens, milliseconds.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
            "task": task,
            "status": status,
            "limit": limit,
        }
        result: JobList = await self._link.call("jobs", given)
        return result

    async def end_session(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> SessionEndList:
        """Form memory of a session now, because the user has left it; of every one in the scope in which words wait.

        Returns ``{"results": [{"user_id", "agent_id", "run_id", "distillation", ...}]}``; ``distillation`` says how it
        ended: ``distilled``, or why not.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        result: SessionEndList = await self._link.call("end_session", given)
        return result

    async def ingest_session(
        self,
        turns: TranscriptInput | Iterable[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        occurred_at: When | None = None,
        metadata: Mapping[str, Any] | None = None,
        skip_extraction: bool = False,
    ) -> SessionResult:
        """Take in one whole conversation and form memory of it at once, without waiting for silence.

        ``turns`` are pairs (``{"user", "assistant", "date"}``) or messages; ``occurred_at`` is when those without a
        date of their own were said. A conversation that is known under its ``run_id`` is replaced: what was kept for
        later and its episode go first. ``skip_extraction=True`` keeps the words only.

        Returns ``{"status", "turns_ingested", "distillation", "episode_id"}``. ``status`` is ``ok`` when nothing is
        left to do and ``pending`` when it waits for another try; ``distillation`` says what happened: ``distilled``,
        ``no_signals``, ``skipped:...``, ``empty:...``, ``dead_letter:...`` or ``error:...``.
        """
        given: dict[str, Any] = {
            "turns": turns,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "occurred_at": occurred_at,
            "metadata": metadata,
            "skip_extraction": skip_extraction,
        }
        result: SessionResult = await self._link.call("ingest_session", given)
        return result

    async def backfill(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
    ) -> BackfillResult:
        """Form memory of chats that were held before; those that were distilled, or wait for it, are left alone.

        A conversation holds its ``id`` (or ``run_id``), its ``messages`` (or ``turns``), and perhaps ``user_id``,
        ``agent_id`` and ``date``. What tools and systems say is skipped.

        Returns how many were ``ingested``, ``known`` and ``failed``, whether it was ``cancelled``, and ``results``.
        """
        given: dict[str, Any] = {"conversations": conversations, "user_id": user_id, "agent_id": agent_id}
        result: BackfillResult = await self._link.call("backfill", given)
        return result

    async def health(self) -> HealthReport:
        """Whether memory works: ``level`` is ``healthy``, ``degraded`` or ``unavailable``, and ``reasons`` say why.

        ``probe`` tells where writing fails, if it does: a turn and a row of the inbox are written, found and taken back
        in one transaction.
        """
        given: dict[str, Any] = {}
        result: HealthReport = await self._link.call("health", given)
        return result

    async def flush(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> FlushResult:
        """Form memory now of what waits in a scope, or with ``everybody`` of all that waits, due or not.

        What could not be stored before is tried again.

        Returns ``{"stored": n, "waiting": n}``.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "everybody": everybody}
        result: FlushResult = await self._link.call("flush", given)
        return result
