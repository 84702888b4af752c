"""Conversations: store them, end them, read what was said and what they were about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.core.talk.transcript import TranscriptInput
from memstone.drive import drive
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.results import BackfillResult, EpisodeList, FlushResult, SessionEndList, SessionResult, TranscriptPage


class SessionVerbs(Group):
    """Conversations: store them, end them, read what was said and what they were about."""

    def ingest(
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
        """Store one whole conversation and learn from it at once, without waiting.

        ``turns`` are pairs (``{"user", "assistant", "date"}``) or messages; ``occurred_at`` is the time of those
        without a date. A conversation with a known ``run_id`` is replaced: its queued work and its episode are removed
        first. ``skip_extraction=True`` only stores the turns.

        Returns ``{"status", "turns_ingested", "distillation", "episode_id"}``. ``status`` is ``ok`` if nothing is left
        to do and ``pending`` if it will be retried; ``distillation`` says what happened: ``distilled``, ``no_signals``,
        ``skipped:...``, ``empty:...``, ``dead_letter:...`` or ``error:...``.
        """
        from memstone.engine.background.sessions import SessionRequest, ingest_session

        request = SessionRequest(turns, user_id, agent_id, run_id, occurred_at, metadata, skip_extraction)
        return drive(self.engine.run(ingest_session, request))

    def end(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> SessionEndList:
        """End a session and learn from it now; this applies to every waiting session of the scope.

        Returns ``{"results": [{"user_id", "agent_id", "run_id", "distillation", ...}]}``; ``distillation`` is the
        outcome: ``distilled``, or why not.
        """
        from memstone.engine.background import sessions

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(sessions.end_session, values))

    def backfill(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> BackfillResult:
        """Learn from earlier chats; those that are known or already waiting are skipped.

        A conversation has its ``id`` (or ``run_id``), its ``messages`` (or ``turns``), and optionally ``user_id``,
        ``agent_id`` and ``date``. Tool and system messages are skipped. ``progress(done, total)`` is called after each
        one, and stops the call by returning ``False``. Each conversation is its own transaction, so you can call it
        again.

        Returns how many were ``ingested``, ``known`` and ``failed``, whether it was ``cancelled``, and ``results``.
        """
        from memstone.engine.background import backfill

        values = {"user_id": user_id, "agent_id": agent_id}
        return drive(self.engine.run(backfill.backfill_conversations, conversations, values, progress))

    def flush(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> FlushResult:
        """Process what is waiting in a scope, or with ``everybody`` everything that is waiting, due or not.

        What could not be stored before is retried.

        Returns ``{"stored": n, "waiting": n}``.
        """
        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.flush(values, everybody=everybody))

    def transcript(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> TranscriptPage:
        """List what was said in a scope, in order and word for word.

        Returns ``{"results": [{"id", "index", "role", "content", "token_count", "occurred_at", ...}], "total": n}``.
        """
        from memstone.engine import management

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(management.read_transcript, values, limit, offset))

    def episodes(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
        since: When | None = None,
    ) -> EpisodeList:
        """List what sessions were about, newest first: one episode each, ``since`` a time.

        Returns ``{"results": [{"id", "summary", "topics", "entities", "decisions", "action_items", ...}]}``; ``facts``
        are the ids of the facts that an episode mentions.
        """
        from memstone.engine.layers import episodes

        request = episodes.EpisodesRequest(user_id, agent_id, run_id, limit, offset, since)
        return drive(self.engine.run(episodes.list_episodes, request))
