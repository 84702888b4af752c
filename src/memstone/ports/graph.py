"""Reading the graph, and graph databases that mirror it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memstone.errors import BackendError
from memstone.model.memory import EntityRow, RelationRow
from memstone.model.scope import Scope

# --- what is read from a graph ----------------------------------------------------------------------------------------


class GraphReader(Protocol):
    """Reads a graph for a search.

    The tables of the ledger (``memstone.ports.tables.Entities``) and a graph database give the same answers.
    """

    async def find_by_norms(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """Return the owner's entities with exactly these normal forms, whatever their type."""
        ...

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Return entities that are related to an entity: pairs of the relation and the target's id."""
        ...

    async def neighbours(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> list[tuple[str, EntityRow]]:
        """Return entities one relation away, in either direction; at most ``most`` for each.

        What was related last comes first.
        """
        ...

    async def memories_of(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> dict[str, list[int]]:
        """Return the versions that mention each entity, at most ``most`` and one more."""
        ...


# --- a graph database outside the ledger ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphMemory:
    """A version in a graph: its number, its id, and its entities. Its text is not in the graph."""

    seq: int
    id: str
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphRows:
    """Entities, mentions and relations of versions, from the ledger."""

    memories: tuple[GraphMemory, ...] = ()
    relations: tuple[RelationRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphPage:
    """One step of the log: its start, its end, and the rows to write.

    All that is held of ``seqs`` gives way to ``rows``. The entities in ``gone`` go with everything that is tied to
    them; those in ``rows`` are put as they are now.
    """

    start: int
    end: int
    seqs: tuple[int, ...]
    rows: GraphRows
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Counts of a graph."""

    entities: int = 0
    mentions: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """A graph: its name, its position in the log, and its counts."""

    name: str
    position: int
    counts: GraphCounts


class GraphStore(Protocol):
    """A database with named graphs; each mirrors one tenant.

    A page is applied as a whole or not at all, and only by who knows the position of the graph: of two who apply the
    same page at once, one is refused. A graph that is not there reads as an empty one without a position.
    """

    async def check_health(self) -> None:
        """Raise a ``BackendError`` unless the database answers."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...

    async def graphs(self) -> list[GraphInfo]:
        """Return all graphs that were created here."""
        ...

    async def create(self, graph: str) -> None:
        """Create a graph with its indexes at position 0; an existing one stays as it is."""
        ...

    async def drop(self, graph: str) -> None:
        """Remove a graph; it is not an error if there is none."""
        ...

    async def position(self, graph: str) -> int | None:
        """Return the position of a graph in the log, or None if there is no graph."""
        ...

    async def find_touched(self, graph: str, seqs: Sequence[int]) -> list[str]:
        """Return the entities that these versions mention or relate, as far as the graph knows."""
        ...

    async def apply(self, graph: str, page: GraphPage) -> bool:
        """Apply a page in one transaction; return false, without a change, if the position differs."""
        ...

    def reader(self, graph: str) -> GraphReader:
        """Return the reader of a graph."""
        ...


# --- the mirror of a ledger in a graph database, as the engine sees it ------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphAgreement:
    """How a graph compares with the ledger; ``pending`` counts changes it does not have yet, up to one page."""

    ledger: GraphCounts
    mirror: GraphCounts
    pending: int

    @property
    def is_equal(self) -> bool:
        """Whether the graph has all changes and the same counts as the ledger."""
        return not self.pending and self.ledger == self.mirror


class GraphMirror(Protocol):
    """Follows the log of the ledger, and says whether the graph can answer."""

    @property
    def outage(self) -> BackendError | None:
        """The error that keeps the database from being asked now, or None."""
        ...

    async def current(self, tenant_id: str) -> GraphReader | None:
        """Return an up-to-date reader for a tenant, or None if too many changes are missing.

        Raises a ``BackendError`` where the database fails, and at once while it is left alone for that.
        """
        ...

    def record_failure(self, error: BackendError) -> None:
        """Stop asking the database for a while."""
        ...

    def watch(self, tenant_id: str) -> None:
        """Follow a tenant in the background, too."""
        ...

    def start(self) -> None:
        """Start to follow in the background; harmless if that was done."""
        ...

    def stop(self) -> None:
        """Follow once more, then stop."""
        ...

    async def count_pending(self, tenant_id: str) -> int:
        """Count changes that the graph does not have yet, up to one page."""
        ...

    async def compare(self, tenant_id: str) -> GraphAgreement:
        """Return how the mirror compares with the ledger."""
        ...

    async def count_traces(self, tenant_id: str, seqs: Sequence[int]) -> int:
        """Count the entities that the graph links to versions."""
        ...

    async def catch_up(self, tenant_id: str) -> None:
        """Follow to the end of the log, however long it takes."""
        ...

    async def rebuild(self, tenant_id: str) -> None:
        """Drop the mirror of a tenant and fill it again."""
        ...

    async def forget(self, tenant_id: str) -> None:
        """Drop the mirror of a tenant."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
