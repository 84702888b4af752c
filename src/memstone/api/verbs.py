"""The methods of ``Memory`` itself, and the groups of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.api.admin import AdminVerbs
from memstone.api.agents import AgentVerbs
from memstone.api.base import Group
from memstone.api.graph import GraphVerbs
from memstone.api.identity import IdentityVerbs
from memstone.api.profile import ProfileVerbs
from memstone.api.review import ReviewVerbs
from memstone.api.sessions import SessionVerbs
from memstone.api.settings import SettingVerbs
from memstone.api.sharing import SharingVerbs
from memstone.api.vectors import VectorVerbs
from memstone.core.checks.filters import Filters
from memstone.core.talk.messages import MessagesInput
from memstone.core.talk.transcript import TranscriptInput
from memstone.drive import drive, drive_iter
from memstone.engine.add_request import AddRequest
from memstone.engine.recall.lookup import ListRequest
from memstone.engine.request_scope import ContextRequest, ExportLines, IngestRequest, Progress
from memstone.engine.search_request import SearchRequest
from memstone.engine.store.revise import UNSET, UpdateRequest
from memstone.model.context import ContextPack
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import CallerKind, GateName, LayerName, SearchScope, StatusName, Strategy
    from memstone.results import (
        AddBatchResult,
        AddResult,
        ContextReceipt,
        DeleteAllResult,
        DeleteBatchResult,
        DeleteResult,
        Explanation,
        HistoryEvent,
        IngestResult,
        LoadResult,
        MemoryItem,
        MemoryList,
        SearchResults,
        StoreStats,
        UndoResult,
        UpdateBatchResult,
        UpdateResult,
    )


class MemoryVerbs(Group):
    """The methods of a memory, and the groups with everything else."""

    @property
    def sessions(self) -> SessionVerbs:
        """Conversations: store them, end them, read what was said and what they were about."""
        return SessionVerbs(self.engine)

    @property
    def review(self) -> ReviewVerbs:
        """Look through memories, correct them, and say what was useful."""
        return ReviewVerbs(self.engine)

    @property
    def identity(self) -> IdentityVerbs:
        """Who a user is: what they wrote about themselves, and what was derived from what they said."""
        return IdentityVerbs(self.engine)

    @property
    def profile(self) -> ProfileVerbs:
        """What a model always sees about a user, and what it would see for a message."""
        return ProfileVerbs(self.engine)

    @property
    def graph(self) -> GraphVerbs:
        """People, places and things in memories, and how they are related."""
        return GraphVerbs(self.engine)

    @property
    def sharing(self) -> SharingVerbs:
        """Share memories, stop sharing them, and move them to someone else."""
        return SharingVerbs(self.engine)

    @property
    def vectors(self) -> VectorVerbs:
        """Memories with your own vectors."""
        return VectorVerbs(self.engine)

    @property
    def settings(self) -> SettingVerbs:
        """Settings in the store, and pauses."""
        return SettingVerbs(self.engine)

    @property
    def agents(self) -> AgentVerbs:
        """Agents that share this memory, each with its settings."""
        return AgentVerbs(self.engine)

    @property
    def admin(self) -> AdminVerbs:
        """Look after a store: health, upkeep, backups, keys and accounts."""
        return AdminVerbs(self.engine)

    def add(
        self,
        messages: MessagesInput,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        filters: Filters | None = None,
        prompt: str | None = None,
        infer: bool = True,
        strict: bool = False,
        kind: CallerKind | None = None,
        key: str | None = None,
        occurred_at: When | None = None,
        expires_at: When | None = None,
        keep_turns: bool | None = None,
        project_id: str | int | None = None,
    ) -> AddResult:
        """Learn from messages: a text (said by a user), one message, or a list of them.

        Every message is stored as a turn. The facts it states are compared with what is known, and added, updated,
        deleted or ignored; each result says which, why, and what words it comes from. Nothing to learn is not an error:
        ``results`` is then empty. A small neural network learns by default, or a language model if one is configured;
        ``prompt`` replaces its instructions for this call. If a model or the embedder cannot be reached, the answer is
        ``"deferred"``, with the ``error``, and the next call in the same scope retries; with ``strict=True`` the call
        raises the error instead, and nothing is written. With ``keep_turns=False`` the facts keep their quotes, and the
        turns are not stored. Secrets are masked before anything is stored, and ``warnings`` say so.

        With ``infer=False`` each user or assistant message is stored as it is, once: the same text by the same speaker
        in exactly the same scope returns ``NONE``. Only then can you pass a ``kind`` and a ``key``; a second add with
        the same key replaces the text of the first and keeps its id.

        With an ``agent_id`` and ``kind="procedural"``, a language model summarises what the agent did, in one memory;
        without one the messages are stored as they are, and ``warnings`` say so.

        ``filters`` can give the scope, and choose the memories that new facts are compared with: the others are neither
        changed nor treated as already known. ``metadata`` is stored with everything from the call. ``occurred_at`` is
        when it was said; after ``expires_at`` it is hidden. What is said in a project (``project_id``) is also
        remembered there, and only there if the call names nobody else.

        If Memstone learns later (``write.mode``), the turns are stored, no model is asked, and the status is
        ``"queued"``.

        Returns ``{"results": [{"id", "event", "memory", ...}], "status": "ok" | "partial" | "deferred" | "queued"}``.
        """
        request = AddRequest(messages, user_id, agent_id, run_id, metadata, filters, infer, kind, key, occurred_at)
        request.expires_at, request.prompt = expires_at, prompt
        request.strict, request.keep_turns, request.project_id = strict, keep_turns, project_id
        return drive(self.engine.add(request))

    def add_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> AddBatchResult:
        """Add up to 1,000 items; each has the arguments of ``add``.

        Memstone learns from them one after the other; those with ``infer=False`` are stored in one transaction after
        that. An invalid item gets its own error and does not affect the others. With an ``idempotency_key`` the same
        batch is processed once, however often you send it within a day.
        """
        return drive(self.engine.add_many(items, idempotency_key))

    def ingest(
        self,
        turns: TranscriptInput,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: When | None = None,
        expires_at: When | None = None,
        learn: bool = False,
        progress: Progress | None = None,
    ) -> IngestResult:
        """Store a transcript of any length as it is, turn by turn, without learning from it yet.

        A turn is a message that can also have its ``occurred_at`` (or ``timestamp``), ``name`` and ``run_id``; without
        a time it has the time of the one before. Known turns are not stored twice, so you can send a transcript again.
        With ``learn=True`` it is also queued, and ``flush`` learns its facts. ``progress(done, total)`` is called
        during the work.

        Returns how many turns were ``stored``, ``known``, ``deleted`` (by a person, so they stay deleted), ``masked``,
        ``dropped``, ``skipped`` (tool and system messages), and how many pieces were ``queued`` for learning.
        """
        request = IngestRequest(turns, user_id, agent_id, run_id, metadata, occurred_at, expires_at, learn, progress)
        return drive(self.engine.ingest(request))

    def search(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        filters: Filters | None = None,
        min_score: float | None = None,
        layers: LayerName | Sequence[LayerName] | None = None,
        as_of: When | None = None,
        strategy: Strategy | None = None,
        explain: bool = False,
        show_expired: bool = False,
        scope: SearchScope | None = None,
        project_id: str | int | None = None,
    ) -> SearchResults:
        """Find memories by words and by meaning, best first.

        You can give the scope by keywords or inside ``filters``. ``scope`` widens or narrows it: ``session`` (the run),
        ``owner`` (every run of the user), ``global`` (also what belongs to the user ``*``, which everybody shares).
        ``limit`` is 100 by default. ``strategy`` is ``hybrid`` (words and meaning), ``semantic`` (meaning), ``exact``
        (the newest that contain the words), ``recent`` (the newest, whatever the query), ``vector`` or ``text`` (one
        channel only). ``as_of`` searches what was known at that time. ``explain`` adds the parts of each score. With a
        ``project_id``, the search also finds what is known in the project.

        ``layers=["turn"]`` searches what was said. A turn that is out of date names what holds now in
        ``superseded_by``. If facts are searched as well, a turn whose fact is found is its ``source``, and appears
        itself only if it answers better.

        Returns ``{"results": [{"id", "memory", "score", "metadata", ...}]}``; ``degraded`` says which channel was
        missing.
        """
        request = SearchRequest(query, user_id, agent_id, run_id, limit, filters, min_score, layers, as_of, strategy)
        request.explain, request.show_expired, request.scope = explain, show_expired, scope
        request.project_id = project_id
        return drive(self.engine.search(request))

    def context(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        budget: int | None = None,
        gate: GateName | None = None,
        project_id: str | int | None = None,
        as_of: When | None = None,
        scope: SearchScope | None = None,
    ) -> ContextPack:
        """Return what to put into a prompt for a message, within a token budget; empty if memory does not help.

        ``gate`` is ``always``, ``heuristic`` (rules decide whether memory helps, and which part of it) or ``llm``. The
        pack's ``text`` is fenced and comes in two parts: ``stable`` stays byte-for-byte the same until its memories
        change, ``volatile`` belongs to this query. ``citations`` say where each line comes from, and ``receipt_id``
        leads to the record of what was considered, chosen and dropped. With a ``project_id``, what is known in the
        project is shown as well. ``as_of`` returns what a model would have seen at that time. ``scope`` is ``session``
        (only the run), ``owner`` (every run) or ``global`` (also what everybody shares).
        """
        more: dict[str, Any] = {"project_id": project_id, "as_of": as_of, "scope": scope}
        return drive(self.engine.context(ContextRequest(query, user_id, agent_id, run_id, budget, gate, **more)))

    def receipt(self, receipt_id: str) -> ContextReceipt | None:
        """Return the record of a context: what was considered, chosen and dropped, why, and how long each step took."""
        return drive(self.engine.receipt(receipt_id))

    def get(self, memory_id: str) -> MemoryItem | None:
        """Return one memory by its id, or ``None``."""
        return drive(self.engine.get(memory_id))

    def get_all(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        offset: int | None = None,
        page: int | None = None,
        filters: Filters | None = None,
        layers: LayerName | Sequence[LayerName] | None = None,
        kind: CallerKind | None = None,
        q: str | None = None,
        status: StatusName | None = None,
        as_of: When | None = None,
        show_expired: bool = False,
        counts: bool = False,
    ) -> MemoryList:
        """List the memories of a scope, most recently written first.

        ``limit`` is 100 by default. ``q`` keeps memories whose text or key contains it. ``offset`` takes precedence
        over ``page``. ``counts`` adds how many match in total and by kind.
        """
        request = ListRequest(
            user_id,
            agent_id,
            run_id,
            limit,
            offset,
            page,
            filters,
            layers,
            kind,
            q,
            status,
            as_of,
            show_expired,
            counts,
        )
        return drive(self.engine.get_all(request))

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        kind: CallerKind | None = None,
        key: str | None = UNSET,
        expires_at: When | None = UNSET,
        occurred_at: When | None = None,
    ) -> UpdateResult:
        """Change a memory. Its id and creation time stay, and the old version stays in the history.

        ``metadata`` replaces the old metadata; ``expires_at=None`` and ``key=None`` clear them. Returns the memory as
        it is now; raises ``NotFoundError`` if there is none.
        """
        request = UpdateRequest(memory_id, text, metadata, kind, key, expires_at, occurred_at)
        return drive(self.engine.update(request))

    def update_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> UpdateBatchResult:
        """Change up to 1,000 memories in one transaction; each item has the arguments of ``update``."""
        return drive(self.engine.update_many(items, idempotency_key))

    def delete(self, memory_id: str, *, dry_run: bool = False) -> DeleteResult:
        """Delete a memory; its history stays. Raise ``NotFoundError`` if there is none.

        With ``dry_run``, here and in every other deletion, the answer says what would be deleted, and nothing is.
        """
        return drive(self.engine.dry(dry_run).delete(memory_id))

    def delete_many(
        self, ids: Sequence[str], *, idempotency_key: str | None = None, dry_run: bool = False
    ) -> DeleteBatchResult:
        """Delete up to 1,000 memories in one transaction, with a result for each."""
        return drive(self.engine.dry(dry_run).delete_many(ids, idempotency_key))

    def delete_all(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        filters: Filters | None = None,
        dry_run: bool = False,
    ) -> DeleteAllResult:
        """Delete everything in a scope, in every layer. Returns ``{"deleted": n}``."""
        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.dry(dry_run).delete_all(values, filters))

    def history(self, memory_id: str) -> list[HistoryEvent]:
        """List everything that happened to a memory, oldest first; deleted memories keep their history."""
        return drive(self.engine.history(memory_id))

    def explain(self, memory_id: str) -> Explanation:
        """Explain why a memory is known: its words, the ``turn`` they come from, and every change with its reason.

        ``memory`` is None if it was deleted, and ``turn`` is None if it was not learned from a turn, or its turn is
        gone; the ``history`` stays. Raises ``NotFoundError`` if there never was such a memory.
        """
        from memstone.engine.recall import lookup

        return drive(self.engine.run(lookup.explain_memory, memory_id))

    def reset(self) -> None:
        """Remove all memories, with their history and indexes."""
        drive(self.engine.reset())

    def stats(self) -> StoreStats:
        """Count live memories (and how many of them are turns), events, full-text rows, vectors and queued work."""
        return drive(self.engine.stats())

    def export(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Export every version, link and event of a scope, or with ``everybody`` of all, one dictionary per line."""
        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive_iter(self.engine.export(values, everybody=everybody))

    def load(self, records: ExportLines) -> LoadResult:
        """Restore an export with ids and history; what already exists is left alone.

        ``records`` are what ``export`` returns, from this memory or another one.
        """
        return drive(self.engine.load(records))

    def undo(self, event_id: str | None = None, *, job_id: str | None = None) -> UndoResult:
        """Undo one change, or with ``job_id`` everything a job did; all of it or nothing.

        ``history`` and ``review.events`` return the ids. You can undo a change as long as nothing has changed the
        memory since; otherwise a ``Conflict`` names what did. An undo is an event too, and can itself be undone.

        Returns ``{"undone": n, "results": [{"id", "event", "memory", "status", "event_id", "undoes"}]}``.
        """
        from memstone.engine.change import undo

        return drive(self.engine.run(undo.undo_changes, event_id, job_id))
