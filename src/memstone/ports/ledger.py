"""The ledger: transactions over memories, links, events and indexes.

The engine writes units of work as coroutines over a ``Tx`` and hands them to ``Ledger.read`` or
``Ledger.write``. A unit runs in one transaction, may be run again when the database asks for it, and
must do nothing but database work: no model or network call is ever made inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from memstone.ports.access_tables import Accounts, Admin, Agents, ApiKeys, Preferences
from memstone.ports.browse import Browse
from memstone.ports.erasure import Erasure, Vault
from memstone.ports.index import FullText, Indexes, IndexInfo, LinkedVector, TextRow, VectorRow, VectorRows
from memstone.ports.tables import (
    Bulk,
    Entities,
    Events,
    Links,
    Memories,
    Metrics,
    Provenance,
    RowsByOwner,
    StoredRows,
    UpkeepRows,
)
from memstone.ports.work_tables import (
    Calibration,
    Continuations,
    Idempotency,
    Jobs,
    Leases,
    LlmCache,
    Receipts,
    Signals,
    Suppressions,
)

if TYPE_CHECKING:
    from memstone.results import StoreCheck

# --- the truth --------------------------------------------------------------------------------------------------------


__all__ = [
    "Accounts",
    "Admin",
    "Agents",
    "ApiKeys",
    "Browse",
    "Bulk",
    "Calibration",
    "Continuations",
    "Entities",
    "Erasure",
    "Events",
    "FullText",
    "Idempotency",
    "IndexInfo",
    "Indexes",
    "Jobs",
    "Leases",
    "Ledger",
    "LinkedVector",
    "Links",
    "LlmCache",
    "Memories",
    "Metrics",
    "Preferences",
    "Provenance",
    "Receipts",
    "RowsByOwner",
    "Signals",
    "StoredRows",
    "Suppressions",
    "TextRow",
    "Tx",
    "UpkeepRows",
    "Vault",
    "VectorRow",
    "VectorRows",
    "WholeLedger",
    "Work",
]

T = TypeVar("T")


class Tx(Protocol):
    """One transaction."""

    @property
    def memories(self) -> Memories: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def browse(self) -> Browse: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def links(self) -> Links: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def events(self) -> Events: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def text(self) -> FullText: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def vectors(self) -> VectorRows: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def entities(self) -> Entities: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def indexes(self) -> Indexes: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def signals(self) -> Signals: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def jobs(self) -> Jobs: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def leases(self) -> Leases: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def suppressions(self) -> Suppressions: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def idempotency(self) -> Idempotency: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def llm_cache(self) -> LlmCache: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def continuations(self) -> Continuations: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def receipts(self) -> Receipts: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def calibration(self) -> Calibration: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def provenance(self) -> Provenance: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def api_keys(self) -> ApiKeys: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def accounts(self) -> Accounts: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def metrics(self) -> Metrics: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def erasure(self) -> Erasure: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def vault(self) -> Vault: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def preferences(self) -> Preferences: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def agents(self) -> Agents: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def rows_by_owner(self) -> RowsByOwner: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def stored_rows(self) -> StoredRows: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def upkeep(self) -> UpkeepRows: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def bulk(self) -> Bulk: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def admin(self) -> Admin: ...  # noqa: D102 - the protocol it names is the contract


Work: TypeAlias = Callable[[Tx], Coroutine[Any, Any, T]]


class Ledger(Protocol):
    """A ledger, which runs units of work."""

    @property
    def in_process(self) -> bool:
        """Whether a unit needs nothing but this process and its disk."""
        ...

    async def open(self) -> None:
        """Open the store and bring its schema up to date."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one consistent snapshot."""
        ...

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of a single statement, which needs no transaction."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction; when this returns, it survives a crash."""
        ...

    async def aside(self, work: Work[T]) -> T:
        """Run a unit that assigns no ``seq``, such as a lease, without waiting for writers."""
        ...

    async def note(self, work: Work[T]) -> T:
        """Run a unit as one transaction without waiting for the disk: a power cut may lose it."""
        ...

    def of(self, tenant_id: str) -> Ledger:
        """Return the same ledger for the units of one tenant.

        A database that keeps tenants apart shows them no other.
        """
        ...

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Raise ``StorageFull`` if nothing should be added; cheap enough for every call.

        ``by_writing`` also tries to write, beside the store, and raises ``StorageReadOnly`` if that fails otherwise.
        """
        ...

    async def check(self) -> StoreCheck:
        """Return the state of the store: location, schema, integrity, size."""
        ...

    async def close(self) -> None:
        """Give the store back."""
        ...


class WholeLedger(Ledger, Protocol):
    """A ledger with the methods that only operators need."""

    async def migrate(self, grant: Sequence[str] = ()) -> dict[str, Any]:
        """Update the schema, and grant access to these roles; return what was done."""
        ...


# --- a ledger that tells other processes when there is something to do ------------------------------------------------


Tenants: TypeAlias = Callable[[], Iterable[str]]


class WakeSubscription(Protocol):
    """A subscription to notifications of queued work."""

    @property
    def hears(self) -> bool:
        """Whether notifications arrive at the moment; if not, poll."""
        ...

    def stop(self) -> None:
        """Stop listening."""
        ...


@runtime_checkable
class WakeableLedger(Protocol):
    """A ledger that can wake workers of other processes."""

    async def listen(self, ring: Callable[[], None], tenants: Tenants | None) -> WakeSubscription:
        """Ring, from any thread, when queued work of these tenants becomes due.

        It also rings when it begins to hear and when it no longer does: something may have been missed.
        """
        ...
