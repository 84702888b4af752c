"""Conversations: take them in, end them, read what was said and what they were about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.core.talk.transcript import TranscriptInput
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.results import BackfillResult, EpisodeList, FlushResult, SessionEndList, SessionResult, TranscriptPage


class AsyncSessionVerbs(Group):
    """Conversations: take them in, end them, read what was said and what they were about."""

    async def ingest(
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
        """Take in one whole conversation and learn from it at once, without waiting for silence.

        ``turns`` are pairs (``{"user", "assistant", "date"}``) or messages; ``occurred_at`` is when those without a
        date of their own were said. A conversation that is known under its ``run_id`` is replaced: what waited to be
        learned and its episode go first. ``skip_extraction=True`` stores the words only.

        Returns ``{"status", "turns_ingested", "distillation", "episode_id"}``. ``status`` is ``ok`` when nothing is
        left to do and ``pending`` when it waits for another try; ``distillation`` says what happened: ``distilled``,
        ``no_signals``, ``skipped:...``, ``empty:...``, ``dead_letter:...`` or ``error:...``.
        """
        from memstone.engine.work.sessions import SessionRequest, ingest_session

        request = SessionRequest(turns, user_id, agent_id, run_id, occurred_at, metadata, skip_extraction)
        return await self.engine.run(ingest_session, request)

    async def end(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> SessionEndList:
        """Learn from a session now, because the user has left it; from every session of the scope that waits.

        Returns ``{"results": [{"user_id", "agent_id", "run_id", "distillation", ...}]}``; ``distillation`` says how it
        ended: ``distilled``, or why not.
        """
        from memstone.engine.work import sessions

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(sessions.end_session, given)

    async def backfill(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> BackfillResult:
        """Learn from chats that were held before; those that are known, or wait already, are left alone.

        A conversation holds its ``id`` (or ``run_id``), its ``messages`` (or ``turns``), and perhaps ``user_id``,
        ``agent_id`` and ``date``. What tools and systems say is skipped. ``progress(done, total)`` is called after each
        one, and ends it by returning ``False``; each is a transaction of its own, so you may call it again.

        Returns how many were ``ingested``, ``known`` and ``failed``, whether it was ``cancelled``, and ``results``.
        """
        from memstone.engine.work import backfill

        given = {"user_id": user_id, "agent_id": agent_id}
        return await self.engine.run(backfill.backfill_conversations, conversations, given, progress)

    async def flush(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> FlushResult:
        """Learn now from what waits in a scope, or with ``everybody`` from all that waits, due or not.

        What could not be stored before is tried again.

        Returns ``{"stored": n, "waiting": n}``.
        """
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.flush(given, everybody=everybody)

    async def transcript(
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

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(management.read_transcript, given, limit, offset)

    async def episodes(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
        since: When | None = None,
    ) -> EpisodeList:
        """List what sessions were about, newest first: one episode each, ``since`` when they took place.

        Returns ``{"results": [{"id", "summary", "topics", "entities", "decisions", "action_items", ...}]}``; ``facts``
        are the ids of the facts that an episode speaks of.
        """
        from memstone.engine.layers import episodes

        request = episodes.EpisodesRequest(user_id, agent_id, run_id, limit, offset, since)
        return await self.engine.run(episodes.list_episodes, request)
