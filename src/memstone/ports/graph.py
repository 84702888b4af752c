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
    """What a search asks a graph.

    The tables of the ledger (``memstone.ports.tables.Entities``) and a graph database give the same answers.
    """

    async def find_by_norms(self, owner: Scope, norms: Sequence[str]) -> list[EntityRow]:
        """Return the owner's entities with exactly these normal forms, whatever their type."""
        ...

    async def by_role(self, tenant_id: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Return the ids of entities in a relation to an entity: pairs of the relation and the target's id."""
        ...

    async def neighbours(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> list[tuple[str, EntityRow]]:
        """Return what is one hop away, either way: an entity's id and who is next to it; at most ``most`` for each.

        What was related last comes first.
        """
        ...

    async def memories_of(self, tenant_id: str, entity_ids: Sequence[str], most: int) -> dict[str, list[int]]:
        """Return the versions that mention each entity; of one in more than ``most`` only that many and one more."""
        ...


# --- a graph database outside the ledger ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphMemory:
    """A version of a memory as a graph holds it: its number, its id, and whom it mentions. Its text stays outside."""

    seq: int
    id: str
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphRows:
    """What versions say, as the ledger has it."""

    memories: tuple[GraphMemory, ...] = ()
    relations: tuple[RelationRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphPage:
    """One step of the log: from which position to which, and what to put in the place of what.

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
    """How much there is in a graph."""

    entities: int = 0
    mentions: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """A graph of a database: its name, how far it follows the log, and how much it holds."""

    name: str
    position: int
    counts: GraphCounts


class GraphStore(Protocol):
    """A database that holds graphs by name, each a mirror of one tenant.

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
        """Return the graphs that were created here."""
        ...

    async def create(self, graph: str) -> None:
        """Make a graph with its indexes, at position 0; one that is there stays as it is."""
        ...

    async def drop(self, graph: str) -> None:
        """Remove a graph with all that it holds; one that is not there is no error."""
        ...

    async def position(self, graph: str) -> int | None:
        """Return how far a graph follows the log; None where there is none."""
        ...

    async def find_touched(self, graph: str, seqs: Sequence[int]) -> list[str]:
        """Return the ids of the entities that these versions mention or relate, as far as the graph knows."""
        ...

    async def apply(self, graph: str, page: GraphPage) -> bool:
        """Apply a page as one transaction; false, and nothing is done, where the graph is not at its start."""
        ...

    def reader(self, graph: str) -> GraphReader:
        """Return what answers from a graph."""
        ...


# --- the mirror of a ledger in a graph database, as the engine sees it ------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphAgreement:
    """How a mirror compares with the ledger; ``pending`` are the changes it has not seen, at most a page of them."""

    ledger: GraphCounts
    mirror: GraphCounts
    pending: int

    @property
    def is_equal(self) -> bool:
        """Whether the mirror has seen everything, and holds as much as the ledger."""
        return not self.pending and self.ledger == self.mirror


class GraphMirror(Protocol):
    """Follows the log of the ledger, and says whether it can answer."""

    @property
    def outage(self) -> BackendError | None:
        """Why the database is not asked at the moment, or None."""
        ...

    async def current(self, tenant_id: str) -> GraphReader | None:
        """Return what answers for a tenant, up to date; None where too much is missing to wait for it.

        Raises a ``BackendError`` where the database fails, and at once while it is left alone for that.
        """
        ...

    def record_failure(self, error: BackendError) -> None:
        """Leave the database alone for a while."""
        ...

    def watch(self, tenant_id: str) -> None:
        """Follow a tenant in the background, too."""
        ...

    def start(self) -> None:
        """Begin to follow in the background; harmless when that was done."""
        ...

    def stop(self) -> None:
        """Let the background look once more, and end."""
        ...

    async def count_pending(self, tenant_id: str) -> int:
        """Return how many changes the mirror has not seen; of more than a page only that many."""
        ...

    async def compare(self, tenant_id: str) -> GraphAgreement:
        """Return how the mirror compares with the ledger."""
        ...

    async def count_traces(self, tenant_id: str, seqs: Sequence[int]) -> int:
        """Return how many entities the mirror ties to versions."""
        ...

    async def catch_up(self, tenant_id: str) -> None:
        """Follow to the end of the log, however long that takes."""
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
