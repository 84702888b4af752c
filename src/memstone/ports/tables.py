"""Tables of memories, links, events and entities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

from memstone.model.age import MemoryAge, Older
from memstone.model.event import Event, EventFilter
from memstone.model.instant import Instant
from memstone.model.memory import EntityRow, FoundMemory, Link, Record, RelationRow
from memstone.model.query import Where
from memstone.model.scope import Scope
from memstone.ports.graph import GraphCounts, GraphRows

# --- versions of remembered things, who may see them, and what happened to them ---------------------------------------


class Memories(Protocol):
    """Rows of ``memories``: versions of remembered things."""

    async def insert(self, record: Record) -> int:
        """Store a new version; return its ``seq`` (also set on the record)."""
        ...

    async def insert_all(self, records: Sequence[Record]) -> None:
        """Store new versions; each gets its ``seq``, which grows in the order given."""
        ...

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        """End a current version; false when somebody else ended it before."""
        ...

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        """Mark the earlier versions of a deleted memory as deleted too, so that no look at the past shows them."""
        ...

    async def unbury(self, tenant_id: str, memory_id: str, version: int, status: str) -> None:
        """Take ``bury`` back: versions that were marked as deleted are superseded again, this one has this status."""
        ...

    async def is_taken(self, tenant_id: str, memory_id: str) -> bool:
        """Return whether there is or was a memory of this id, whoever sees it: to choose another, never to be told."""
        ...

    async def last(self, tenant_id: str, memory_id: str) -> Record | None:
        """Return the version with the highest number, whether it still holds or not."""
        ...

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[FoundMemory]:
        """Return matching memories, each once, newest first."""
        ...

    async def list_newest(self, where: Where, *, limit: int, offset: int = 0) -> list[FoundMemory]:
        """Return matching memories, each once, by when their first version was stored, the last one first."""
        ...

    async def salient(self, where: Where, *, limit: int) -> list[FoundMemory]:
        """Return matching memories, each once, the most salient first; of equals the newest."""
        ...

    async def add_source_count(self, seqs: Iterable[int], by: int) -> None:
        """Note that one episode more (or, with -1, one less) mentions these versions."""
        ...

    async def list_sessions(
        self, where: Where, *, limit: int, offset: int = 0
    ) -> list[tuple[str, int, Instant, Instant]]:
        """Return the runs that matching rows belong to, latest first: how many rows, the first and the last time."""
        ...

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        """Return the text that was stored last in exactly this scope and layer as it was said, and when that was said.

        ``below`` looks only at what was stored before that ``seq``.
        """
        ...

    async def count(self, where: Where) -> dict[str, int]:
        """Return how many match, by kind."""
        ...

    async def tokens(self, where: Where) -> int:
        """Return how many tokens all that match are."""
        ...

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        """Return the version that holds now, whatever its status."""
        ...

    async def find_visible(self, tenant_id: str, memory_id: str) -> FoundMemory | None:
        """Return the version that holds now, through its first link, one of a project last."""
        ...

    async def at(self, seq: int) -> Record | None:
        """Return one version."""
        ...

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        """Return one version by its number."""
        ...

    async def strengthen(self, seq: int, salience: float, anchor_at: Instant) -> None:
        """Let a version have this salience since a moment; its words stay as they are."""
        ...

    async def seqs(self, where: Where) -> list[int]:
        """Return the ``seq`` of every match."""
        ...

    async def hashes(self, where: Where) -> dict[int, str]:
        """Return the hash of the text of every match, by ``seq``."""
        ...

    async def among(self, seqs: Sequence[int], where: Where) -> list[FoundMemory]:
        """Return those of ``seqs`` that match, in no particular order."""
        ...

    async def ids_among(self, seqs: Sequence[int], where: Where) -> dict[int, str]:
        """Return the ids of the same, by ``seq``: to know which they are takes less than to read them."""
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
        """Return the links of a version, those through a project last."""
        ...

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        """Return the current version that holds this dedupe value."""
        ...

    async def find_existing_dedupes(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        """Return which of these dedupe values a current version holds."""
        ...

    async def release(self, tenant_id: str, seq: int) -> None:
        """Give up the dedupe values of a version that is no longer current."""
        ...

    async def remove(self, seq: int, scope: Scope) -> None:
        """Remove one link."""
        ...

    async def record_uses(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        """Count a use of each version, given with the link through which it was seen."""
        ...


class Events(Protocol):
    """The append-only history."""

    async def append(self, events: Iterable[Event]) -> None:
        """Record events."""
        ...

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        """Return the events of one memory, oldest first."""
        ...

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        """Return events with a larger ``seq``, oldest first."""
        ...

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        """Return one event by its id."""
        ...

    async def list_for_memory(self, tenant_id: str, memory_id: str) -> list[Event]:
        """Return the events of one memory, and those by which others came of it, oldest first."""
        ...

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        """Return what a job did, oldest first."""
        ...

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        """Return events of a scope (of everybody when nobody is named) with a larger ``seq``, oldest first."""
        ...

    async def newest(self, scope: Scope, done: EventFilter, below: int | None, limit: int) -> list[Event]:
        """Return the events of a scope that are meant, newest first; ``below`` goes on under a ``seq``.

        By source, it may give some that somebody else did to what that source learned.
        """
        ...

    async def list_replacements(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        """Return the events of a scope by which something took the place of a memory, or nothing did, newest first."""
        ...

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        """Return which of these events of a memory are recorded."""
        ...


# --- hits in columns --------------------------------------------------------------------------------------------------


Hit = TypeVar("Hit")


class HitColumns(Sequence[Hit]):
    """A sequence whose items are made out of arrays of one length, ``seqs`` among them."""

    __slots__ = ()
    seqs: Any

    @abstractmethod
    def __iter__(self) -> Iterator[Hit]:
        """Return all of them, one after the other."""

    def __len__(self) -> int:
        return len(self.seqs)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    @overload
    def __getitem__(self, at: int) -> Hit: ...

    @overload
    def __getitem__(self, at: slice) -> list[Hit]: ...

    def __getitem__(self, at: int | slice) -> Hit | list[Hit]:
        return list(self)[at]


# --- entities, where they are mentioned, and how they are related -----------------------------------------------------


class Entities(Protocol):
    """Rows of ``entities``, ``mentions`` and ``relations``.

    An entity belongs to an owner (``memstone.model.memory.owner_of``) and is known there by its normal form and type;
    there is no way to reach the entity of another owner or tenant by name.
    """

    async def find_by_norms(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """Return the owner's entities with exactly these normal forms, whatever their type.

        ``mentions`` is not counted.
        """
        ...

    async def put(self, rows: Iterable[EntityRow]) -> None:
        """Store entities; one that its id names already gets the name, type, description and time given."""
        ...

    async def mention(self, tenant_id: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Say which entity (by id) is in which version of a memory; what is known already stays."""
        ...

    async def relate(self, tenant_id: str, rows: Iterable[RelationRow]) -> None:
        """Store edges; one that its id names already gets the confidence, validity and time given."""
        ...

    async def leave(self, tenant_id: str, seqs: Iterable[int], owner: Scope | None = None) -> None:
        """Forget that versions mention or relate anything, for all owners or for one.

        An entity goes with the last memory that mentions it.
        """
        ...

    async def of(self, scope: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """Return entities with these normal forms of every owner that a scope reaches."""
        ...

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Return the ids of entities in a relation to an entity: pairs of the relation and the target's id."""
        ...

    async def memories_of(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> dict[str, list[int]]:
        """Return the versions that mention each entity; of one in more than ``most`` only that many and one more."""
        ...

    async def neighbours(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> list[tuple[str, EntityRow]]:
        """Return what is one hop away, either way: an entity's id and who is next to it; at most ``most`` for each.

        What was related last comes first.
        """
        ...

    async def rows_of(self, tenant_id: str, seqs: Sequence[int]) -> GraphRows:
        """Return what these versions say, and the entities they mention, for a graph outside the ledger."""
        ...

    async def find_by_ids(self, tenant_id: str, entity_ids: Sequence[str]) -> list[EntityRow]:
        """Return those of these entities that are there; ``mentions`` is not counted."""
        ...

    async def counts(self, tenant_id: str) -> GraphCounts:
        """Return how many entities, mentions and relations a tenant has."""
        ...

    async def list_entities(self, scope: Scope, limit: int, offset: int = 0) -> list[EntityRow]:
        """Return the entities that memories linked to this scope mention or relate, most often mentioned first.

        The user whose memories they are is not among them: everything mentions that one.
        ``mentions`` counts only the memories of this scope.
        """
        ...

    async def edges(self, scope: Scope, limit: int, offset: int = 0) -> list[tuple[EntityRow, RelationRow, EntityRow]]:
        """Return the edges that memories linked to this scope state, newest first, with what they connect."""
        ...


# --- which facts come from which turns --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SupersededFact:
    """A fact that came from a turn and no longer holds; ``text`` is what holds in its place, None when nothing does.

    ``fact_id`` is the memory that says so: mostly the same one, else the one that took its place when it ended.
    """

    turn_id: str
    fact_id: str
    text: str | None


@dataclass(frozen=True, slots=True)
class TurnFact:
    """A fact that was learned from a turn; ``holds`` if it still says what it said then, and models may be shown it.

    ``in_profile`` is False where the user has hidden it from the profile, ``is_private`` says that they want no model
    to see it. ``expires_at`` is when it ends.
    """

    turn_id: str
    fact_id: str
    quote: str
    holds: bool
    in_profile: bool = True
    is_private: bool = False
    expires_at: Instant | None = None


class Provenance(Protocol):
    """Looks from turns to what became of the facts in them."""

    async def facts_of(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[TurnFact]:
        """Return every fact that was ever learned from these turns, as far as the scope may see it."""
        ...

    async def list_superseded(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[SupersededFact]:
        """Return facts of these turns that have been superseded, oldest first, as far as the scope may see both."""
        ...


# --- whole tables, row by row -----------------------------------------------------------------------------------------


BulkRow: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class BulkTable:
    """A table as every database has it: the columns by name, and those that order its rows within a tenant.

    ``number`` is the column in which the database numbers the rows, '' where it does not; ``refers`` the one that holds
    the number of a memory.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    number: str = ""
    refers: str = ""


class Bulk(Protocol):
    """Rows of any table, for all of a tenant, in the order of their keys."""

    async def tables(self) -> list[BulkTable]:
        """Return every table that holds rows of tenants, those first that others refer to."""
        ...

    async def tenants(self) -> list[str] | None:
        """Return who has rows; None when the database does not let one look past the tenant one speaks for."""
        ...

    async def count(self, tenant_id: str, table: BulkTable) -> int:
        """Return how many rows there are."""
        ...

    async def page(self, tenant_id: str, table: BulkTable, after: Sequence[Any] | None, limit: int) -> list[BulkRow]:
        """Return the rows after a key."""
        ...

    async def put(self, tenant_id: str, table: BulkTable, rows: Iterable[BulkRow]) -> None:
        """Store rows as they are."""
        ...

    async def reserve(self, table: BulkTable, count: int) -> list[int]:
        """Return numbers that no row has and none will get, in order."""
        ...


# --- figures about how a memory is used -------------------------------------------------------------------------------


class Metrics(Protocol):
    """Counts by user; a user of '' in a question means all of the tenant."""

    async def count(self, tenant_id: str, user_id: str, at: Instant, counts: Mapping[str, int]) -> None:
        """Add to what is counted for a user on the day of a moment."""
        ...

    async def sum_counts(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        """Return what was counted since the day of a moment, by name."""
        ...

    async def drop_counts(self, tenant_id: str, user_id: str, before: Instant) -> None:
        """Drop what was counted for a user before the day of a moment."""
        ...

    async def count_events(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        """Return how many events of facts there were since a moment, by verb.

        An ``UPDATE`` counts only where it changed a text, and what takes something back does not count.
        """
        ...

    async def uses(self, tenant_id: str, user_id: str) -> int:
        """Return how often the memories that hold now were shown to a model, through the links of a user."""
        ...

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        """Count for another user what was counted for one."""
        ...


# --- what keeping a memory small asks of the ledger beyond what everybody asks ----------------------------------------


LOGS: Final = ("jobs", "signals", "receipts", "idempotency", "llm_cache", "continuations")
"""What is kept for a while only; of signals, those that are processed."""


class UpkeepRows(Protocol):
    """Looks for what is old, and forgets what nobody needs."""

    async def owners(self, scope: Scope, layer: str) -> list[tuple[str, str]]:
        """Return the users and agents within a scope who have active memories in a layer, in order."""
        ...

    async def older(self, wanted: Older, after: int, limit: int) -> list[MemoryAge]:
        """Return those that are wanted, with a larger ``seq`` than ``after``, by ``seq``."""
        ...

    async def restate(self, record: Record) -> None:
        """Let a version keep its words, and have this salience, anchor, source count and data."""
        ...

    async def recount(self, record: Record, links: Iterable[Link]) -> None:
        """Let the links of a version have the uses given."""
        ...

    async def purge(self, tenant_id: str, log: str, before: Instant, *, dry_run: bool) -> int:
        """Remove the rows of one of ``LOGS`` that are older; return how many. A dry run only counts."""
        ...

    async def list_deleted(self, tenant_id: str, before: Instant, limit: int) -> list[str]:
        """Return the ids of memories that were deleted before a moment and whose words are still there."""
        ...

    async def blank(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove the words of memories: of every version, and from their history. That they were there stays."""
        ...

    async def newest_change(self, tenant_id: str) -> int:
        """Return the last entry in the log of changes."""
        ...

    async def changed_users(self, tenant_id: str, since: int, user_id: str = "") -> list[str]:
        """Return the users who have entries in the log of changes after ``since``, in order; of one user, if named."""
        ...

    async def stale_changes(self, tenant_id: str, until: int, limit: int) -> list[int]:
        """Return entries up to ``until`` after which the same version changed again for the same user.

        Whoever follows the log asks which versions changed since, so without these every answer stays the same.
        """
        ...

    async def forget_changes(self, ids: Sequence[int]) -> None:
        """Remove entries from the log of changes."""
        ...


# --- every text that lies in the store, table by table ----------------------------------------------------------------


Key: TypeAlias = "int | str"

TABLES: Final = ("memories", "events", "signals", "receipts", "idempotency", "llm_cache", "entities", "jobs")
"""The tables in which words of people are kept; indexes follow from ``memories``."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """The texts of one row by column: text, what JSON says, or None."""

    key: Key
    values: dict[str, Any]


class StoredRows(Protocol):
    """Rows by table and key, for all of a tenant, whatever their state."""

    async def count(self, tenant_id: str) -> int:
        """Return how many rows there are in all tables."""
        ...

    async def page(self, tenant_id: str, table: str, after: Key | None, limit: int) -> list[StoredRow]:
        """Return the rows of a table after a key, in the order of their keys."""
        ...

    async def rows(self, tenant_id: str, table: str, keys: Sequence[Key]) -> list[StoredRow]:
        """Return these rows, as they are now."""
        ...

    async def rewrite(self, tenant_id: str, table: str, key: Key, values: Mapping[str, Any]) -> None:
        """Put other values in place of those of a row."""
        ...

    async def drop(self, tenant_id: str, table: str, keys: Sequence[Key]) -> None:
        """Remove rows that can be made again."""
        ...

    async def list_citations(self, tenant_id: str, turn_id: str) -> list[StoredRow]:
        """Return the memories that come from a turn, in every version."""
        ...

    async def list_mentions(self, tenant_id: str, seq: int) -> list[StoredRow]:
        """Return the entities that a version of a memory mentions."""
        ...

    async def rename(self, tenant_id: str, seq: int, dedupe: str, new: str | None) -> None:
        """Let a version hold another dedupe value, or none."""
        ...

    async def tidy(self) -> None:
        """Let the full text forget the words that were taken out of it."""
        ...


# --- what belongs to somebody besides memories, and can be passed ------------------------------------------------


OWNED_TABLES: Final = ("signals", "receipts")
"""The tables whose rows go where their owner's memories go."""


class RowsByOwner(Protocol):
    """Rows of ``TABLES``, by whose they are."""

    async def hand_over(self, table: str, old: Scope, new: Scope) -> list[str]:
        """Let rows within a scope have the ids that another one names, and keep their others; return their own ids."""
        ...

    async def hand_back(self, table: str, ids: list[str], old: Scope) -> None:
        """Let these rows have the ids that a scope names."""
        ...
