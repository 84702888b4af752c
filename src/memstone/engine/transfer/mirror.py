"""A vector store outside the ledger as the dense channel.

The ledger notes every change of a vector or a link in a log. A mirror follows that log by cursor and brings the store
up to date before it asks it: from the beginning when the collection is new, so that switching a store on, dropping a
collection and losing one are all the same case. Applying a change twice does no harm.

A store that fails is left alone for half a minute, and the index beside the ledger answers meanwhile. A collection into
which a write failed is then built anew: nobody knows how much of it arrived, or when.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from logging import DEBUG, WARNING
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid5

import numpy as np

from memstone.core.checks.filters import where_in_scope
from memstone.engine.store.vector_items import VECTOR, ensure_external, is_own, space_of
from memstone.errors import BackendError, InvalidInput
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED, Record
from memstone.model.query import And, Condition, Op, VectorQuery, Where
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit, DenseHits, Point, VectorIndex, VectorStore
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, LinkedVector, Tx
from memstone.trace import log_event

# --- a vector store outside the ledger as the dense channel -----------------------------------------------------------


_Key: TypeAlias = tuple[str, str]
"""Tenant and signature: what one collection is for."""

_PAGE: Final = 256
_FEW: Final = 1000
_EVERY: Final = 100_000_000
_TRIES: Final = 16
"""A search begins again for every time that its collection was dropped under it, and gives up only after many."""
_PAUSE_SECONDS: Final = 30.0
"""How long a store that failed is not asked; failures in between begin no new pause."""
_POINTS: Final = UUID("7d3b6f0e-3f0c-5a53-9a55-2f6f4d1c8e21")


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


class MirroredIndex:
    """See ``memstone.ports.index.VectorIndex``. Two ledgers need two collection names in one store."""

    quant = ""

    def __init__(
        self, ledger: Ledger, store: VectorStore, collection_name: str, io: Io, embedded: VectorIndex | None = None
    ) -> None:
        self._ledger, self._store, self._name = ledger, store, collection_name
        self._embedded = embedded
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
                hits = await self._search_store(query)
            except BackendError as raised:
                error = self._record_failure(raised)
            else:
                self._outage = None
                return hits
        return replace(DenseHits.of(await self._embedded.search(query)), failure=error)

    def _record_failure(self, error: BackendError) -> BackendError:
        self.failures += 1
        self._outage = (self._clock() + _PAUSE_SECONDS, error)
        log_event("vector_store.failed", WARNING, code=error.code, failures=self.failures)
        return error

    async def check_health(self) -> None:
        """Raise a ``BackendError`` unless the store answers."""
        await self._store.check_health()

    async def close(self) -> None:
        """Give the connections of the store back."""
        await self._store.close()

    async def clean_up(self, tenant_id: str, signature: str, now: Instant, *, dry_run: bool) -> int:
        """Remove points that the ledger does not know or that have expired; gives how many there were."""
        mirror = await self._current((tenant_id, signature))
        if mirror is None:
            return 0
        points = await self._store.scan(mirror.collection, None, _EVERY)
        seqs = sorted({int(point.payload["seq"]) for point in points})
        rows = await self._ledger.of(tenant_id).read(lambda tx: tx.vectors.rows_of(tenant_id, signature, seqs))
        known = {_build_point(tenant_id, row).id for row in rows if row.expires_at is None or row.expires_at > now}
        stale = [point.id for point in points if point.id not in known]
        if stale and not dry_run:
            await self._store.delete(mirror.collection, stale)
        return len(stale)

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
            for name in await self._collections(tenant_id):
                await self._store.drop(name)
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
        if mirror is None or await self._behind(key, mirror):
            async with self._lock:
                mirror = self._mirrors.get(key) or await self._begin(key)
                if mirror is not None and mirror.collection in self._suspects:
                    await self._start_again(mirror)
                    self._suspects.discard(mirror.collection)
                    log_event("vector_store.rebuilt", WARNING, collection=mirror.collection)
                while mirror is not None and await self._follow(key, mirror):
                    pass
        return mirror

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
        vector, where, wanted = np.asarray(query.vector).tolist(), _build_filter(query), query.limit
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
            row.seq: row.vector for row in rows if _is_in_scope(row, scope) and (not layers or row.layer in layers)
        }
        if not vectors:
            return []
        block = np.frombuffer(b"".join(vectors.values()), dtype="<f4").reshape(len(vectors), -1)
        cosines = np.vecdot(block, query.vector)
        hits = [DenseHit(seq, float(cosine)) for seq, cosine in zip(vectors, cosines, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.cosine, -hit.seq))

    # --- following ----------------------------------------------------------------------------------------------------

    async def _begin(self, key: _Key) -> _Mirror | None:
        """Find or make the collection, and drop those of signatures that are no longer searched."""
        tenant, signature = key
        spaces = await self._ledger.of(tenant).read(lambda tx: tx.indexes.all(tenant))
        dimensions = [space.dim for space in spaces if space.signature == signature]
        if not dimensions:
            return None
        name = collection_prefix(self._name, tenant) + _digest_texts(signature)
        counts = await self._collections(tenant)
        searched = [space for space in spaces if space.state == "active" or space.backend == "external"]
        remaining = {collection_prefix(self._name, tenant) + _digest_texts(space.signature) for space in searched}
        for other in counts.keys() - remaining - {name}:
            await self._store.drop(other)
        await self._store.create(name, dimensions[0])
        mirror = self._mirrors[key] = _Mirror(name, dimensions[0], inherited=counts.get(name, 0) > 0)
        return mirror

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
            await self._apply(mirror, {seq for _, seq in changes}, [_build_point(key[0], row) for row in rows])
            # Whoever followed at the same time (another event loop) may have written something newer before this was
            # written: going back to the smaller of the two repeats it.
            end = changes[-1][0]
            mirror.cursor = end if mirror.cursor == start else min(end, mirror.cursor)
        more = len(changes) >= _PAGE
        mirror.inherited = mirror.inherited and more
        return more

    async def _start_again(self, mirror: _Mirror) -> None:
        """Start again, as the log does not know the cursor: the tenant was reset, and what is held is of the past."""
        await self._store.drop(mirror.collection)
        await self._store.create(mirror.collection, mirror.dimension)
        mirror.cursor, mirror.newest, mirror.inherited = 0, 0, False

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

    async def _collections(self, tenant_id: str) -> dict[str, int]:
        """Return how many points each collection of a tenant has."""
        family = collection_prefix(self._name, tenant_id)
        return {info.name: info.count for info in await self._store.collections() if info.name.startswith(family)}


async def _read_change_page(tx: Tx, key: _Key, cursor: int) -> tuple[list[tuple[int, int]], list[LinkedVector]]:
    """Return the change at the cursor (to see that the log still knows it), those that follow, and what they led to."""
    changes = await tx.vectors.changes_after(key[0], _previous_position(cursor), _PAGE + 1 if cursor else _PAGE)
    seqs = {seq for change, seq in changes if change > cursor}
    return changes, await tx.vectors.rows_of(*key, sorted(seqs))


def _previous_position(cursor: int) -> int:
    return max(0, cursor - 1)


def _build_filter(query: VectorQuery) -> Where:
    if not query.layers:
        return where_in_scope(query.scope)
    return And((where_in_scope(query.scope), Condition("layer", Op.IN, query.layers)))


def _is_in_scope(row: LinkedVector, scope: Scope) -> bool:
    pairs = ((row.user_id, scope.user_id), (row.agent_id, scope.agent_id), (row.run_id, scope.run_id))
    return all(not wanted or have == wanted for have, wanted in pairs)


def _build_point(tenant_id: str, row: LinkedVector) -> Point:
    """Return one link of one version; its id depends on nothing else."""
    payload: dict[str, Any] = {
        "tenant_id": tenant_id,
        "id": row.id,
        "seq": row.seq,
        "layer": row.layer,
        "status": row.status,
        "user_id": row.user_id,
        "agent_id": row.agent_id,
        "run_id": row.run_id,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }
    name = "\0".join((str(row.seq), row.user_id, row.agent_id, row.run_id))
    return Point(str(uuid5(_POINTS, name)), np.frombuffer(row.vector, dtype="<f4").tolist(), payload)


def collection_prefix(collection_name: str, tenant_id: str) -> str:
    """Return how the names of a tenant's collections begin.

    They have letters, digits and underscores, which every store takes.
    """
    readable = re.sub("[^a-z0-9]+", "_", collection_name.lower()).strip("_")[:32]
    return f"{readable or 'memories'}_{_digest_texts(collection_name, tenant_id)}_"


def _digest_texts(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


# --- vectors that callers brought, as an export carries them ----------------------------------------------------------


_BYTES: Final = 4
_MOST: Final = 8_192
_NEAR: Final = 1e-3
_LONGEST: Final = 1e300


async def encode_own_vector(tx: Tx, record: Record) -> dict[str, str]:
    """Return what the line of a version gets whose vector a caller brought: its numbers, as float32 in base64."""
    if not is_own(record):
        return {}
    vector = await tx.vectors.get(record.tenant_id, record.seq, space_of(record.data[VECTOR]["dim"]).signature)
    return {} if vector is None else {VECTOR: base64.b64encode(vector).decode()}


def read_carried(record: Record, line: Mapping[str, Any]) -> bytes | None:
    """Return the vector in a line, or ``InvalidInput`` where it cannot be that of the version."""
    value = line.get(VECTOR)
    if not is_own(record):
        if value is not None:
            raise _damaged_vector_error(record)
        return None
    noted = record.data[VECTOR]
    if not isinstance(noted, Mapping) or not _is_whole(noted.get("dim")) or not _is_length(noted.get("length")):
        raise _damaged_vector_error(record)
    return None if value is None else _decode_vector(record, value, noted["dim"])


async def put_carried(tx: Tx, record: Record, vector: bytes | None) -> None:
    """Put the vector of a version that holds now into its space."""
    if vector is None or record.valid_to is not None or record.status not in INDEXED:
        return
    space = space_of(len(vector) // _BYTES)
    await ensure_external(tx, record.tenant_id, space)
    await tx.vectors.put(record.tenant_id, space.signature, [(record.seq, vector)])


def _is_whole(dim: object) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and 1 <= dim <= _MOST


def _is_length(length: object) -> bool:
    return isinstance(length, (int, float)) and not isinstance(length, bool) and 0 < length < _LONGEST


def _decode_vector(record: Record, value: object, dim: int) -> bytes:
    try:
        vector = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        raise _damaged_vector_error(record) from None
    if len(vector) != dim * _BYTES:
        raise _damaged_vector_error(record)
    length = float(np.linalg.norm(np.frombuffer(vector, dtype="<f4").astype("<f8")))
    if not abs(length - 1) < _NEAR:  # also what is not a number
        raise _damaged_vector_error(record)
    return vector


def _damaged_vector_error(record: Record) -> InvalidInput:
    return InvalidInput(f"a line of the export is damaged: the vector of {record.id}")
