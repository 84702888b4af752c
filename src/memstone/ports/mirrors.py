"""What is kept beside the memories so that they are found: their words and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from memstone.model.instant import Instant
from memstone.model.memory import Record, TextDoc
from memstone.model.query import TextQuery
from memstone.model.vector import Vector


class FullText(Protocol):
    """The analysed mirror; keyed by ``seq``."""

    async def put(self, seq: int, doc: TextDoc) -> None:
        """Index a version."""
        ...

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        """Index many versions that were stored just now, in the order of their numbers."""
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


class TextRow(NamedTuple):
    """The words of one memory as one link sees it; ``body`` is None when it is gone.

    ``own_words`` tells what was said as it was said from what was derived from it; what is not ``active`` was put
    aside. ``first`` is the ``seq`` of its first version where it has a place in a conversation, which later ones keep.
    ``body``, ``key``, ``speaker_terms`` and ``day_terms`` are analysed. ``text`` is there only where it asks something.
    """

    seq: int
    agent_id: str
    run_id: str
    layer: str
    created_at: Instant
    occurred_at: Instant
    own_words: bool
    active: bool
    first: int
    speaker: str
    text: str
    body: str | None
    key: str
    speaker_terms: str
    day_terms: str


class VectorRow(NamedTuple):
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

    async def stamps(self, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
        """The same of several users, in their order; of at least one."""
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

    async def many(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        """The vectors of these versions, of those that have one."""
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

    async def state(self, tenant_id: str, signature: str) -> str | None:
        """The state of one signature; None when it is not registered."""
        ...

    async def put(self, tenant_id: str, info: IndexInfo) -> None:
        """Register a signature or change its state."""
        ...

    async def drop(self, tenant_id: str, signature: str) -> int:
        """Remove a signature and its vectors."""
        ...
