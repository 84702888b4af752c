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
    """Runs units of work."""

    @property
    def in_process(self) -> bool:
        """Whether a unit waits for nothing but this process and its disk."""
        ...

    async def open(self) -> None:
        """Open the store and bring its schema up to date."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one consistent snapshot."""
        ...

    async def peek(self, work: Work[T]) -> T:
        """Run a unit that asks one thing only: a single statement is a snapshot by itself and needs no transaction."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction; when this returns it survives a crash."""
        ...

    async def aside(self, work: Work[T]) -> T:
        """Run a unit that changes only who works on what, as one transaction that waits for nobody who writes."""
        ...

    async def note(self, work: Work[T]) -> T:
        """Run a unit as one transaction that does not wait for the disk: it outlives this process, but no power cut."""
        ...

    def of(self, tenant_id: str) -> Ledger:
        """Return the same store for the units of one tenant.

        A database that keeps tenants apart shows them no other.
        """
        ...

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Raise ``StorageFull`` if nothing more should be added; cheap enough to be asked every time.

        ``by_writing`` also tries to write, beside the store, and raises ``StorageReadOnly`` if that fails otherwise.
        """
        ...

    async def check(self) -> StoreCheck:
        """Return what a doctor wants to know: location, schema, integrity, size."""
        ...

    async def close(self) -> None:
        """Give the store back."""
        ...


class WholeLedger(Ledger, Protocol):
    """A ledger with what only whoever runs the database asks for."""

    async def migrate(self, grant: Sequence[str] = ()) -> dict[str, Any]:
        """Bring the schema up to date, and let these roles of the database run the product; gives what was done."""
        ...


# --- a ledger that tells other processes when there is something to do ------------------------------------------------


Tenants: TypeAlias = Callable[[], Iterable[str]]


class WakeSubscription(Protocol):
    """Somebody who listens."""

    @property
    def hears(self) -> bool:
        """Whether calls get through at the moment; while they do not, one has to look."""
        ...

    def stop(self) -> None:
        """Listen no longer."""
        ...


@runtime_checkable
class WakeableLedger(Protocol):
    """What a ledger offers that can wake workers of other processes."""

    async def listen(self, ring: Callable[[], None], tenants: Tenants | None) -> WakeSubscription:
        """Ring, from any thread, when something that waits becomes due, of these tenants or of all.

        It also rings when it begins to hear and when it no longer does: something may have been missed.
        """
        ...
