"""Queries for people who browse memories: pages in any order, search as you type, days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory
from memstone.model.query import Where

SortColumn: TypeAlias = Literal["seq", "salience", "occurred_at"]


class WordPattern(NamedTuple):
    """A word that must be there: one of ``terms`` as the full text holds them, or any that begins with ``prefix``."""

    terms: tuple[str, ...]
    prefix: str = ""

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether one of these words fits."""
        return any(word in self.terms or (self.prefix and word.startswith(self.prefix)) for word in words)


class BrowseOrder(NamedTuple):
    """In which order a page is listed, and after which row of that order it begins."""

    column: SortColumn = "seq"
    descending: bool = True
    after: tuple[Any, int] | None = None
    """The value of the column and the number of the row before the page."""


class DayCount(NamedTuple):
    """How often something happened on a day."""

    day: str
    name: str
    times: int


class LayerCount(NamedTuple):
    """How many memories, and how many tokens they are: only what is active is counted in tokens."""

    memories: int
    tokens: int


class Browse(Protocol):
    """Reads for people who look through memories."""

    async def page(self, where: Where, order: BrowseOrder, limit: int) -> list[FoundMemory]:
        """Return one page of what matches, by a column; of equals the newest version first."""
        ...

    async def match(
        self, where: Where, words: Sequence[WordPattern], scope: Sequence[str], order: BrowseOrder, limit: int
    ) -> list[FoundMemory]:
        """Return those of which the full text has all words, by number; ``scope`` are the tokens that all carry."""
        ...

    async def count(self, where: Where, most: int) -> int:
        """Return how many match, or ``most`` if there are more."""
        ...

    async def count_events(
        self, tenant_id: str, user_id: str, days: Sequence[str], known: Sequence[DayCount] = ()
    ) -> list[DayCount]:
        """Return how many events of each kind there were on each of some consecutive days, the last without an end.

        A user of '' is everybody. A day of ``known`` that still has as many events is not counted by kind again.
        """
        ...

    async def count_receipts(self, tenant_id: str, user_id: str, since: Instant) -> list[DayCount]:
        """Return how many blocks models were given on each day since."""
        ...

    async def count_layers(self, tenant_id: str) -> dict[tuple[str, str], LayerCount]:
        """Return how many memories are active, disabled or held back, by layer and status."""
        ...

    async def count_waiting(self, tenant_id: str) -> dict[str, int]:
        """Return how many messages wait to be learned from (``pending``), and how many were given up (``dead``)."""
        ...

    async def count_people(self, tenant_id: str) -> int:
        """Return how many users have memories that are active, as the list of users counts them."""
        ...

    async def mentioned_until(self, tenant_id: str, user_id: str, moment: Instant) -> set[str]:
        """Return the ids of the entities of a user that a memory mentioned at a moment or before."""
        ...

    async def receipts_with(self, tenant_id: str, user_id: str, memory_id: str, limit: int) -> list[dict[str, Any]]:
        """Return the newest receipts of a user, or of everybody (''), that name a memory."""
        ...
