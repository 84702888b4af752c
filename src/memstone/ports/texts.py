"""The text channel as the engine sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from memstone.model.query import WordsQuery
from memstone.model.scope import Scope
from memstone.ports.columns import Columns


class TextHit(NamedTuple):
    """A memory and what its words say about a question.

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
class TextHits(Columns[TextHit]):
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
        """Hits as columns, unless they are."""
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
    """What stands around some memories: for each, those said right before and after it with their distance."""

    near: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    rarity: dict[str, float] = field(default_factory=dict)


class TextIndex(Protocol):
    """Finds memories of a scope by their words. Exact on scope, like the dense channel."""

    async def search(self, query: WordsQuery) -> Sequence[TextHit]:
        """The best ``limit`` by their words, best first; then those of ``also``."""
        ...

    async def around(self, scope: Scope, seqs: Sequence[int], words: Sequence[str]) -> Around:
        """What was said around these, and how much each of the analysed ``words`` tells in this scope."""
        ...

    async def speakers(self, scope: Scope) -> frozenset[str]:
        """The names, in lower case, of those who are known to have spoken to the users of this scope."""
        ...

    async def knows_day(self, scope: Scope, days: Sequence[str]) -> bool:
        """Whether anything in this scope was said on, or speaks of, one of these days (as the full text holds them)."""
        ...

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        ...
