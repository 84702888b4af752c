"""Keep an external vector store in step with the ledger.

The ledger notes every change of a vector or a link in a log. A mirror follows that log by cursor and brings the store
up to date before it asks it: from the beginning when the collection is new, so that switching a store on, dropping a
collection and losing one are all the same case. Applying a change twice does no harm.

A collection that is far behind, because it is new or was down for long, is filled in the background. Until that is done
the index beside the ledger answers. Now and then a point of its own notes in the collection how far it follows, so that
the next process goes on from there.

A store that fails is left alone for half a minute, and the index beside the ledger answers meanwhile. A collection into
which a write failed is then built again: nobody knows how much of it arrived, or when.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from logging import DEBUG, WARNING
from typing import Any, Final, TypeAlias

import numpy as np

from memstone.engine.request_scope import Progress, report_progress
from memstone.engine.transfer.points import (
    NOTE,
    build_filter,
    build_point,
    collection_prefix,
    digest_texts,
    is_in_scope,
)
from memstone.errors import BackendError
from memstone.model.instant import Instant
from memstone.model.query import Condition, Op, VectorQuery
from memstone.ports.index import DenseHit, DenseHits, Point, VectorIndex, VectorStore
from memstone.ports.io import BackgroundHandle, Io
from memstone.ports.ledger import Ledger, LinkedVector, Tx, Work
from memstone.trace import log_event

_Key: TypeAlias = tuple[str, str]
"""Tenant and signature: what one collection is for."""

_PAGE: Final = 256
_FEW: Final = 1000
_EVERY: Final = 100_000_000
_TRIES: Final = 16
"""A search begins again for every time that its collection was dropped under it, and gives up only after many."""
_PAUSE_SECONDS: Final = 30.0
"""How long a store that failed is not asked; failures in between begin no new pause."""
_FAR: Final = 1_024
"""Who is more changes behind is filled in the background."""
_NOTE_EVERY: Final = 2_048
_OVERLAP: Final = 512
"""So many changes before the note are repeated: another process may have written something older last."""


@dataclass(slots=True)
class _Mirror:
    """How far a collection follows the log.

    ``newest`` is the largest version it was given: a larger one cannot be in it yet, and need not be looked for,
    unless it is ``inherited``: it held points before it was followed from here, and the log has not been read once.
    """

    collection: str
    dimension: int
    inherited: bool
    cursor: int = 0
    newest: int = 0
    noted: int = 0
    has_others: bool = True
    is_doubtful: bool = False
    """Whether the store has failed since: one that was killed may have lost what it took last."""


@dataclass(frozen=True, slots=True)
class StoreComparison:
    """How a collection differs from the ledger: points that are not there, are not as they should be, or too many."""

    expected: int
    points: int
    missing: int
    different: int
    unknown: int

    @property
    def is_equal(self) -> bool:
        """Whether every active memory has its points, and there is no other."""
        return not (self.missing or self.different or self.unknown)


class MirroredIndex:
    """See ``memstone.ports.index.VectorIndex``. Two ledgers need two collection names in one store.

    With ``payload_text``, points have the text of their memory, and are in a collection of their own: so no text stays
    behind when it is switched off.
    """

    quant = ""

    def __init__(
        self,
        ledger: Ledger,
        store: VectorStore,
        collection_name: str,
        io: Io,
        embedded: VectorIndex | None = None,
        *,
        payload_text: bool = False,
    ) -> None:
        self._ledger, self._store, self._name, self._io = ledger, store, collection_name, io
        self._embedded = embedded
        self._with_text = payload_text
        self._fillers: dict[_Key, BackgroundHandle] = {}
        self._is_stopping = False
        self._lock = io.lock()
        self._mirrors: dict[_Key, _Mirror] = {}
        self._suspects: set[str] = set()
        self._outage: tuple[float, BackendError] | None = None
        self._clock: Callable[[], float] = time.monotonic
        self.failures = 0

    @property
    def is_embedded(self) -> bool:
        """A store of its own, unless it is in this process."""
        return bool(getattr(self._store, "in_process", False))

    @property
    def in_process(self) -> bool:
        """Wherever the store is, whoever searches may have to wait for somebody who brings it up to date."""
        return False

    @property
    def outage(self) -> BackendError | None:
        """Why the store is not asked at the moment, or None."""
        return self._outage[1] if self._outage is not None and self._clock() < self._outage[0] else None

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Return the nearest of a scope; while the store fails, by the index beside the ledger, which says why."""
        if self._embedded is None:
            return await self._search_store(query)
        error = self.outage
        if error is None:
            try:
                if await self._is_far_behind((query.scope.tenant_id, query.signature)):
                    return await self._embedded.search(query)
                hits = await self._search_store(query)
            except BackendError as raised:
                error = self._record_failure(raised)
            else:
                self._outage = None
                return hits
        return replace(DenseHits.of(await self._embedded.search(query)), failure=error)

    def _record_failure(self, error: BackendError) -> BackendError:
        self.failures += 1
        for mirror in self._mirrors.values():
            mirror.is_doubtful = True
        self._outage = (self._clock() + _PAUSE_SECONDS, error)
        log_event("vector_store.failed", WARNING, code=error.code, failures=self.failures)
        return error

    async def check_health(self) -> None:
        """Raise a ``BackendError`` unless the store answers."""
        await self._store.check_health()

    async def close(self) -> None:
        """Give the connections of the store back."""
        self._stop_filling()
        await self._store.close()

    async def clean_up(
        self, tenant_id: str, signature: str, now: Instant, *, dry_run: bool, created_before: Instant = ""
    ) -> int:
        """Remove points that the ledger does not know, that have expired, or whose memory is older than an instant.

        Return how many there were. What is removed because of its age stays in the ledger.
        """
        mirror = await self._current((tenant_id, signature))
        if mirror is None:
            return 0
        points = await self._store.scan(mirror.collection, None, _EVERY)
        seqs = sorted({int(point.payload["seq"]) for point in points if point.id != NOTE})
        rows = await self._ledger.of(tenant_id).read(lambda tx: tx.vectors.rows_of(tenant_id, signature, seqs))
        wanted = (row for row in rows if (row.expires_at is None or row.expires_at > now))
        known = {self._build_point(tenant_id, row).id for row in wanted if row.created_at >= created_before}
        stale = [point.id for point in points if point.id not in known and point.id != NOTE]
        if stale and not dry_run:
            await self._store.delete(mirror.collection, stale)
        return len(stale)

    # --- filling ------------------------------------------------------------------------------------------------------

    async def count_lag(self, tenant_id: str, signature: str) -> int:
        """Return how many changes of the ledger the collection does not have yet."""
        mirror = self._mirrors.get((tenant_id, signature))
        cursor = 0 if mirror is None else mirror.cursor
        return await self._ledger.of(tenant_id).read(lambda tx: tx.vectors.count_changes(tenant_id, cursor))

    async def fill(self, tenant_id: str, signature: str, progress: Progress | None = None) -> int:
        """Bring the collection up to date, page by page, and say how many changes that were; others may search."""
        key, done = (tenant_id, signature), 0
        while not self._is_stopping:
            async with self._lock:
                mirror = await self._begin_or_heal(key)
                if mirror is None:
                    return done
                lag = await self.count_lag(tenant_id, signature)
                more = await self._follow(key, mirror)
            left = await self.count_lag(tenant_id, signature)
            done += max(0, lag - left)
            if done or left:
                await report_progress(progress, done, done + left)
            if not more:
                break
        return done

    async def _is_far_behind(self, key: _Key) -> bool:
        """Return whether the collection has to be filled in the background, and see that it is."""
        filler = self._fillers.get(key)
        if filler is not None and filler.alive:
            return True
        mirror = self._mirrors.get(key)
        if mirror is None:
            async with self._lock:
                mirror = self._mirrors.get(key) or await self._begin(key)
        if mirror is None or self._is_stopping or not await self._lacks_many(key, mirror):
            return False
        work = self._fill_in_background(key)
        self._fillers[key] = self._io.spawn(work, name="memstone-vector-store", stop=self._stop_filling)
        return True

    async def _lacks_many(self, key: _Key, mirror: _Mirror) -> bool:
        start = 0 if mirror.collection in self._suspects else mirror.cursor
        changes = await self._ledger.of(key[0]).read(lambda tx: tx.vectors.changes_after(key[0], start, _FAR + 1))
        return len(changes) > _FAR

    async def _fill_in_background(self, key: _Key) -> None:
        log_event("vector_store.fill.start", collection=self._mirrors[key].collection)
        try:
            changes = await self.fill(*key)
        except BackendError as error:
            self._record_failure(error)
        else:
            log_event("vector_store.fill.complete", changes=changes)

    def _stop_filling(self) -> None:
        self._is_stopping = True

    # --- comparing ----------------------------------------------------------------------------------------------------

    async def compare(self, tenant_id: str, signature: str, *, repair: bool = False) -> StoreComparison | None:
        """Compare every point with the ledger, and make them equal if asked to; None without such vectors.

        What was changed since somebody searched last is not there yet.
        """
        key = (tenant_id, signature)
        async with self._lock:
            mirror = await self._begin_or_heal(key)
            if mirror is None:
                return None
            stored = {point.id: point for point in await self._store.scan(mirror.collection, None, _EVERY)}
            stored.pop(NOTE, None)
            there = len(stored)
            expected = missing = different = 0
            async for points in self._expected_points(key):
                wrong = [point for point in points if point.id not in stored]
                missing += len(wrong)
                changed = [point for point in points if point.payload != stored.pop(point.id, point).payload]
                different, expected = different + len(changed), expected + len(points)
                if repair and (wrong or changed):
                    await self._store.upsert(mirror.collection, [*wrong, *changed])
            unknown = await self._list_unknown(key, list(stored.values()))
            if repair and unknown:
                await self._store.delete(mirror.collection, unknown)
        return StoreComparison(expected, there, missing, different, len(unknown))

    async def _expected_points(self, key: _Key) -> AsyncIterator[list[Point]]:
        """Give every point that there should be, each once."""
        cursor, seen = 0, set[int]()
        ledger = self._ledger.of(key[0])
        while changes := await ledger.read(_change_reader(key[0], cursor)):
            seqs = {seq for _, seq in changes} - seen
            rows = await ledger.read(_row_reader(key, sorted(seqs)))
            yield [self._build_point(key[0], row) for row in rows]
            seen |= seqs
            cursor = changes[-1][0]

    async def _list_unknown(self, key: _Key, points: Sequence[Point]) -> list[str]:
        """Return those that the ledger does not know; somebody may have stored one since it was read."""
        seqs = sorted({int(point.payload.get("seq") or 0) for point in points})
        rows = await self._ledger.of(key[0]).read(_row_reader(key, seqs)) if seqs else []
        known = {self._build_point(key[0], row).id for row in rows}
        return [point.id for point in points if point.id not in known]

    # --- searching ----------------------------------------------------------------------------------------------------

    async def _search_store(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Return the nearest of a scope; a collection that somebody dropped is built again."""
        key = (query.scope.tenant_id, query.signature)
        for _ in range(_TRIES - 1):
            before = self._mirrors.get(key)
            try:
                return await self._search(key, query)
            except BackendError:
                if not await self._is_collection_lost(key, before):
                    raise
        return await self._search(key, query)

    async def forget(self, tenant_id: str) -> None:
        """Drop the collections of a tenant."""
        async with self._lock:
            for key in [key for key in self._mirrors if key[0] == tenant_id]:
                del self._mirrors[key]
            await drop_collections(self._store, self._name, tenant_id)
        if self._embedded is not None:
            await self._embedded.forget(tenant_id)

    async def holds(self, tenant_id: str, signature: str, seqs: Sequence[int]) -> int:
        """Return how many points of these versions the store has, when it has followed."""
        mirror = await self._current((tenant_id, signature))
        if mirror is None:
            return 0
        pages = [seqs[start : start + _PAGE] for start in range(0, len(seqs), _PAGE)]
        return sum([len(await self._find_point_ids(mirror.collection, page)) for page in pages])

    async def _current(self, key: _Key) -> _Mirror | None:
        """Return the mirror, up to date; None when the ledger knows no such vectors (any more)."""
        mirror = self._mirrors.get(key)
        if mirror is None or mirror.is_doubtful or await self._behind(key, mirror):
            async with self._lock:
                mirror = await self._begin_or_heal(key)
                while mirror is not None and await self._follow(key, mirror):
                    pass
        return mirror

    async def _begin_or_heal(self, key: _Key) -> _Mirror | None:
        """Return the mirror; one into which a write failed begins again."""
        mirror = self._mirrors.get(key) or await self._begin(key)
        if mirror is not None and mirror.collection in self._suspects:
            await self._start_again(mirror)
            self._suspects.discard(mirror.collection)
            log_event("vector_store.rebuilt", WARNING, collection=mirror.collection)
        elif mirror is not None and mirror.is_doubtful:
            await self._step_back(key, mirror)
        return mirror

    async def _step_back(self, key: _Key, mirror: _Mirror) -> None:
        """Follow the last changes once more."""
        start = max(0, mirror.cursor - _NOTE_EVERY)
        changes = await self._ledger.of(key[0]).read(lambda tx: tx.vectors.changes_after(key[0], start, 1))
        mirror.cursor = min(mirror.cursor, changes[0][0]) if changes and start else 0
        mirror.is_doubtful = False

    # --- asking -------------------------------------------------------------------------------------------------------

    async def _search(self, key: _Key, query: VectorQuery) -> list[DenseHit]:
        if query.among is not None and len(query.among) <= _FEW:
            hits = await self._exact(query, query.among, query.layers)
        else:
            mirror = await self._current(key)
            hits = await self._nearest(mirror.collection, query) if mirror is not None else []
            if self._mirrors.get(key) is not mirror:  # it was being built again, so these may not be all
                return await self._search(key, query)
        hits = hits[: query.limit]
        others = set(query.also) - {hit.seq for hit in hits}
        extra = await self._exact(query, others, ()) if others else []
        return hits + [DenseHit(hit.seq, hit.cosine, extra=True) for hit in extra]

    async def _nearest(self, collection: str, query: VectorQuery) -> list[DenseHit]:
        """Ask for more until enough memories are there: several links are several points of one memory."""
        vector, where, wanted = np.asarray(query.vector).tolist(), build_filter(query), query.limit
        while True:
            found = await self._store.search(collection, vector, wanted, where)
            best: dict[int, DenseHit] = {}
            for hit in found:
                seq = int(hit.payload["seq"])
                if query.among is None or seq in query.among:
                    best.setdefault(seq, DenseHit(seq, hit.score))
            if len(best) >= query.limit or len(found) < wanted:
                return list(best.values())
            wanted *= 4

    async def _exact(self, query: VectorQuery, seqs: Iterable[int], layers: Sequence[str]) -> list[DenseHit]:
        """Return known memories by their similarity, from the ledger: it is exact, and nothing has to be waited for."""
        scope = query.scope
        rows = await self._ledger.of(scope.tenant_id).read(
            lambda tx: tx.vectors.rows_of(scope.tenant_id, query.signature, seqs)
        )
        vectors = {
            row.seq: row.vector for row in rows if is_in_scope(row, scope) and (not layers or row.layer in layers)
        }
        if not vectors:
            return []
        block = np.frombuffer(b"".join(vectors.values()), dtype="<f4").reshape(len(vectors), -1)
        cosines = np.vecdot(block, query.vector)
        hits = [DenseHit(seq, float(cosine)) for seq, cosine in zip(vectors, cosines, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.cosine, -hit.seq))

    # --- following ----------------------------------------------------------------------------------------------------

    async def _begin(self, key: _Key) -> _Mirror | None:
        """Find or make the collection, and go on where a process before this one has stopped."""
        tenant, signature = key
        spaces = await self._ledger.of(tenant).read(lambda tx: tx.indexes.all(tenant))
        dimensions = [space.dim for space in spaces if space.signature == signature]
        if not dimensions:
            return None
        name = self._collection_of(tenant, signature)
        counts = await self._collections(tenant)
        await self._store.create(name, dimensions[0])
        mirror = _Mirror(name, dimensions[0], inherited=counts.get(name, 0) > 0)
        if mirror.inherited:
            await self._read_note(key, mirror)
        self._mirrors[key] = mirror
        return mirror

    async def _read_note(self, key: _Key, mirror: _Mirror) -> None:
        """Set the cursor to a little before the note; a note of another history means that nothing is as it was.

        Without a note everything is followed from the beginning, which changes only what differs.
        """
        point = await self._store.get(mirror.collection, NOTE)
        if point is None:
            return
        note = point.payload
        start = await self._ledger.of(key[0]).read(lambda tx: _find_start(tx, key[0], note))
        if start is None:
            await self._start_again(mirror)
            log_event("vector_store.other_history", WARNING, collection=mirror.collection)
        else:
            mirror.cursor, mirror.newest, mirror.noted = start, int(note["newest"]), int(note["cursor"])

    async def _write_note(self, key: _Key, mirror: _Mirror, change: tuple[int, int]) -> None:
        """Note in the collection how far it follows, where following again would take long."""
        cursor, seq = change
        if cursor - mirror.noted < _NOTE_EVERY:
            return
        memory_id = await self._ledger.of(key[0]).read(lambda tx: _memory_id_of(tx, seq))
        note = {"cursor": cursor, "change_seq": seq, "memory_id": memory_id, "newest": mirror.newest}
        await self._store.upsert(mirror.collection, [Point(NOTE, [1.0, *[0.0] * (mirror.dimension - 1)], note)])
        mirror.noted = cursor

    async def _drop_others(self, key: _Key, mirror: _Mirror) -> None:
        """Drop the collections of signatures that are no longer searched, now that this one is complete."""
        tenant = key[0]
        spaces = await self._ledger.of(tenant).read(lambda tx: tx.indexes.all(tenant))
        searched = [space for space in spaces if space.state == "active" or space.backend == "external"]
        remaining = {self._collection_of(tenant, space.signature) for space in searched}
        for other in (await self._collections(tenant)).keys() - remaining - {mirror.collection}:
            await self._store.drop(other)
        mirror.has_others = False

    async def _behind(self, key: _Key, mirror: _Mirror) -> bool:
        cursor = mirror.cursor
        changes = await self._ledger.of(key[0]).read(
            lambda tx: tx.vectors.changes_after(key[0], _previous_position(cursor), 2)
        )
        return [change for change, _ in changes] != ([cursor] if cursor else [])

    async def _follow(self, key: _Key, mirror: _Mirror) -> bool:
        """Apply one page of the log; false when it was the last."""
        start = mirror.cursor
        changes, rows = await self._ledger.of(key[0]).read(lambda tx: _read_change_page(tx, key, start))
        if start and (not changes or changes.pop(0)[0] != start):
            await self._start_again(mirror)
            return True
        if changes:
            await self._apply(mirror, {seq for _, seq in changes}, [self._build_point(key[0], row) for row in rows])
            # Whoever followed at the same time (another event loop) may have written something newer before this was
            # written: going back to the smaller of the two repeats it.
            end = changes[-1][0]
            mirror.cursor = end if mirror.cursor == start else min(end, mirror.cursor)
            if mirror.cursor == end:
                await self._write_note(key, mirror, changes[-1])
        more = len(changes) >= _PAGE
        mirror.inherited = mirror.inherited and more
        if not more and mirror.has_others:
            await self._drop_others(key, mirror)
        return more

    async def _start_again(self, mirror: _Mirror) -> None:
        """Start again, as the log does not know the cursor: the tenant was reset, and what is held is of the past."""
        await self._store.drop(mirror.collection)
        await self._store.create(mirror.collection, mirror.dimension)
        mirror.cursor, mirror.newest, mirror.noted = 0, 0, 0
        mirror.inherited = mirror.is_doubtful = False

    async def _apply(self, mirror: _Mirror, seqs: set[int], points: Sequence[Point]) -> None:
        """Make the collection hold these points of these versions and no others; additions come first."""
        known = sorted(seq for seq in seqs if mirror.inherited or seq <= mirror.newest)
        mirror.newest = max(mirror.newest, *seqs)
        left = (await self._find_point_ids(mirror.collection, known) if known else set()) - {
            point.id for point in points
        }
        try:
            if points:
                await self._store.upsert(mirror.collection, points)
            if left:
                await self._store.delete(mirror.collection, sorted(left))
        except BackendError as error:
            self._suspects.add(mirror.collection)
            log_event("vector_store.upsert.failed", WARNING, code=error.code, points=len(points))
            raise
        log_event("vector_store.upsert.ok", DEBUG, points=len(points), removed=len(left))

    async def _find_point_ids(self, collection: str, seqs: Sequence[int]) -> set[str]:
        """Return the points of these versions that are in the collection."""
        limit = 4 * _PAGE
        while True:
            found = await self._store.scan(collection, Condition("seq", Op.IN, tuple(seqs)), limit)
            if len(found) < limit:
                return {point.id for point in found}
            limit *= 4

    async def _is_collection_lost(self, key: _Key, before: _Mirror | None) -> bool:
        """Return whether the collection is gone, or was and is built again by now; one that is gone is not followed."""
        async with self._lock:
            mirror = self._mirrors.get(key)
            if mirror is not None and mirror.collection not in await self._collections(key[0]):
                del self._mirrors[key]
                return True
            return mirror is not before

    def _build_point(self, tenant_id: str, row: LinkedVector) -> Point:
        return build_point(tenant_id, row, with_text=self._with_text)

    def _collection_of(self, tenant_id: str, signature: str) -> str:
        texts = (signature, "with text") if self._with_text else (signature,)
        return collection_prefix(self._name, tenant_id) + digest_texts(*texts)

    async def _collections(self, tenant_id: str) -> dict[str, int]:
        """Return how many points each collection of a tenant has."""
        family = collection_prefix(self._name, tenant_id)
        return {info.name: info.count for info in await self._store.collections() if info.name.startswith(family)}


async def drop_collections(store: VectorStore, collection_name: str, tenant_id: str) -> int:
    """Drop the collections of a tenant in a store that is given up, and say how many there were."""
    family = collection_prefix(collection_name, tenant_id)
    names = [info.name for info in await store.collections() if info.name.startswith(family)]
    for name in names:
        await store.drop(name)
    return len(names)


async def _read_change_page(tx: Tx, key: _Key, cursor: int) -> tuple[list[tuple[int, int]], list[LinkedVector]]:
    """Return the change at the cursor (to see that the log still knows it), those that follow, and what they led to."""
    changes = await tx.vectors.changes_after(key[0], _previous_position(cursor), _PAGE + 1 if cursor else _PAGE)
    seqs = {seq for change, seq in changes if change > cursor}
    return changes, await tx.vectors.rows_of(*key, sorted(seqs))


def _change_reader(tenant_id: str, cursor: int) -> Work[list[tuple[int, int]]]:
    return lambda tx: tx.vectors.changes_after(tenant_id, cursor, _PAGE)


def _row_reader(key: _Key, seqs: Sequence[int]) -> Work[list[LinkedVector]]:
    return lambda tx: tx.vectors.rows_of(*key, seqs)


async def _memory_id_of(tx: Tx, seq: int) -> str:
    record = await tx.memories.at(seq)
    return "" if record is None else record.id


async def _find_start(tx: Tx, tenant_id: str, note: Mapping[str, Any]) -> int | None:
    """Return the change from which to go on, or None where the log is not the one that was followed."""
    cursor, seq = int(note["cursor"]), int(note["change_seq"])
    if (cursor, seq) not in await tx.vectors.changes_after(tenant_id, cursor - 1, 1):
        return None
    if await _memory_id_of(tx, seq) not in (note["memory_id"], ""):
        return None
    before = await tx.vectors.changes_after(tenant_id, max(0, cursor - _OVERLAP), 1)
    return min(cursor, before[0][0]) if before else cursor


def _previous_position(cursor: int) -> int:
    return max(0, cursor - 1)
