"""What is remembered: the verbs every memory has.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.core.checks.filters import Filters
from memstone.core.talk.messages import MessagesInput
from memstone.core.talk.transcript import TranscriptInput
from memstone.engine.scoping import ExportLines
from memstone.engine.storing.revise import UNSET
from memstone.model.context import ContextPack
from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import CallerKind, GateName, LayerName, SearchScope, StatusName, Strategy
    from memstone.results import (
        AddBatchResult,
        AddResult,
        ContextReceipt,
        DeleteAllResult,
        DeleteBatchResult,
        DeleteResult,
        HistoryEvent,
        IngestResult,
        LoadResult,
        MemoryItem,
        MemoryList,
        SearchResults,
        StoreCheck,
        StoreStats,
        UpdateBatchResult,
        UpdateResult,
    )


class Remembering(Remote):
    """What is remembered: the verbs every memory has."""

    async def add(
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
        """Learn from messages: text (which a user said), one message, or a list of them.

        Every message is kept as a turn, and the facts it states are added, revised, retracted or ignored against what
        is known; each result says which, why, and what words it comes from. Nothing to learn is no error: ``results``
        is then empty. Rules learn by default, a language model when one is configured; ``prompt`` replaces its
        instructions for this call. When a model or the embedder is out of reach the answer is ``"deferred"``, with the
        ``error``, and the next call in the same scope tries again; ``strict=True`` raises instead, and nothing is
        written. With ``keep_turns=False`` the facts keep their quotes, and what was said is not kept. Secrets are
        masked before anything is stored, and ``warnings`` say so.

        With ``infer=False`` each user or assistant message is stored as it is, once: the same text by the same speaker
        in exactly the same scope reports ``NONE``. Only then may it have a ``kind`` and a ``key``; a second add under a
        key replaces the text of the first and keeps its id.

        ``filters`` may name the scope, and choose the memories that new facts are compared with: the others are neither
        changed by them nor taken to say the same. ``metadata`` is kept with everything that comes of the call.
        ``occurred_at`` is when it was said; after ``expires_at`` it is no longer seen. What is said in a project
        (``project_id``) is remembered there as well, and only there when nobody else is named.

        Where memory forms later (``write.mode``) what was said is kept, no model is asked, and the status is
        ``"queued"``.

        Returns ``{"results": [{"id", "event", "memory", ...}], "status": "ok" | "partial" | "deferred" | "queued"}``.
        """
        given: dict[str, Any] = {
            "messages": messages,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "metadata": metadata,
            "filters": filters,
            "prompt": prompt,
            "infer": infer,
            "strict": strict,
            "kind": kind,
            "key": key,
            "occurred_at": occurred_at,
            "expires_at": expires_at,
            "keep_turns": keep_turns,
            "project_id": project_id,
        }
        result: AddResult = await self._link.call("add", given)
        return result

    async def add_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> AddBatchResult:
        """Remember up to 1,000 items; each holds the arguments of ``add``.

        They are learned from one after the other; those with ``infer=False`` are stored in one transaction, after that.
        An item that is wrong has its own error and does not hold the others up. With an ``idempotency_key`` the same
        batch is carried out once, however often it is sent within a day.
        """
        given: dict[str, Any] = {"items": items, "idempotency_key": idempotency_key}
        result: AddBatchResult = await self._link.call("add_many", given)
        return result

    async def ingest(
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
    ) -> IngestResult:
        """Keep a transcript of any length as it is, turn by turn, without learning from it now.

        A turn is a message that may also have its ``occurred_at`` (or ``timestamp``), ``name`` and ``run_id``; without
        a time it was said when the one before it was. What is known is not stored twice, so a transcript may be sent
        again. With ``learn=True`` it also waits in the inbox, and ``flush`` learns its facts.

        Returns how many turns were ``stored``, ``known``, ``deleted`` (by a person, so not taken back), ``masked``,
        ``dropped``, ``skipped`` (what tools and systems say), and how many pieces were ``queued`` for learning.
        """
        given: dict[str, Any] = {
            "turns": turns,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "metadata": metadata,
            "occurred_at": occurred_at,
            "expires_at": expires_at,
            "learn": learn,
        }
        result: IngestResult = await self._link.call("ingest", given)
        return result

    async def search(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
        min_score: float | None = None,
        threshold: float | None = None,
        layers: LayerName | Sequence[LayerName] | None = None,
        as_of: When | None = None,
        strategy: Strategy | None = None,
        explain: bool = False,
        show_expired: bool = False,
        scope: SearchScope | None = None,
        project_id: str | int | None = None,
    ) -> SearchResults:
        """Find memories by words and by meaning, best first.

        The scope may be given by keywords or inside ``filters``; ``scope`` widens or narrows it: ``session`` (the run),
        ``owner`` (every run of the user), ``global`` (also what belongs to the user ``*``, which is everybody's).
        ``limit`` is 100 when it is not given; ``top_k`` is another name for it, and ``threshold`` for ``min_score``.
        ``strategy`` is ``hybrid`` (words and meaning), ``semantic`` (meaning), ``exact`` (the newest that hold the
        words), ``recent`` (the newest, whatever the query), ``vector`` or ``text`` (one channel alone). ``as_of``
        searches what was known at that time. ``explain`` adds what each score is made of. With a ``project_id`` what is
        known in the project is found too.

        ``layers=["turn"]`` looks for what was said. A turn that was overtaken names what holds now in
        ``superseded_by``; where facts are looked for as well, a turn whose fact is found is its ``source``,
        and is shown itself only if it answers better.

        Returns ``{"results": [{"id", "memory", "score", "metadata", ...}]}``; ``degraded`` says which channel was out.
        """
        given: dict[str, Any] = {
            "query": query,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "top_k": top_k,
            "filters": filters,
            "min_score": min_score,
            "threshold": threshold,
            "layers": layers,
            "as_of": as_of,
            "strategy": strategy,
            "explain": explain,
            "show_expired": show_expired,
            "scope": scope,
            "project_id": project_id,
        }
        result: SearchResults = await self._link.call("search", given)
        return result

    async def context(
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
        """What to put into a prompt for this message, within a budget of tokens; empty when memory does not help.

        ``gate`` is ``always``, ``heuristic`` (rules decide whether memory helps, and which part of it) or ``llm``. The
        pack's ``text`` is fenced and comes in two parts: ``stable`` stays the same byte for byte until what it is made
        of changes, ``volatile`` belongs to this query. ``citations`` say where each line comes from, ``receipt_id``
        leads to the account of what was considered, chosen and dropped. With a ``project_id`` what is known in the
        project is shown as well. ``as_of`` tells what would have been shown at that time. ``scope`` is ``session`` (the
        run alone), ``owner`` (whatever the run) or ``global`` (also what is everybody's).
        """
        given: dict[str, Any] = {
            "query": query,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "budget": budget,
            "gate": gate,
            "project_id": project_id,
            "as_of": as_of,
            "scope": scope,
        }
        return await self._link.context(given)

    async def receipt(self, receipt_id: str) -> ContextReceipt | None:
        """The account of a context: what was considered, chosen and dropped, why, and how long each step took."""
        given: dict[str, Any] = {"receipt_id": receipt_id}
        result: ContextReceipt | None = await self._link.call("receipt", given)
        return result

    async def get(self, memory_id: str) -> MemoryItem | None:
        """One memory by its id, or ``None``."""
        given: dict[str, Any] = {"memory_id": memory_id}
        result: MemoryItem | None = await self._link.call("get", given)
        return result

    async def get_all(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        top_k: int | None = None,
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
        """List what a scope sees, most recently written first.

        ``limit`` is 100 when it is not given; ``top_k`` is another name for it. ``q`` keeps memories whose text or key
        contains it. ``offset`` wins over ``page``. ``counts`` adds how many
        match in all and by kind.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "top_k": top_k,
            "offset": offset,
            "page": page,
            "filters": filters,
            "layers": layers,
            "kind": kind,
            "q": q,
            "status": status,
            "as_of": as_of,
            "show_expired": show_expired,
            "counts": counts,
        }
        result: MemoryList = await self._link.call("get_all", given)
        return result

    async def update(
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
        """Change a memory. Its id and birth stay, the old version stays in the history.

        ``metadata`` replaces the old metadata; ``expires_at=None`` and ``key=None`` clear them. Returns the memory as
        it is now; ``NotFoundError`` when there is none.
        """
        given: dict[str, Any] = {
            "memory_id": memory_id,
            "text": text,
            "metadata": metadata,
            "kind": kind,
            "key": key,
            "expires_at": expires_at,
            "occurred_at": occurred_at,
        }
        result: UpdateResult = await self._link.call("update", given)
        return result

    async def update_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> UpdateBatchResult:
        """Change up to 1,000 memories in one transaction; each item holds the arguments of ``update``."""
        given: dict[str, Any] = {"items": items, "idempotency_key": idempotency_key}
        result: UpdateBatchResult = await self._link.call("update_many", given)
        return result

    async def delete(self, memory_id: str, *, dry_run: bool = False) -> DeleteResult:
        """Delete a memory; its history stays. ``NotFoundError`` when there is none.

        With ``dry_run``, here and in every other deletion, the answer says what would be deleted and nothing is.
        """
        given: dict[str, Any] = {"memory_id": memory_id, "dry_run": dry_run}
        result: DeleteResult = await self._link.call("delete", given)
        return result

    async def delete_many(
        self,
        ids: Sequence[str],
        *,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> DeleteBatchResult:
        """Delete up to 1,000 memories in one transaction, with a result for each."""
        given: dict[str, Any] = {"ids": ids, "idempotency_key": idempotency_key, "dry_run": dry_run}
        result: DeleteBatchResult = await self._link.call("delete_many", given)
        return result

    async def delete_all(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        filters: Filters | None = None,
        dry_run: bool = False,
    ) -> DeleteAllResult:
        """Delete everything a scope sees, in every layer. Returns ``{"deleted": n}``."""
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "filters": filters,
            "dry_run": dry_run,
        }
        result: DeleteAllResult = await self._link.call("delete_all", given)
        return result

    async def history(self, memory_id: str) -> list[HistoryEvent]:
        """Everything that happened to a memory, oldest first; deleted ones keep theirs."""
        given: dict[str, Any] = {"memory_id": memory_id}
        result: list[HistoryEvent] = await self._link.call("history", given)
        return result

    async def reset(self) -> None:
        """Remove every memory, with history and indexes."""
        await self._link.reset()

    async def stats(self) -> StoreStats:
        """Counts: live memories and how many of them are turns, events, full-text rows, vectors, and what waits."""
        given: dict[str, Any] = {}
        result: StoreStats = await self._link.call("stats", given)
        return result

    def export(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> AsyncIterator[dict[str, Any]]:
        """Every version, link and event of a scope, or with ``everybody`` of all, one dictionary per JSON line."""
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "everybody": everybody}
        return self._link.export(given)

    async def load(self, records: ExportLines) -> LoadResult:
        """Put an export back, ids and history included; what is there already is left alone.

        ``records`` are what ``export`` gives, of this memory or another one.
        """
        return await self._link.load(records)

    async def check(self) -> StoreCheck:
        """The state of the store: location, schema, integrity."""
        given: dict[str, Any] = {}
        result: StoreCheck = await self._link.call("check", given)
        return result
