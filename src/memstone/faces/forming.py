"""How memory forms in the background: sessions, jobs and the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memstone.core.talk.transcript import TranscriptInput
from memstone.drive import drive
from memstone.faces.base import Face
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import JobStatus
    from memstone.results import (
        BackfillResult,
        FlushResult,
        HealthReport,
        JobList,
        SessionEndList,
        SessionResult,
        WorkerResult,
    )


class Forming(Face):
    """How memory forms in the background: sessions, jobs and the worker."""

    def jobs(
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
        from memstone.engine.work import jobs

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.run(jobs.list_jobs, given, task, status, limit, everybody=everybody))

    def end_session(
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
        from memstone.engine.work import sessions

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.run(sessions.end_session, given))

    def ingest_session(
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
        from memstone.engine.work.sessions import SessionRequest, ingest_session

        request = SessionRequest(turns, user_id, agent_id, run_id, occurred_at, metadata, skip_extraction)
        return drive(self._engine.run(ingest_session, request))

    def backfill(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> BackfillResult:
        """Form memory of chats that were held before; those that were distilled, or wait for it, are left alone.

        A conversation holds its ``id`` (or ``run_id``), its ``messages`` (or ``turns``), and perhaps ``user_id``,
        ``agent_id`` and ``date``. What tools and systems say is skipped. ``progress(done, total)`` is called after each
        one, and ends it by returning ``False``; each is a transaction of its own, so it may be called again.

        Returns how many were ``ingested``, ``known`` and ``failed``, whether it was ``cancelled``, and ``results``.
        """
        from memstone.engine.work import backfill

        given = {"user_id": user_id, "agent_id": agent_id}
        return drive(self._engine.run(backfill.backfill_conversations, conversations, given, progress))

    def health(self) -> HealthReport:
        """Whether memory works: ``level`` is ``healthy``, ``degraded`` or ``unavailable``, and ``reasons`` say why.

        ``probe`` tells where writing fails, if it does: a turn and a row of the inbox are written, found and taken back
        in one transaction.
        """
        from memstone.engine import status as health

        return drive(health.check_health(self._engine.parts))

    def work(self, seconds: float | None = None, *, all_tenants: bool = False) -> WorkerResult:
        """Be a worker: form memory of sessions as they become due, until somebody stops it or the time is over.

        ``seconds=0`` does what is due now. Any number of workers, in any number of processes, may share a store.
        """
        from memstone.engine.work import worker

        return drive(self._engine.run(worker.run_worker, seconds, all_tenants=all_tenants))

    def flush(
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
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.flush(given, everybody=everybody))
