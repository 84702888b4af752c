"""A ledger within bounds: it shows and changes only what a caller has access to.

A key may be bound to a user, to an agent, or to its own pools. What it cannot reach must not depend on every verb
remembering to ask: this ledger stands below the verbs and adds the bounds to every condition, and to every look by id.
What it does not know to be safe it refuses, so that a table that is added later is closed until somebody has thought
about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.core.checks.filters import where_in_bounds, where_in_scope
from memstone.engine.access.bounded_tables import (
    BoundBrowse,
    BoundEvents,
    BoundJobs,
    BoundLinks,
    BoundSignals,
    out_of_bounds_error,
)
from memstone.engine.runtime import Runtime
from memstone.model.access import Bounds, Users
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Record
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.ledger import Admin, Ledger, Memories, Receipts, Tx, UpkeepRows, Vault, Work

if TYPE_CHECKING:
    from memstone.results import StoreCheck

T = TypeVar("T")

# By seq of rows that were found within the bounds, or by a scope that the verb was given and that was checked.
_SAFE: Final = frozenset(
    {
        "agents",
        "calibration",
        "continuations",
        "entities",
        "idempotency",
        "indexes",
        "leases",
        "llm_cache",
        "metrics",
        "preferences",
        "provenance",
        "suppressions",
        "text",
        "vectors",
    }
)


def apply_bounds(runtime: Runtime, bounds: Bounds) -> Runtime:
    """Return the parts of an engine that reaches only what stands within these bounds."""
    own = replace(bounds, tenant_id=runtime.tenant_id)
    named = replace(runtime, unnamed=own.unnamed)
    if own.is_open:
        return named
    apart = runtime.embedding.of(f"{own.tenant_id}/{own.name}") if own.name else runtime.embedding
    within_bounds = replace(named, ledger=BoundLedger(runtime.ledger, own), bounds=own)
    return replace(within_bounds, embedding=apart, asker=own.name, at_home=False)


def remove_bounds(runtime: Runtime) -> Runtime:
    """Return the runtime without bounds: for what the engine makes of a checked session, the caller."""
    ledger = runtime.ledger
    return replace(runtime, ledger=ledger.beneath, bounds=None) if isinstance(ledger, BoundLedger) else runtime


class BoundLedger:
    """See ``memstone.ports.ledger.Ledger``."""

    def __init__(self, ledger: Ledger, bounds: Bounds) -> None:
        self._ledger, self._bounds = ledger, bounds

    @property
    def beneath(self) -> Ledger:
        """The store of the tenant, without bounds."""
        return self._ledger

    @property
    def in_process(self) -> bool:
        """As the store beneath."""
        return self._ledger.in_process

    def of(self, tenant_id: str) -> Ledger:
        """Return the same within the bounds, which name the tenant; there is no way to another."""
        if tenant_id != self._bounds.tenant_id:
            raise out_of_bounds_error("another tenant")
        return self

    async def open(self) -> None:
        """Open the store beneath."""
        await self._ledger.open()

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot, within the bounds."""
        return await self._ledger.read(lambda tx: work(self._bind_tx(tx)))

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of one statement; what takes a second one within bounds (``_reached``, ``reaches``) is read."""
        return await self._ledger.peek(lambda tx: work(self._bind_tx(tx)))

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction, within the bounds."""
        return await self._ledger.write(lambda tx: work(self._bind_tx(tx)))

    async def aside(self, work: Work[T]) -> T:
        """Run a unit that changes who works on what, within the bounds."""
        return await self._ledger.aside(lambda tx: work(self._bind_tx(tx)))

    async def note(self, work: Work[T]) -> T:
        """Run a unit that a power cut may take, within the bounds."""
        return await self._ledger.note(lambda tx: work(self._bind_tx(tx)))

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Do as the store beneath does."""
        await self._ledger.ensure_room(by_writing=by_writing)

    def _bind_tx(self, tx: Tx) -> Tx:
        bound: Tx = BoundTx(tx, self._bounds)
        return bound

    async def check(self) -> StoreCheck:
        """Return the state of the whole store is not for somebody who reaches a part of it."""
        raise out_of_bounds_error("the state of the store")

    async def close(self) -> None:
        """Do nothing: the store belongs to whoever opened it."""


class BoundTx:
    """One transaction within bounds."""

    def __init__(self, tx: Tx, bounds: Bounds) -> None:
        self._tx, self._bounds = tx, bounds

    # Made when they are asked for: most units ask one table, and a read has many units.

    @cached_property
    def memories(self) -> BoundMemories:
        """Versions within the bounds."""
        return BoundMemories(self._tx.memories, self._bounds)

    @cached_property
    def browse(self) -> BoundBrowse:
        """Pages of what is within the bounds."""
        return BoundBrowse(self._tx.browse, self.memories, self._bounds)

    @cached_property
    def links(self) -> BoundLinks:
        """Who within the bounds sees what."""
        return BoundLinks(self._tx.links, self._tx.memories, self._bounds)

    @cached_property
    def events(self) -> BoundEvents:
        """What was done within the bounds."""
        return BoundEvents(self._tx.events, self.memories, self._bounds)

    @cached_property
    def receipts(self) -> BoundReceipts:
        """What was shown to somebody within the bounds."""
        return BoundReceipts(self._tx.receipts, self._bounds)

    @cached_property
    def signals(self) -> BoundSignals:
        """What waits within the bounds."""
        return BoundSignals(self._tx.signals, self._bounds)

    @cached_property
    def jobs(self) -> BoundJobs:
        """What was done in the background within the bounds."""
        return BoundJobs(self._tx.jobs, self._bounds)

    @cached_property
    def admin(self) -> BoundAdmin:
        """What every write and every search asks."""
        return BoundAdmin(self._tx.admin)

    @cached_property
    def upkeep(self) -> BoundUpkeep:
        """What is noted on versions within the bounds."""
        return BoundUpkeep(self._tx.upkeep, self.memories)

    @cached_property
    def vault(self) -> BoundVault:
        """The key of the tenant."""
        return BoundVault(self._tx.vault, self._bounds)

    def __getattr__(self, name: str) -> Any:
        if name not in _SAFE:
            raise out_of_bounds_error(name)
        return getattr(self._tx, name)


class BoundAdmin:
    """See ``memstone.ports.access_tables.Admin``: only what every write and every search asks."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def cursor(self) -> int:
        """Return a number that says how far the store has come, and nothing else."""
        return await self._admin.cursor()

    async def users_of(self, scope: Scope) -> list[str]:
        """Return whose memories name an agent or a run; what is found there is checked against the bounds."""
        return await self._admin.users_of(scope)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"admin.{name}")


class BoundVault:
    """See ``memstone.ports.erasure.Vault``: only the key of the tenant, with which blocks are fenced."""

    def __init__(self, vault: Vault, bounds: Bounds) -> None:
        self._vault, self._tenant = vault, bounds.tenant_id

    async def key(self, tenant_id: str, fresh: bytes, at: Instant) -> bytes:
        """Return the key of this tenant."""
        if tenant_id != self._tenant:
            raise out_of_bounds_error("another tenant")
        return await self._vault.key(tenant_id, fresh, at)

    async def known_key(self, tenant_id: str) -> bytes | None:
        """Return the same, where there is one."""
        if tenant_id != self._tenant:
            raise out_of_bounds_error("another tenant")
        return await self._vault.known_key(tenant_id)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"vault.{name}")


class BoundUpkeep:
    """See ``memstone.ports.tables.UpkeepRows``: only what every write notes on what was said."""

    def __init__(self, upkeep: UpkeepRows, memories: BoundMemories) -> None:
        self._upkeep, self._memories = upkeep, memories

    async def restate(self, record: Record) -> None:
        """Note something on a version within the bounds."""
        if await self._memories.at(record.seq) is None:
            raise out_of_bounds_error("this memory")
        await self._upkeep.restate(record)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"upkeep.{name}")


class BoundMemories:
    """See ``memstone.ports.tables.Memories``."""

    def __init__(self, memories: Memories, bounds: Bounds) -> None:
        self._memories, self._within, self._tenant = memories, where_in_bounds(bounds), bounds.tenant_id
        # What belongs to everybody is read by everybody; changed it is only by whoever reaches the whole tenant.
        everybody = where_in_scope(Scope(bounds.tenant_id, EVERYBODY))
        is_somebody = bounds.user_id or bounds.users is Users.POOLS
        self._readable = Or((self._within, everybody)) if is_somebody else self._within

    def readable(self, where: Where) -> Where:
        """Return a condition that also asks for what may be read."""
        return And((where, self._readable))

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[FoundMemory]:
        """Return those that match, within the bounds."""
        return await self._memories.find(self.readable(where), limit=limit, offset=offset, oldest_first=oldest_first)

    async def list_newest(self, where: Where, *, limit: int, offset: int = 0) -> list[FoundMemory]:
        """Return those that match, the last created first, within the bounds."""
        return await self._memories.list_newest(self.readable(where), limit=limit, offset=offset)

    async def salient(self, where: Where, *, limit: int) -> list[FoundMemory]:
        """Return those that match, the most salient first, within the bounds."""
        return await self._memories.salient(self.readable(where), limit=limit)

    async def list_sessions(
        self, where: Where, *, limit: int, offset: int = 0
    ) -> list[tuple[str, int, Instant, Instant]]:
        """Return the runs of those that match, within the bounds."""
        return await self._memories.list_sessions(self.readable(where), limit=limit, offset=offset)

    async def add_source_count(self, seqs: Iterable[int], by: int) -> None:
        """Count an episode for versions that were found within the bounds."""
        await self._memories.add_source_count(seqs, by)

    async def count(self, where: Where) -> dict[str, int]:
        """Count how many of them match."""
        return await self._memories.count(self.readable(where))

    async def tokens(self, where: Where) -> int:
        """Count the tokens of all of them."""
        return await self._memories.tokens(self.readable(where))

    async def seqs(self, where: Where) -> list[int]:
        """Return their numbers."""
        return await self._memories.seqs(self.readable(where))

    async def hashes(self, where: Where) -> dict[int, str]:
        """Return the hashes of their texts."""
        return await self._memories.hashes(self.readable(where))

    async def among(self, seqs: Sequence[int], where: Where) -> list[FoundMemory]:
        """Return those of ``seqs`` that match, within the bounds."""
        return await self._memories.among(seqs, self.readable(where))

    async def ids_among(self, seqs: Sequence[int], where: Where) -> dict[int, str]:
        """Return the ids of those of ``seqs`` that match, within the bounds."""
        return await self._memories.ids_among(seqs, self.readable(where))

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        """Return what was said last, where that is within the bounds."""
        return await self._memories.latest(scope, layer, below)

    async def reaches(self, memory_id: str) -> bool:
        """Return whether any version of a memory is linked within the bounds."""
        same = Condition("id", Op.EQ, memory_id)
        return bool(await self._memories.seqs(And((self._tenant_is(), same, self._within))))

    def _tenant_is(self) -> Where:
        return Condition("tenant_id", Op.EQ, self._tenant)

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        """Return the version that holds now, if it is within the bounds."""
        return await self._filter_reachable(await self._memories.current(tenant_id, memory_id))

    async def find_visible(self, tenant_id: str, memory_id: str) -> FoundMemory | None:
        """Return the version that holds now, through a link within the bounds."""
        same, holds = Condition("id", Op.EQ, memory_id), Condition("valid_to", Op.EXISTS, value=False)
        tenant = Condition("tenant_id", Op.EQ, tenant_id)
        seen = await self._memories.find(And((tenant, same, holds, self._within)), limit=1)
        return seen[0] if seen else None

    async def is_taken(self, tenant_id: str, memory_id: str) -> bool:
        """Return whether an id is used, by whomever: for choosing another one, never to be told."""
        return await self._memories.is_taken(tenant_id, memory_id)

    async def at(self, seq: int) -> Record | None:
        """Return one version, if it is within the bounds."""
        return await self._filter_reachable(await self._memories.at(seq))

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        """Return one version by its number, if it is within the bounds."""
        return await self._filter_reachable(await self._memories.version(tenant_id, memory_id, version))

    async def _filter_reachable(self, record: Record | None) -> Record | None:
        if record is None or not await self._memories.among([record.seq], self._within):
            return None
        return record

    async def insert(self, record: Record) -> int:
        """Store a new version; its links say who may see it."""
        return await self._memories.insert(record)

    async def insert_all(self, records: Sequence[Record]) -> None:
        """Store new versions; their links say who may see them."""
        await self._memories.insert_all(records)

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        """End a version that was found within the bounds."""
        return await self._memories.close(seq, status, at)

    async def strengthen(self, seq: int, salience: float, anchor_at: Instant) -> None:
        """Let a version that was found within the bounds have another weight."""
        await self._memories.strengthen(seq, salience, anchor_at)

    async def last(self, tenant_id: str, memory_id: str) -> Record | None:
        """Return the last version, if it is within the bounds."""
        return await self._filter_reachable(await self._memories.last(tenant_id, memory_id))

    async def unbury(self, tenant_id: str, memory_id: str, version: int, status: str) -> None:
        """Take ``bury`` back for one that was found within the bounds."""
        await self._memories.unbury(tenant_id, memory_id, version, status)

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        """Mark earlier versions of one that was found within the bounds."""
        await self._memories.bury(tenant_id, memory_id)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"memories.{name}")


class BoundReceipts:
    """See ``memstone.ports.work_tables.Receipts``."""

    def __init__(self, receipts: Receipts, bounds: Bounds) -> None:
        self._receipts, self._bounds = receipts, bounds

    async def put(self, scope: Scope, receipt_id: str, body: Any, at: Instant) -> None:
        """Keep a receipt of something that was shown within the bounds."""
        await self._receipts.put(scope, receipt_id, body, at)

    async def get(self, tenant_id: str, receipt_id: str) -> dict[str, Any] | None:
        """Return a receipt, if it is of somebody within the bounds."""
        found = await self._receipts.find_with_owner(
            tenant_id, receipt_id
        )  # in one statement, so that it can be peeked at
        return found[1] if found is not None and self._bounds.holds(found[0]) else None

    async def list_newest(self, scope: Scope, since: Instant, limit: int) -> list[tuple[Scope, dict[str, Any]]]:
        """Return receipts of a scope, as far as they are of somebody within the bounds."""
        found = await self._receipts.list_newest(scope, since, limit)
        return [(owner, body) for owner, body in found if self._bounds.holds(owner)]

    async def owner(self, tenant_id: str, receipt_id: str) -> Scope | None:
        """Return whose it is, if that is somebody within the bounds."""
        found = await self._receipts.owner(tenant_id, receipt_id)
        return found if found is not None and self._bounds.holds(found) else None

    async def amend(self, tenant_id: str, receipt_id: str, body: Any) -> None:
        """Change a receipt of somebody within the bounds."""
        if await self.owner(tenant_id, receipt_id) is not None:
            await self._receipts.amend(tenant_id, receipt_id, body)

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        """Make room, as every account does."""
        await self._receipts.prune(tenant_id, keep=keep, before=before)

    def __getattr__(self, name: str) -> Any:
        raise out_of_bounds_error(f"receipts.{name}")
