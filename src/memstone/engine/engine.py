"""One object with every verb; each delegates to the module that knows how.

The modules that learn, plan or scan are loaded when they are first needed: their rules take most of the time that
loading everything would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast
from weakref import finalize

from memstone.core.checks.filters import Filters
from memstone.engine.add import add
from memstone.engine.add_request import AddRequest
from memstone.engine.policy import apply_scope_policy, tuned_for
from memstone.engine.recall import listing
from memstone.engine.runtime import Parts
from memstone.engine.scoping import ContextRequest, ExportLines, IngestRequest, Loop, Progress, admit_filters
from memstone.engine.search_request import SearchRequest
from memstone.engine.storing import indexer, revise
from memstone.engine.storing import revise as lifecycle
from memstone.engine.storing.repeat_counter import write_down
from memstone.engine.storing.store import as_text
from memstone.engine.worker_state import IN_BACKGROUND
from memstone.errors import InvalidInput
from memstone.model.access import Bounds
from memstone.model.context import ContextPack
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import (
        AddBatchResult,
        AddResult,
        ContextReceipt,
        DeleteAllResult,
        DeleteBatchResult,
        DeleteResult,
        EntityList,
        FlushResult,
        HistoryEvent,
        IngestResult,
        LoadResult,
        MemoryItem,
        MemoryList,
        RedactResult,
        ReindexResult,
        RelationList,
        SearchResults,
        StoreCheck,
        StoreStats,
        UpdateBatchResult,
        UpdateResult,
    )

P = ParamSpec("P")
T = TypeVar("T")
_CLOSING: Final = 10.0
"""So many seconds closing waits for receipts at most."""


class Engine:
    """The memory engine. Opened on first use; the same coroutines serve both faces."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._open = False
        self._guest = False

    async def open(self) -> None:
        """Open the store, and let what was shown until now be accounted for, so that no verb overtakes that."""
        await self._begin()
        await self.parts.late.settled(self.parts.io)

    async def _begin(self) -> None:
        """Open the store; harmless when it is open. The verbs of a chat wait for no account."""
        if not self._open:
            await self.parts.ledger.open()
            if hasattr(self.parts.embedding.embedder, "known_as"):
                from memstone.engine.storing.indexer import identify_embedder

                await identify_embedder(self.parts)
            self._open = True
            if not self._guest:
                self._settle_in()

    def _settle_in(self) -> None:
        """Start the worker, where there is to be one; it leaves with this engine, if nobody closes it."""
        self.parts.workshop.home = self.parts
        finalize(self, self.parts.workshop.leave).atexit = False
        if self.parts.policy.formation.mode in IN_BACKGROUND:
            from memstone.engine.work.worker import start_worker

            start_worker(self.parts)

    def acting_for(self, tenant_id: str, user_id: str | None, agent_id: str | None) -> Engine:
        """See ``Memory.acting_for``."""
        named = Scope.of(user_id=user_id, agent_id=agent_id, tenant_id=tenant_id)
        return self.within(Bounds(tenant_id, named.user_id, named.agent_id))

    def within(self, bounds: Bounds) -> Engine:
        """The same engine for a caller who reaches no more than this; it is closed with the one it is made of."""
        from memstone.engine.access.bounds import apply_bounds

        other = Engine(apply_bounds(self.parts.of(bounds.tenant_id), bounds))
        other._open, other._guest = self._open, True
        return other

    def dry(self, dry_run: bool) -> Engine:  # noqa: FBT001 - the argument of the verb, passed on
        """Return this engine, or for a dry run one that takes every change back."""
        if not isinstance(dry_run, bool):
            raise InvalidInput(f"dry_run must be true or false, not {dry_run!r}")
        if not dry_run:
            return self
        from memstone.engine.dry_run import DryRun, without_effect

        other = DryRun(without_effect(self.parts))
        other._open, other._guest = self._open, True  # noqa: SLF001 - another engine, as in acting_for
        return other

    async def run(self, verb: Callable[Concatenate[Parts, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Open the store if need be, and carry out what a module of the engine knows how to do."""
        await self.open()
        return await verb(self.parts, *args, **kwargs)

    async def ask(self, verb: Callable[Concatenate[Parts, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same on the way of a chat: who asks, and what holds for them, depends on no account of what was shown."""
        await self._begin()
        return await verb(self.parts, *args, **kwargs)

    def _shape_answer(self, answer: T) -> T:
        """The answer, or only its results for callers who are used to bare lists: the types are for all others."""
        if not self.parts.policy.bare_lists:
            return answer
        bare: T = cast("Any", answer)["results"]
        return bare

    async def _meet(self, agent_ids: Sequence[Any], answer: Mapping[str, Any]) -> None:
        """Give agents that were named for the first time their rows, unless nothing was stored for them."""
        named = {one for one in agent_ids if one is not None and isinstance(one, Hashable)}
        if named and answer.get("status") not in ("paused", "disabled"):
            from memstone.engine import agents

            await agents.register_agents(self.parts, named)

    async def add(self, request: AddRequest) -> AddResult:
        """See ``Memory.add``."""
        await self._begin()
        request.filters = await admit_filters(self.parts, request.filters)
        with self.parts.workshop.call():
            answer = await add(await tuned_for(self.parts, request), request)
            await self._meet([request.agent_id], answer)
        return self._shape_answer(answer)

    async def add_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> AddBatchResult:
        """See ``Memory.add_many``."""
        await self.open()
        from memstone.engine.add_many import add_many

        answer = await add_many(self.parts, items, idempotency_key)
        await self._meet([item.get("agent_id") for item in items if isinstance(item, Mapping)], answer)
        return answer

    async def ingest(self, request: IngestRequest) -> IngestResult:
        """See ``Memory.ingest``."""
        await self.open()
        from memstone.engine.learning import ingest

        answer = await ingest.ingest_transcript(await tuned_for(self.parts, request), request)
        await self._meet([request.agent_id], answer)
        return answer

    async def search(self, request: SearchRequest) -> SearchResults:
        """See ``Memory.search``."""
        await (self.open() if request.filters else self._begin())  # a filter may ask how often something was shown
        from memstone.engine.recall import search

        request.filters = await admit_filters(self.parts, request.filters)
        with self.parts.workshop.call():
            return self._shape_answer(await search.search_memories(await tuned_for(self.parts, request), request))

    async def context(self, request: ContextRequest) -> ContextPack:
        """See ``Memory.context``."""
        await self._begin()
        from memstone.engine.recall import context

        with self.parts.workshop.call():
            return await context.build_context(await tuned_for(self.parts, request), request)

    async def shown(self, request: ContextRequest, loop: Loop | None = None) -> ContextPack:
        """The same for a service that has a model to ask: its account is kept behind the answer."""
        await self._begin()
        from memstone.engine.shown import build_block, shown_in

        with self.parts.workshop.call():
            parts = await tuned_for(self.parts, request)
            return await (build_block(parts, request) if loop is None else shown_in(parts, request, loop))

    async def receipt(self, receipt_id: str) -> ContextReceipt | None:
        """See ``Memory.receipt``."""
        await self.open()
        from memstone.engine.recall import receipts

        found = await receipts.get_receipt(self.parts, receipt_id)
        return None if found is None else found.as_dict()

    async def entities(self, given: Mapping[str, Any], limit: int, offset: int) -> EntityList:
        """See ``Memory.entities``."""
        await self.open()
        from memstone.engine.recall import graph

        return await graph.list_entities(self.parts, given, limit, offset)

    async def relations(self, given: Mapping[str, Any], limit: int, offset: int) -> RelationList:
        """See ``Memory.relations``."""
        await self.open()
        from memstone.engine.recall import graph

        return await graph.edges_listed(self.parts, given, limit, offset)

    def __reduce__(self) -> str:
        """Say why not: whoever pickles a memory wants to hand it to another process."""
        raise TypeError(
            "a Memory has an open store and cannot be pickled: create one in each process from its settings"
        )

    async def get(self, memory_id: str) -> MemoryItem | None:
        """See ``Memory.get``."""
        await self.open()
        return await listing.get_memory(self.parts, as_text(memory_id))

    async def get_all(self, request: listing.ListRequest) -> MemoryList:
        """See ``Memory.get_all``."""
        await self.open()
        request.filters = await admit_filters(self.parts, request.filters)
        return self._shape_answer(await listing.get_all(await tuned_for(self.parts, request), request))

    async def update(self, request: revise.UpdateRequest) -> UpdateResult:
        """See ``Memory.update``."""
        await self.open()
        return await revise.update_memory(self.parts, request)

    async def update_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> UpdateBatchResult:
        """See ``Memory.update_many``."""
        await self.open()
        return await revise.update_many(self.parts, items, idempotency_key)

    async def _purge_after_delete(self, answer: T) -> T:
        """What was deleted, without its words where they are not kept for a while; else a pass removes them later."""
        if self.parts.policy.upkeep.deleted_keep_days == 0:
            from memstone.engine.access.bounds import remove_bounds
            from memstone.engine.upkeep.sweep import forget_deleted

            await forget_deleted(
                remove_bounds(self.parts), self.parts.now()
            )  # of whatever is deleted, whoever deleted it
        return answer

    async def delete(self, memory_id: str) -> DeleteResult:
        """See ``Memory.delete``."""
        await self.open()
        return await self._purge_after_delete(await lifecycle.delete_memory(self.parts, memory_id))

    async def delete_many(self, ids: Sequence[str], idempotency_key: str | None) -> DeleteBatchResult:
        """See ``Memory.delete_many``."""
        await self.open()
        return await self._purge_after_delete(await lifecycle.delete_many(self.parts, ids, idempotency_key))

    async def delete_all(self, given: Mapping[str, Any], filters: Filters | None) -> DeleteAllResult:
        """See ``Memory.delete_all``."""
        await self.open()
        return await self._purge_after_delete(await lifecycle.delete_all(self.parts, given, filters))

    async def history(self, memory_id: str) -> list[HistoryEvent]:
        """See ``Memory.history``."""
        await self.open()
        return await listing.get_history(self.parts, memory_id)

    async def reset(self) -> None:
        """See ``Memory.reset``."""
        await self.open()
        await lifecycle.reset_tenant(self.parts)

    async def stats(self) -> StoreStats:
        """See ``Memory.stats``."""
        await self.open()
        return await listing.get_stats(self.parts)

    async def flush(self, given: Mapping[str, Any], *, everybody: bool) -> FlushResult:
        """See ``Memory.flush``."""
        await self.open()
        from memstone.engine.work import pending

        return await pending.flush_sessions(self.parts, given, everybody=everybody)

    async def reindex(self, progress: Progress | None) -> ReindexResult:
        """See ``Memory.reindex``."""
        await self.open()
        return await indexer.reindex_vectors(
            await apply_scope_policy(self.parts, Scope(self.parts.tenant_id)), progress
        )

    async def redact(self, progress: Progress | None, *, dry_run: bool) -> RedactResult:
        """See ``Memory.redact``."""
        await self.open()
        from memstone.engine.erasing import masking

        return await masking.redact_stored(self.parts, progress, dry_run=dry_run)

    def export(self, given: Mapping[str, Any], *, everybody: bool) -> AsyncIterator[dict[str, Any]]:
        """See ``Memory.export``."""
        from memstone.engine.moving import transfer

        return transfer.export_lines(self, given, everybody=everybody)

    async def load(self, records: ExportLines) -> LoadResult:
        """See ``Memory.load``."""
        await self.open()
        from memstone.engine.moving import transfer

        return await transfer.load_export(self.parts, records)

    async def check(self) -> StoreCheck:
        """What a doctor wants to know about the store."""
        await self.open()
        return await self.parts.ledger.check()

    async def close(self) -> None:
        """See ``Memory.close``."""
        if self._guest:  # the store and its worker belong to whoever opened them
            return
        await self.parts.late.closed(self.parts.io, _CLOSING)
        await self.parts.io.finish()
        await write_down(self.parts)
        await self.parts.ledger.close()
        await self.parts.io.close()
