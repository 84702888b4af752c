"""Text indexes, vector indexes and vector stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from memstone.errors import BackendError
from memstone.model.instant import Instant
from memstone.model.memory import Record, TextDoc, Vector
from memstone.model.query import Op, TextQuery, VectorQuery, Where, WordsQuery
from memstone.model.scope import Scope
from memstone.ports.tables import HitColumns

# --- the dense channel as the engine sees it --------------------------------------------------------------------------


class DenseHit(NamedTuple):
    """A memory and its cosine similarity (not clipped); ``extra`` marks one that only ``also`` requested."""

    seq: int
    cosine: float
    extra: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class DenseHits(HitColumns[DenseHit]):
    """Hits in columns; the first ``near`` are not ``extra``.

    ``level`` is the mean cosine of everything there is to the question, where the index can tell: a question in another
    language than the model knows best is equally near to everything in that language.
    """

    seqs: Any
    cosines: Any
    near: int
    level: float = 0.0
    failure: BackendError | None = None
    """Why the store that was asked did not answer, where another one answered in its place."""

    @classmethod
    def of(cls, hits: Sequence[DenseHit]) -> DenseHits:
        """Return hits as columns, unless they are; those that are ``extra`` come last."""
        if isinstance(hits, cls):
            return hits
        import numpy as np

        ordered = sorted(hits, key=lambda hit: hit.extra)
        seqs = np.array([hit.seq for hit in ordered], np.int64)
        cosines = np.array([hit.cosine for hit in ordered], np.float64)
        return cls(seqs, cosines, sum(not hit.extra for hit in hits))

    def __iter__(self) -> Iterator[DenseHit]:
        extra = (at >= self.near for at in range(len(self)))
        return map(DenseHit, self.seqs.tolist(), self.cosines.tolist(), extra)


class VectorIndex(Protocol):
    """An index that finds the nearest memories of a scope.

    Exact on scope: a hit always belongs to it. What it holds may lag behind the ledger for rows that
    were just removed; the engine checks every hit against the ledger.
    """

    @property
    def is_embedded(self) -> bool:
        """Whether the index is part of the ledger and not an external service."""
        ...

    @property
    def in_process(self) -> bool:
        """Whether a search needs nothing outside this process."""
        ...

    @property
    def quant(self) -> str:
        """How vectors are quantised: ``int8``, or '' for not at all. Hits are exact in both cases."""
        ...

    async def search(self, query: VectorQuery) -> Sequence[DenseHit]:
        """Return the hits best first; then those of ``also`` that have a vector."""
        ...

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        ...


# --- the text channel as the engine sees it ---------------------------------------------------------------------------


class TextHit(NamedTuple):
    """A memory and its features for a question.

    ``score`` is its BM25 over its own words and, with less weight, those said right before and after it; 0 for one
    that only ``also`` asked for. ``speaker`` is 1 when the question names exactly one known speaker and this is what
    that one said. ``asking`` is the share of its text that is itself a question; of what a user or an assistant says, 1
    if it states nothing. ``assistant`` tells that these are the words of an assistant. ``coverage`` is how much of what
    the question tells its own words hold, from 0 to 1.
    """

    seq: int
    score: float
    speaker: float = 0.0
    asking: float = 0.0
    own_words: bool = False
    assistant: bool = False
    coverage: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TextHits(HitColumns[TextHit]):
    """Hits in columns."""

    seqs: Any
    scores: Any
    speaker: Any
    asking: Any
    own_words: Any
    assistant: Any
    coverage: Any

    @classmethod
    def of(cls, hits: Sequence[TextHit]) -> TextHits:
        """Return hits as columns, unless they are."""
        if isinstance(hits, cls):
            return hits
        import numpy as np

        kinds = (np.int64, np.float64, np.float64, np.float64, np.bool_, np.bool_, np.float64)
        columns = zip(*hits, strict=True) if hits else ((),) * len(kinds)
        return cls(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    def __iter__(self) -> Iterator[TextHit]:
        columns = (self.seqs, self.scores, self.speaker, self.asking, self.own_words, self.assistant, self.coverage)
        return map(TextHit, *(column.tolist() for column in columns))


@dataclass(slots=True)
class Around:
    """The turns right before and after some memories, with their distance."""

    near: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    rarity: dict[str, float] = field(default_factory=dict)


class TextIndex(Protocol):
    """An index that finds memories of a scope by words. It is exact about the scope."""

    async def search(self, query: WordsQuery) -> Sequence[TextHit]:
        """Return the best ``limit`` by their words, best first; then those of ``also``."""
        ...

    async def around(self, scope: Scope, seqs: Sequence[int], words: Sequence[str]) -> Around:
        """Return the turns around these, and the weight of each analysed word in this scope."""
        ...

    async def speakers(self, scope: Scope) -> frozenset[str]:
        """Return the names, in lower case, of the known speakers in this scope."""
        ...

    async def knows_day(self, scope: Scope, days: Sequence[str]) -> bool:
        """Return whether a memory of this scope was said on, or mentions, one of these days."""
        ...

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        ...


# --- a vector store outside the ledger --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """A vector under an id, with fields to filter by."""

    id: str
    vector: Sequence[float]
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointHit:
    """``score`` is max(0, cosine): higher is better, within [0, 1]."""

    id: str
    score: float
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection: its name, dimension and number of points."""

    name: str
    count: int
    dimension: int


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """The capabilities of a vector store.

    ``operators`` are the filters that it applies inside a search; it refuses others with ``Unsupported``, and the
    ledger applies them. A store that is not ``exact`` finds neighbours by an approximate index. One that is not
    ``durable`` is empty after a restart.
    """

    operators: frozenset[Op] = frozenset(Op)
    exact: bool = True
    distance: str = "cosine"
    durable: bool = True


class VectorStore(Protocol):
    """A vector store: named collections of points.

    Filters are honoured inside the search, or the store raises ``Unsupported``; they are never
    ignored. A zero vector scores 0. Vectors are normalised on write. Unknown ids are no error.
    """

    @property
    def capabilities(self) -> StoreCapabilities:
        """The capabilities of this store."""
        ...

    async def check_health(self) -> None:
        """Raise a ``BackendError`` unless the store answers."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...

    async def create(self, collection: str, dimension: int) -> None:
        """Create a collection; it is not an error if it exists with this dimension."""
        ...

    async def drop(self, collection: str) -> None:
        """Remove a collection and its points."""
        ...

    async def collections(self) -> list[CollectionInfo]:
        """Return the names of all collections."""
        ...

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        """Insert points or replace those with the same id."""
        ...

    async def patch(self, collection: str, point_id: str, payload: dict[str, Any]) -> bool:
        """Replace the payload of a point; return false if there is no such point."""
        ...

    async def delete(self, collection: str, ids: Iterable[str]) -> None:
        """Remove points."""
        ...

    async def get(self, collection: str, point_id: str) -> Point | None:
        """Return one point."""
        ...

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        """Return the nearest points that match, best first."""
        ...

    async def scan(self, collection: str, where: Where | None = None, limit: int = 100) -> list[Point]:
        """Return points that match, in the order of their ids."""
        ...

    async def reset(self) -> None:
        """Remove everything."""
        ...


# --- what is kept beside the memories so that they are found ----------------------------------------------------------


class FullText(Protocol):
    """The full-text index of analysed words, by ``seq``."""

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
        """Return matches best first, higher is better. Rows outside the scope tokens are never looked at."""
        ...

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        """Return all indexed rows of a user (``since=None``), or what became of those changed later, by ``seq``."""
        ...


class TextRow(NamedTuple):
    """The words of one memory through one link; ``body`` is None if it is gone.

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
    """A vector through one link; ``vector`` is little-endian float32, or None if it is gone."""

    seq: int
    agent_id: str
    run_id: str
    layer: str
    vector: bytes | None
    own_words: bool = False


@dataclass(frozen=True, slots=True)
class LinkedVector:
    """A vector through one link, with the fields that an external index stores."""

    seq: int
    id: str
    user_id: str
    agent_id: str
    run_id: str
    layer: str
    status: str
    vector: bytes
    created_at: Instant
    expires_at: Instant | None
    text: str


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """One vector space of a tenant."""

    signature: str
    dim: int
    state: str
    backend: str = "local"
    quant: str = ""


class VectorRows(Protocol):
    """Vectors by signature, and the change counter for indexes."""

    async def put(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Store vectors of versions; a ``Vector`` brings those of its words."""
        ...

    async def get(self, tenant_id: str, seq: int, signature: str) -> Vector | None:
        """Return the vector of one version, with those of its words."""
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
        """Return a number that grows with every change of this user's vectors or links."""
        ...

    async def stamps(self, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
        """Return the same of several users, in their order; of at least one."""
        ...

    async def has_change(self, tenant_id: str, user_id: str, stamp: int) -> bool:
        """Return whether the log still contains the change with this number; false after a reset."""
        ...

    async def partition(self, tenant_id: str, user_id: str, signature: str, since: int | None) -> list[VectorRow]:
        """Return all indexed rows of a user (``since=None``), or what became of those that changed later."""
        ...

    async def changes_after(self, tenant_id: str, cursor: int, limit: int) -> list[tuple[int, int]]:
        """Return changes of the whole tenant with a larger id, oldest first: the id, and the ``seq`` it is about."""
        ...

    async def count_changes(self, tenant_id: str, cursor: int) -> int:
        """Count the changes with a larger id."""
        ...

    async def rows_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[LinkedVector]:
        """Return the current state of versions, once per link.

        One that has left the index is not there.
        """
        ...

    async def many(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        """Return the vectors of versions, as far as they have any."""
        ...

    async def words_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        """Return the word vectors of versions, as far as they have any."""
        ...

    async def list_missing(self, tenant_id: str, signature: str, after: int, limit: int) -> list[Record]:
        """Return indexed versions without a vector of this signature, by ``seq``."""
        ...

    async def missing_count(self, tenant_id: str, signature: str) -> int:
        """Count indexed versions without a vector of this signature."""
        ...

    async def fill(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        """Store vectors of versions that are still current; return how many."""
        ...


class Indexes(Protocol):
    """The vector spaces of a tenant."""

    async def all(self, tenant_id: str) -> list[IndexInfo]:
        """Return every signature ever used and not dropped."""
        ...

    async def state(self, tenant_id: str, signature: str) -> str | None:
        """Return the state of one signature; None when it is not registered."""
        ...

    async def put(self, tenant_id: str, info: IndexInfo) -> None:
        """Register a signature or change its state."""
        ...

    async def drop(self, tenant_id: str, signature: str) -> int:
        """Remove a signature and its vectors."""
        ...
