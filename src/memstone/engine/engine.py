"""The engine: every method of a memory, each passed on to the module that does the work.

The modules that learn, plan or scan are loaded when they are first needed, because loading their rules is slow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast
from weakref import finalize

from memstone.core.checks.filters import Filters
from memstone.engine.add import add
from memstone.engine.add_request import AddRequest
from memstone.engine.policy import apply_scope_policy, policy_for
from memstone.engine.recall import lookup
from memstone.engine.request_scope import ContextRequest, ExportLines, IngestRequest, Loop, Progress, admit_filters
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest
from memstone.engine.store import indexer, revise
from memstone.engine.store.repeat_counter import write_down
from memstone.engine.store.versions import as_text
from memstone.engine.worker_state import IN_BACKGROUND
from memstone.errors import InvalidInput
from memstone.model.access import Bounds
from memstone.model.context import ContextPack
from memstone.model.policy import Policy
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
    """The memory engine. Opened on first use; the same coroutines serve both interfaces."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._open = False
        self._guest = False

    async def open(self) -> None:
        """Open the store, and let what was shown until now be accounted for, so that no verb overtakes that."""
        await self._begin()
        await self.runtime.late.wait_until_stored(self.runtime.io)

    async def _begin(self) -> None:
        """Open the store; harmless when it is open. The verbs of a chat wait for no account."""
        if not self._open:
            await self.runtime.ledger.open()
            if hasattr(self.runtime.embedding.embedder, "known_as"):
                from memstone.engine.store.indexer import identify_embedder

                await identify_embedder(self.runtime)
            self._open = True
            if not self._guest:
                self._settle_in()

    def _settle_in(self) -> None:
        """Start the worker, where there is to be one; it leaves with this engine, if nobody closes it."""
        self.runtime.worker_state.home = self.runtime
        finalize(self, self.runtime.worker_state.leave).atexit = False
        if self.runtime.graph is not None:
            self.runtime.graph.watch(self.runtime.tenant_id)
            finalize(self, self.runtime.graph.stop).atexit = False
            self.runtime.graph.start()
        if self.runtime.policy.formation.mode in IN_BACKGROUND:
            from memstone.engine.background.worker import start_worker

            start_worker(self.runtime)

    def acting_for(self, tenant_id: str, user_id: str | None, agent_id: str | None) -> Engine:
        """See ``Memory.acting_for``."""
        named = Scope.of(user_id=user_id, agent_id=agent_id, tenant_id=tenant_id)
        return self.within(Bounds(tenant_id, named.user_id, named.agent_id))

    def within(self, bounds: Bounds) -> Engine:
        """Return the same engine for a caller who reaches no more than this.

        It is closed with the one it is made of.
        """
        from memstone.engine.access.bounds import apply_bounds

        other = Engine(apply_bounds(self.runtime.of(bounds.tenant_id), bounds))
        other._open, other._guest = self._open, True
        return other

    def with_policy(self, policy: Policy) -> Engine:
        """Return the same engine with another policy, for trying it out; it is closed with the one it is made of.

        It shares nothing that depends on a policy: neither what was resolved nor what was shown.
        """
        from memstone.engine.block_cache import BlockCache
        from memstone.engine.policy import Tunings

        own = replace(self.runtime, policy=policy, untuned=None, tunings=Tunings(), blocks=BlockCache())
        other = Engine(own)
        other._open, other._guest = self._open, True
        return other

    def dry(self, dry_run: bool) -> Engine:  # noqa: FBT001 - the argument of the verb, passed on
        """Return this engine, or for a dry run one that takes every change back."""
        if not isinstance(dry_run, bool):
            raise InvalidInput(f"dry_run must be true or false, not {dry_run!r}")
        if not dry_run:
            return self
        from memstone.engine.dry_run import DryRun, without_effect

        other = DryRun(without_effect(self.runtime))
        other._open, other._guest = self._open, True  # noqa: SLF001 - another engine, as in acting_for
        return other

    async def run(self, verb: Callable[Concatenate[Runtime, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Open the store if need be, and carry out what a module of the engine knows how to do."""
        await self.open()
        return await verb(self.runtime, *args, **kwargs)

    async def ask(self, verb: Callable[Concatenate[Runtime, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do the same on the way of a chat.

        Who asks, and what holds for them, depends on no account of what was shown.
        """
        await self._begin()
        return await verb(self.runtime, *args, **kwargs)

    def _shape_answer(self, answer: T) -> T:
        """Return the answer, or only its results for callers who are used to bare lists; the types are for others."""
        if not self.runtime.policy.bare_lists:
            return answer
        bare: T = cast("Any", answer)["results"]
        return bare

    async def _meet(self, agent_ids: Sequence[Any], answer: Mapping[str, Any]) -> None:
        """Give agents that were named for the first time their rows, unless nothing was stored for them."""
        named = {one for one in agent_ids if one is not None and isinstance(one, Hashable)}
        if named and answer.get("status") not in ("paused", "disabled"):
            from memstone.engine import agents

            await agents.register_agents(self.runtime, named)

    async def add(self, request: AddRequest) -> AddResult:
        """See ``Memory.add``."""
        await self._begin()
        request.filters = await admit_filters(self.runtime, request.filters)
        with self.runtime.worker_state.call():
            answer = await add(await policy_for(self.runtime, request), request)
            await self._meet([request.agent_id], answer)
        return self._shape_answer(answer)

    async def add_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> AddBatchResult:
        """See ``Memory.add_many``."""
        await self.open()
        from memstone.engine.add_many import add_many

        answer = await add_many(self.runtime, items, idempotency_key)
        await self._meet([item.get("agent_id") for item in items if isinstance(item, Mapping)], answer)
        return answer

    async def ingest(self, request: IngestRequest) -> IngestResult:
        """See ``Memory.ingest``."""
        await self.open()
        from memstone.engine.learn import ingest

        answer = await ingest.ingest_transcript(await policy_for(self.runtime, request), request)
        await self._meet([request.agent_id], answer)
        return answer

    async def search(self, request: SearchRequest) -> SearchResults:
        """See ``Memory.search``."""
        await (self.open() if request.filters else self._begin())  # a filter may ask how often something was shown
        from memstone.engine import search

        request.filters = await admit_filters(self.runtime, request.filters)
        with self.runtime.worker_state.call():
            return self._shape_answer(await search.search_memories(await policy_for(self.runtime, request), request))

    async def context(self, request: ContextRequest) -> ContextPack:
        """See ``Memory.context``."""
        await self._begin()
        from memstone.engine import context

        with self.runtime.worker_state.call():
            return await context.build_context(await policy_for(self.runtime, request), request)

    async def context_for_service(self, request: ContextRequest, loop: Loop | None = None) -> ContextPack:
        """Return the same for a service that has a model to ask: its account is kept behind the answer."""
        await self._begin()
        from memstone.engine.service_context import build_block, shown_in

        with self.runtime.worker_state.call():
            runtime = await policy_for(self.runtime, request)
            return await (build_block(runtime, request) if loop is None else shown_in(runtime, request, loop))

    async def receipt(self, receipt_id: str) -> ContextReceipt | None:
        """See ``Memory.receipt``."""
        await self.open()
        from memstone.engine.recall import receipts

        found = await receipts.get_receipt(self.runtime, receipt_id)
        return None if found is None else found.as_dict()

    async def entities(self, values: Mapping[str, Any], limit: int, offset: int) -> EntityList:
        """See ``Memory.entities``."""
        await self.open()
        from memstone.engine.recall import graph

        return await graph.list_entities(self.runtime, values, limit, offset)

    async def relations(self, values: Mapping[str, Any], limit: int, offset: int) -> RelationList:
        """See ``Memory.relations``."""
        await self.open()
        from memstone.engine.recall import graph

        return await graph.edges_listed(self.runtime, values, limit, offset)

    def __reduce__(self) -> str:
        """Say why not: whoever pickles a memory wants to hand it to another process."""
        raise TypeError(
            "a Memory has an open store and cannot be pickled: create one in each process from its settings"
        )

    async def get(self, memory_id: str) -> MemoryItem | None:
        """See ``Memory.get``."""
        await self.open()
        return await lookup.get_memory(self.runtime, as_text(memory_id))

    async def get_all(self, request: lookup.ListRequest) -> MemoryList:
        """See ``Memory.get_all``."""
        await self.open()
        request.filters = await admit_filters(self.runtime, request.filters)
        return self._shape_answer(await lookup.get_all(await policy_for(self.runtime, request), request))

    async def update(self, request: revise.UpdateRequest) -> UpdateResult:
        """See ``Memory.update``."""
        await self.open()
        return await revise.update_memory(self.runtime, request)

    async def update_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> UpdateBatchResult:
        """See ``Memory.update_many``."""
        await self.open()
        return await revise.update_many(self.runtime, items, idempotency_key)

    async def _purge_after_delete(self, answer: T) -> T:
        """Return what was deleted, without its words where they are not kept; else a pass removes them later."""
        if self.runtime.policy.upkeep.deleted_keep_days == 0:
            from memstone.engine.access.bounds import remove_bounds
            from memstone.engine.upkeep.sweep import forget_deleted

            await forget_deleted(
                remove_bounds(self.runtime), self.runtime.now()
            )  # of whatever is deleted, whoever deleted it
        return answer

    async def delete(self, memory_id: str) -> DeleteResult:
        """See ``Memory.delete``."""
        await self.open()
        return await self._purge_after_delete(await revise.delete_memory(self.runtime, memory_id))

    async def delete_many(self, ids: Sequence[str], idempotency_key: str | None) -> DeleteBatchResult:
        """See ``Memory.delete_many``."""
        await self.open()
        return await self._purge_after_delete(await revise.delete_many(self.runtime, ids, idempotency_key))

    async def delete_all(self, values: Mapping[str, Any], filters: Filters | None) -> DeleteAllResult:
        """See ``Memory.delete_all``."""
        await self.open()
        return await self._purge_after_delete(await revise.delete_all(self.runtime, values, filters))

    async def history(self, memory_id: str) -> list[HistoryEvent]:
        """See ``Memory.history``."""
        await self.open()
        return await lookup.get_history(self.runtime, memory_id)

    async def reset(self) -> None:
        """See ``Memory.reset``."""
        await self.open()
        await revise.reset_tenant(self.runtime)

    async def stats(self) -> StoreStats:
        """See ``Memory.stats``."""
        await self.open()
        return await lookup.get_stats(self.runtime)

    async def flush(self, values: Mapping[str, Any], *, everybody: bool) -> FlushResult:
        """See ``Memory.flush``."""
        await self.open()
        from memstone.engine.background import flush

        return await flush.flush_sessions(self.runtime, values, everybody=everybody)

    async def reindex(self, progress: Progress | None) -> ReindexResult:
        """See ``Memory.reindex``."""
        await self.open()
        return await indexer.reindex_vectors(
            await apply_scope_policy(self.runtime, Scope(self.runtime.tenant_id)), progress
        )

    async def redact(self, progress: Progress | None, *, dry_run: bool) -> RedactResult:
        """See ``Memory.redact``."""
        await self.open()
        from memstone.engine.change import mask

        return await mask.redact_stored(self.runtime, progress, dry_run=dry_run)

    def export(self, values: Mapping[str, Any], *, everybody: bool) -> AsyncIterator[dict[str, Any]]:
        """See ``Memory.export``."""
        from memstone.engine.transfer import export

        return export.export_lines(self, values, everybody=everybody)

    async def load(self, records: ExportLines) -> LoadResult:
        """See ``Memory.load``."""
        await self.open()
        from memstone.engine.transfer import export

        return await export.load_export(self.runtime, records)

    async def check(self) -> StoreCheck:
        """Return what a doctor wants to know about the store."""
        await self.open()
        return await self.runtime.ledger.check()

    async def close(self) -> None:
        """See ``Memory.close``."""
        if self._guest:  # the store and its worker belong to whoever opened them
            return
        await self.runtime.late.flush_and_close(self.runtime.io, _CLOSING)
        await self.runtime.io.finish()
        await write_down(self.runtime)
        if (close := getattr(self.runtime.index, "close", None)) is not None:
            await close()
        if self.runtime.graph is not None:
            await self.runtime.graph.close()
        await self.runtime.ledger.close()
        await self.runtime.io.close()
