"""Keep a graph database in step with the ledger.

It follows the log that the vector stores follow, too: every change of a version, its links or what it mentions is
noted there in the same transaction. How far the graph has come is in the graph, and moves in the transaction that
applies a page; so a page that was interrupted was not applied at all, nobody applies one twice, and several processes
can fill the same graph. A log that does not know the position (the store was restored or reset) and a graph that
somebody removed are the same case: it is built again from the beginning.

The ledger holds the same entities and relations and can always answer. So a search never waits for a long fill, and a
database that fails is left alone for half a minute while the ledger answers in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from logging import WARNING
from typing import Final

from memstone.engine.transfer.points import collection_prefix
from memstone.errors import BackendError, MemstoneError
from memstone.model.memory import EntityRow
from memstone.ports.graph import GraphAgreement, GraphCounts, GraphPage, GraphReader, GraphRows, GraphStore
from memstone.ports.io import BackgroundHandle, Io
from memstone.ports.ledger import Ledger, Tx
from memstone.trace import log_event

_PAGE: Final = 256
_PAGES_IN_A_SEARCH: Final = 2
"""What a search waits for at most; beyond that the ledger answers, and the background goes on."""

_PAGES_AT_ONCE: Final = 16
_PAUSE_SECONDS: Final = 30.0
"""How long a database that failed is not asked."""

_POLL_SECONDS: Final = 1.0
_PROBE_SECONDS: Final = 5.0
"""How often the background looks for changes, and for a database that failed: sooner than its pause is over, so that
no search has to find out whether it is back."""


class MirroredGraph:
    """See ``memstone.ports.graph.GraphMirror``. Two ledgers need two collection names in one database."""

    def __init__(self, ledger: Ledger, store: GraphStore, collection_name: str, io: Io) -> None:
        self._ledger, self._store, self._name, self._io = ledger, store, collection_name, io
        self._lock = io.lock()
        self._bell = io.bell()
        self._tenants: dict[str, None] = {}
        self._outage: tuple[float, BackendError] | None = None
        self._clock: Callable[[], float] = time.monotonic
        self._background: BackgroundHandle | None = None
        self._stopping = False
        self._following = False

    @property
    def outage(self) -> BackendError | None:
        """Why the database is not asked at the moment, or None."""
        return self._outage[1] if self._outage is not None and self._clock() < self._outage[0] else None

    def record_failure(self, error: BackendError) -> None:
        """Leave the database alone for a while."""
        if self._outage is None:
            log_event("graph_store.failed", WARNING, code=error.code)
        self._outage = (self._clock() + _PAUSE_SECONDS, error)

    def watch(self, tenant_id: str) -> None:
        """Follow a tenant in the background, too."""
        self._tenants.setdefault(tenant_id)

    async def current(self, tenant_id: str) -> GraphReader | None:
        """Return what answers for a tenant, up to date; None where too much is missing to wait for it."""
        self.watch(tenant_id)
        if (error := self.outage) is not None:
            raise error
        try:
            if not await self._is_behind(tenant_id):
                return self._store.reader(self._graph(tenant_id))
            if not self._following and not await self._follow_pages(tenant_id, _PAGES_IN_A_SEARCH):
                return self._store.reader(self._graph(tenant_id))
        except BackendError as raised:
            self.record_failure(raised)
            raise
        self._bell.ring()
        return None

    async def count_pending(self, tenant_id: str) -> int:
        """Return how many changes the mirror has not seen; of more than a page only that many."""
        position = await self._store.position(self._graph(tenant_id))
        changes = await self._read_log(tenant_id, position or 0)
        known = bool(position) and bool(changes) and changes[0][0] == position
        return len(changes) - known

    async def compare(self, tenant_id: str) -> GraphAgreement:
        """Return how the mirror compares with the ledger."""
        name, ledger = self._graph(tenant_id), self._ledger.of(tenant_id)
        counts = await ledger.read(lambda tx: tx.entities.counts(tenant_id))
        held = next((info.counts for info in await self._store.graphs() if info.name == name), GraphCounts())
        return GraphAgreement(counts, held, await self.count_pending(tenant_id))

    async def count_traces(self, tenant_id: str, seqs: Sequence[int]) -> int:
        """Return how many entities the mirror ties to versions."""
        found: set[str] = set()
        for start in range(0, len(seqs), _PAGE):
            found.update(await self._store.find_touched(self._graph(tenant_id), seqs[start : start + _PAGE]))
        return len(found)

    async def catch_up(self, tenant_id: str) -> None:
        """Follow to the end of the log, however long that takes."""
        while await self._follow_pages(tenant_id, _PAGES_AT_ONCE):
            pass
        self._outage = None

    async def rebuild(self, tenant_id: str) -> None:
        """Drop the mirror of a tenant and fill it again."""
        await self._store.drop(self._graph(tenant_id))
        await self.catch_up(tenant_id)

    async def forget(self, tenant_id: str) -> None:
        """Drop the mirror of a tenant; while the database fails, it is dropped when it follows again."""
        try:
            await self._store.drop(self._graph(tenant_id))
        except BackendError as error:
            self.record_failure(error)

    async def close(self) -> None:
        """Give the connections back."""
        await self._store.close()

    # --- in the background --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to follow in the background; harmless when that was done."""
        if self._background is None or not self._background.alive:
            self._stopping = False
            self._background = self._io.spawn(self._follow_until_stopped(), name="memstone-graph", stop=self.stop)

    def stop(self) -> None:
        """Let the background look once more, and end."""
        self._stopping = True
        self._bell.ring()

    async def _follow_until_stopped(self) -> None:
        while not self._stopping:
            await self._follow_tenants()
            if not self._stopping:
                await self._bell.wait(_POLL_SECONDS if self._outage is None else _PROBE_SECONDS)
        if self._outage is None:  # what was written last is not left to the next process
            await self._follow_tenants()

    async def _follow_tenants(self) -> None:
        for tenant in list(self._tenants):
            try:
                while await self._follow_pages(tenant, _PAGES_AT_ONCE):
                    pass
            except BackendError as error:
                self.record_failure(error)
                return
            except MemstoneError as error:  # the ledger is busy, or is being closed: it is looked at again
                log_event("graph_store.follow.failed", WARNING, code=error.code)
                return
            if self._outage is not None:
                self._outage = None
                log_event("graph_store.answers_again")

    # --- following ----------------------------------------------------------------------------------------------------

    def _graph(self, tenant_id: str) -> str:
        return collection_prefix(self._name, tenant_id) + "graph"

    async def _is_behind(self, tenant_id: str) -> bool:
        position = await self._store.position(self._graph(tenant_id))
        if position is None:
            return True
        changes = await self._ledger.of(tenant_id).read(
            lambda tx: tx.vectors.changes_after(tenant_id, max(0, position - 1), 2)
        )
        return [change for change, _ in changes] != ([position] if position else [])

    async def _follow_pages(self, tenant_id: str, most: int) -> bool:
        """Apply some pages of the log; false when the last was among them."""
        async with self._lock:
            self._following = True
            try:
                for _ in range(most):
                    if not await self._follow(tenant_id):
                        return False
            finally:
                self._following = False
        return True

    async def _follow(self, tenant_id: str) -> bool:
        """Apply one page of the log; false when it was the last."""
        graph = self._graph(tenant_id)
        start = await self._store.position(graph)
        if start is None:
            await self._store.create(graph)
            start = 0
        changes = await self._read_log(tenant_id, start)
        if start and (not changes or changes.pop(0)[0] != start):
            log_event("graph_store.rebuilt", WARNING)
            await self._store.drop(graph)
            return True
        if not changes:
            return False
        seqs = sorted({seq for _, seq in changes})
        touched = await self._store.find_touched(graph, seqs)
        rows, others = await self._ledger.of(tenant_id).read(lambda tx: _read_rows(tx, tenant_id, seqs, touched))
        known = {row.id for row in (*rows.entities, *others)}
        gone = tuple(one for one in touched if one not in known)
        filled = GraphRows(rows.memories, rows.relations, (*rows.entities, *others))
        await self._store.apply(graph, GraphPage(start, changes[-1][0], tuple(seqs), filled, gone))
        return len(changes) >= _PAGE

    async def _read_log(self, tenant_id: str, position: int) -> list[tuple[int, int]]:
        """Return the change at the position (to see that the log still knows it) and those that follow, one page."""
        count = _PAGE + 1 if position else _PAGE
        return await self._ledger.of(tenant_id).read(
            lambda tx: tx.vectors.changes_after(tenant_id, max(0, position - 1), count)
        )


async def _read_rows(
    tx: Tx, tenant_id: str, seqs: Sequence[int], touched: Sequence[str]
) -> tuple[GraphRows, list[EntityRow]]:
    """Return what versions say now, and those of the entities they spoke of before that are still there."""
    rows = await tx.entities.rows_of(tenant_id, seqs)
    known = {row.id for row in rows.entities}
    return rows, await tx.entities.find_by_ids(tenant_id, [one for one in touched if one not in known])
