"""The truth: memories, links, events and their mirrors, in transactions.

The engine writes units of work as coroutines over a ``Tx`` and hands them to ``Ledger.read`` or
``Ledger.write``. A unit runs in one transaction, may be run again when the database asks for it, and
must do nothing but database work: no model or network call is ever made inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from retain.model.event import Event, Signal
from retain.model.instant import Instant
from retain.model.memory import Found, Link, Record, TextDoc
from retain.model.query import TextQuery, Where
from retain.model.scope import Scope
from retain.model.vector import Vector
from retain.ports.calibration import Calibration
from retain.ports.entities import Entities
from retain.ports.provenance import Provenance
from retain.ports.receipts import Receipts
from retain.ports.stored import Stored

T = TypeVar("T")


class Memories(Protocol):
    """Rows of ``memories``: versions of remembered things."""

    async def insert(self, record: Record) -> int:
        """Store a new version; gives its ``seq`` (also set on the record)."""
        ...

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        """End a current version; false when somebody else ended it before."""
        ...

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        """Mark the earlier versions of a deleted memory as deleted too, so that no look at the past shows them."""
        ...

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[Found]:
        """Matching memories, each once, newest first."""
        ...

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        """The text that was stored last in exactly this scope and layer as it was said, and when that was said.

        ``below`` looks only at what was stored before that ``seq``.
        """
        ...

    async def count(self, where: Where) -> dict[str, int]:
        """How many match, by kind."""
        ...

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        """The version that holds now, whatever its status."""
        ...

    async def seen(self, tenant_id: str, memory_id: str) -> Found | None:
        """The version that holds now, through its first link."""
        ...

    async def at(self, seq: int) -> Record | None:
        """One version."""
        ...

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        """One version by its number."""
        ...

    async def seqs(self, where: Where) -> list[int]:
        """The ``seq`` of every match."""
        ...

    async def among(self, seqs: Sequence[int], where: Where) -> list[Found]:
        """Those of ``seqs`` that match, in no particular order."""
        ...


class Links(Protocol):
    """Who may see what."""

    async def add(self, tenant_id: str, seq: int, links: Iterable[Link]) -> None:
        """Link a version; a second live holder of a ``dedupe`` raises ``Conflict``."""
        ...

    async def add_many(self, tenant_id: str, links: Iterable[tuple[int, Link]]) -> None:
        """Link many versions, each given with its link."""
        ...

    async def of(self, tenant_id: str, seq: int) -> list[Link]:
        """The links of a version."""
        ...

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        """The current version that holds this dedupe value."""
        ...

    async def release(self, tenant_id: str, seq: int) -> None:
        """Give up the dedupe values of a version that is no longer current."""
        ...

    async def remove(self, seq: int, scope: Scope) -> None:
        """Remove one link."""
        ...

    async def used(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        """Count a use of each version, given with the link through which it was seen."""
        ...


class Events(Protocol):
    """The append-only history."""

    async def append(self, events: Iterable[Event]) -> None:
        """Record events."""
        ...

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        """The events of one memory, oldest first."""
        ...

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        """Events with a larger ``seq``, oldest first."""
        ...

    async def known(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        """Which of these events of a memory are recorded."""
        ...


class FullText(Protocol):
    """The analysed mirror; keyed by ``seq``."""

    async def put(self, seq: int, doc: TextDoc) -> None:
        """Index a version."""
        ...

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        """Index many versions."""
        ...

    async def drop(self, seqs: Iterable[int]) -> None:
        """Take versions out."""
        ...

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        """Best first, higher is better. Rows outside the scope tokens are never looked at."""
        ...

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        """All indexed rows of a user (``since=None``), or what became of those that changed later, by ``seq``."""
        ...


@dataclass(frozen=True, slots=True)
class TextRow:
    """The words of one memory as one link sees it; ``body`` is None when it is gone.

    ``own_words`` tells what was said as it was said from what was derived from it; ``body``, ``key``,
    ``speaker_terms`` and ``day_terms`` are analysed.
    """

    seq: int
    agent_id: str
    run_id: str
    layer: str
    created_at: Instant
    occurred_at: Instant
    own_words: bool
    speaker: str
    text: str
    body: str | None
    key: str
    speaker_terms: str
    day_terms: str


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One vector as one link sees it; ``vector`` is little-endian float32, or None when it is gone."""

    seq: int
    agent_id: str
    run_id: str
    layer: str
    vector: bytes | None
    own_words: bool = False


@dataclass(frozen=True, slots=True)
class LinkedVector:
    """One vector as one link sees it, with what an index outside the ledger keeps beside it."""

    seq: int
    id: str
    user_id: str
    agent_id: str
    run_id: str
    layer: str
    status: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One vector space of a tenant."""

    signature: str
    dim: int
    state: str
    backend: str = "local"
    quant: str = ""


class VectorRows(Protocol):
    """Vectors by signature, and the change counter that keeps indexes coherent."""

    async def put(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Store vectors of versions; a ``Vector`` brings those of its words."""
        ...

    async def get(self, tenant_id: str, seq: int, signature: str) -> Vector | None:
        """The vector of one version, with those of its words."""
        ...

    async def drop(self, tenant_id: str, seqs: Iterable[int]) -> None:
        """Remove the vectors of versions, in every signature."""
        ...

    async def note(self, tenant_id: str, news: Iterable[tuple[str, int]]) -> None:
        """Say that a user has a new version, for each pair: ``touch`` where the links are known."""
        ...

    async def touch(self, tenant_id: str, seqs: Iterable[int]) -> None:
        """Say that what an index holds of these versions is out of date."""
        ...

    async def stamp(self, tenant_id: str, user_id: str) -> int:
        """Grows with every change of this user's vectors or links."""
        ...

    async def noted(self, tenant_id: str, user_id: str, stamp: int) -> bool:
        """Whether the log still holds the change that gave this stamp; not after a reset."""
        ...

    async def partition(self, tenant_id: str, user_id: str, signature: str, since: int | None) -> list[VectorRow]:
        """All indexed rows of a user (``since=None``), or what became of those that changed later."""
        ...

    async def changes_after(self, tenant_id: str, cursor: int, limit: int) -> list[tuple[int, int]]:
        """Changes of the whole tenant with a larger id, oldest first: the id, and the ``seq`` it is about."""
        ...

    async def rows_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[LinkedVector]:
        """What these versions are now, once for each of their links; one that has left the index is not there."""
        ...

    async def words_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        """The vectors of the words of these versions, of those that have them."""
        ...

    async def missing(self, tenant_id: str, signature: str, after: int, limit: int) -> list[Record]:
        """Indexed versions without a vector of this signature, by ``seq``."""
        ...

    async def missing_count(self, tenant_id: str, signature: str) -> int:
        """How many there are."""
        ...

    async def fill(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        """Store vectors of versions that are still current; gives how many."""
        ...


class Indexes(Protocol):
    """Which vector spaces a tenant has."""

    async def all(self, tenant_id: str) -> list[IndexInfo]:
        """Every signature ever used and not dropped."""
        ...

    async def put(self, tenant_id: str, info: IndexInfo) -> None:
        """Register a signature or change its state."""
        ...

    async def drop(self, tenant_id: str, signature: str) -> int:
        """Remove a signature and its vectors."""
        ...


class Signals(Protocol):
    """The durable inbox."""

    async def put(self, signals: Iterable[Signal]) -> None:
        """Keep something for later."""
        ...

    async def pending(self, scope: Scope, limit: int) -> list[Signal]:
        """What waits in a scope, oldest first."""
        ...

    async def mark(
        self, tenant_id: str, ids: Iterable[str], status: str, error: str | None = None, *, counts: bool = True
    ) -> None:
        """Say what became of signals; without ``counts`` it is no attempt that speaks against them."""
        ...

    async def known(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Which of these are there, whatever their state."""
        ...

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove these, with the words they hold."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove every signal of a scope, whatever its state."""
        ...


class Suppressed(Protocol):
    """What a person deleted and must not come back by itself."""

    async def put(self, tenant_id: str, dedupe: str, memory_id: str, at: Instant) -> None:
        """Remember a deletion."""
        ...

    async def lift(self, tenant_id: str, dedupe: str) -> None:
        """The person said it again."""
        ...

    async def any(self, tenant_id: str) -> bool:
        """Whether anything was deleted by a person."""
        ...

    async def has(self, tenant_id: str, dedupe: str) -> bool:
        """Whether it was deleted by a person."""
        ...

    async def turns(self, tenant_id: str, turn_ids: Sequence[str]) -> set[str]:
        """Which of these turns are the evidence of something that a person deleted."""
        ...


class Idempotency(Protocol):
    """Answers of batches that must not be carried out twice."""

    async def get(self, tenant_id: str, key: str) -> tuple[str, str] | None:
        """The hash of the request and the reply that was given."""
        ...

    async def put(self, tenant_id: str, key: str, request: str, reply: str, at: Instant) -> None:
        """Keep a reply."""
        ...

    async def purge(self, before: Instant) -> None:
        """Forget old replies."""
        ...


class LlmCache(Protocol):
    """Answers of language models to questions that were asked before."""

    async def get(self, tenant_id: str, key: str) -> str | None:
        """The answer to a question, by the hash of all that went into it."""
        ...

    async def put(self, tenant_id: str, key: str, reply: str, at: Instant) -> None:
        """Keep an answer."""
        ...


class Admin(Protocol):
    """Whole-tenant questions and acts."""

    async def counts(self, tenant_id: str) -> dict[str, int]:
        """Rows per mirror: memories, how many of them are turns, events, fulltext, vectors; signals: pending, dead."""
        ...

    async def reset(self, tenant_id: str) -> None:
        """Remove every row of a tenant, in every table."""
        ...

    async def cursor(self) -> int:
        """The ``seq`` of the newest version; whatever is written later has a larger one."""
        ...

    async def users_of(self, scope: Scope) -> list[str]:
        """The users whose links name this agent or run."""
        ...


class Tx(Protocol):
    """One transaction."""

    @property
    def memories(self) -> Memories: ...  # noqa: D102 - the protocol it names is the contract

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
    def suppressed(self) -> Suppressed: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def idempotency(self) -> Idempotency: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def llm_cache(self) -> LlmCache: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def receipts(self) -> Receipts: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def calibration(self) -> Calibration: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def provenance(self) -> Provenance: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def stored(self) -> Stored: ...  # noqa: D102 - the protocol it names is the contract

    @property
    def admin(self) -> Admin: ...  # noqa: D102 - the protocol it names is the contract


Work: TypeAlias = Callable[[Tx], Coroutine[Any, Any, T]]


class Ledger(Protocol):
    """Runs units of work."""

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

    async def check(self) -> dict[str, Any]:
        """What a doctor wants to know: location, schema, integrity, size."""
        ...

    async def close(self) -> None:
        """Give the store back."""
        ...
