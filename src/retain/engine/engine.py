"""One object with every verb; each delegates to the module that knows how.

The modules that learn, plan or scan are loaded when they are first needed: their rules take most of the time that
loading everything would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from retain.core.filters import Filters
from retain.engine import indexer, lifecycle, listing, read, remember, revise, transfer
from retain.engine.parts import Parts
from retain.engine.requests import ContextRequest, IngestRequest, Progress
from retain.model.context import ContextPack

P = ParamSpec("P")
T = TypeVar("T")


class Engine:
    """The memory engine. Opened on first use; the same coroutines serve both faces."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._open = False

    async def open(self) -> None:
        """Open the store; harmless when it is open."""
        if not self._open:
            await self.parts.ledger.open()
            self._open = True

    async def run(self, verb: Callable[Concatenate[Parts, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Open the store if need be, and carry out what a module of the engine knows how to do."""
        await self.open()
        return await verb(self.parts, *args, **kwargs)

    def _shaped(self, answer: dict[str, Any]) -> Any:
        """The answer, or only its results for callers who are used to bare lists."""
        return answer["results"] if self.parts.policy.bare_lists else answer

    async def add(self, request: remember.AddRequest) -> Any:
        """See ``Memory.add``."""
        await self.open()
        return self._shaped(await remember.add(self.parts, request))

    async def add_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> dict[str, Any]:
        """See ``Memory.add_many``."""
        await self.open()
        return await remember.add_many(self.parts, items, idempotency_key)

    async def ingest(self, request: IngestRequest) -> dict[str, Any]:
        """See ``Memory.ingest``."""
        await self.open()
        from retain.engine import ingest

        return await ingest.ingest(self.parts, request)

    async def search(self, request: read.SearchRequest) -> Any:
        """See ``Memory.search``."""
        await self.open()
        return self._shaped(await read.search(self.parts, request))

    async def context(self, request: ContextRequest) -> ContextPack:
        """See ``Memory.context``."""
        await self.open()
        from retain.engine import context

        return await context.context(self.parts, request)

    async def receipt(self, receipt_id: str) -> dict[str, Any] | None:
        """See ``Memory.receipt``."""
        await self.open()
        from retain.engine import account

        found = await account.receipt(self.parts, receipt_id)
        return None if found is None else found.as_dict()

    async def entities(self, given: Mapping[str, Any], limit: int, offset: int) -> dict[str, Any]:
        """See ``Memory.entities``."""
        await self.open()
        from retain.engine import graph

        return await graph.listed(self.parts, given, limit, offset)

    async def relations(self, given: Mapping[str, Any], limit: int, offset: int) -> dict[str, Any]:
        """See ``Memory.relations``."""
        await self.open()
        from retain.engine import graph

        return await graph.edges_listed(self.parts, given, limit, offset)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """See ``Memory.get``."""
        await self.open()
        return await listing.get(self.parts, memory_id)

    async def get_all(self, request: listing.ListRequest) -> Any:
        """See ``Memory.get_all``."""
        await self.open()
        return self._shaped(await listing.get_all(self.parts, request))

    async def update(self, request: revise.UpdateRequest) -> dict[str, Any]:
        """See ``Memory.update``."""
        await self.open()
        return await revise.update(self.parts, request)

    async def update_many(self, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> dict[str, Any]:
        """See ``Memory.update_many``."""
        await self.open()
        return await revise.update_many(self.parts, items, idempotency_key)

    async def delete(self, memory_id: str) -> dict[str, Any]:
        """See ``Memory.delete``."""
        await self.open()
        return await lifecycle.delete(self.parts, memory_id)

    async def delete_many(self, ids: Sequence[str], idempotency_key: str | None) -> dict[str, Any]:
        """See ``Memory.delete_many``."""
        await self.open()
        return await lifecycle.delete_many(self.parts, ids, idempotency_key)

    async def delete_all(self, given: Mapping[str, Any], filters: Filters | None) -> dict[str, Any]:
        """See ``Memory.delete_all``."""
        await self.open()
        return await lifecycle.delete_all(self.parts, given, filters)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """See ``Memory.history``."""
        await self.open()
        return await listing.history(self.parts, memory_id)

    async def reset(self) -> None:
        """See ``Memory.reset``."""
        await self.open()
        await lifecycle.reset(self.parts)

    async def stats(self) -> dict[str, Any]:
        """See ``Memory.stats``."""
        await self.open()
        return await listing.stats(self.parts)

    async def flush(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See ``Memory.flush``."""
        await self.open()
        from retain.engine import pending

        return await pending.flush(self.parts, given)

    async def reindex(self, progress: Progress | None) -> dict[str, Any]:
        """See ``Memory.reindex``."""
        await self.open()
        return await indexer.reindex(self.parts, progress)

    async def redact(self, progress: Progress | None, *, dry_run: bool) -> dict[str, Any]:
        """See ``Memory.redact``."""
        await self.open()
        from retain.engine import backscan

        return await backscan.redact_stored(self.parts, progress, dry_run=dry_run)

    def export(self, given: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """See ``Memory.export``."""
        return transfer.export(self, given)

    async def load(self, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """See ``Memory.load``."""
        await self.open()
        return await transfer.load(self.parts, records)

    async def check(self) -> dict[str, Any]:
        """What a doctor wants to know about the store."""
        await self.open()
        return await self.parts.ledger.check()

    async def close(self) -> None:
        """See ``Memory.close``."""
        await self.parts.ledger.close()
        await self.parts.io.close()
