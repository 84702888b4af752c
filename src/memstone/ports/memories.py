"""Versions of remembered things, who may see them, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from memstone.model.event import Done, Event
from memstone.model.instant import Instant
from memstone.model.memory import Found, Link, Record
from memstone.model.query import Where
from memstone.model.scope import Scope


class Memories(Protocol):
    """Rows of ``memories``: versions of remembered things."""

    async def insert(self, record: Record) -> int:
        """Store a new version; gives its ``seq`` (also set on the record)."""
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
        """Whether there is or was a memory of this id, whoever sees it: for choosing another, never to be told."""
        ...

    async def last(self, tenant_id: str, memory_id: str) -> Record | None:
        """The version with the highest number, whether it still holds or not."""
        ...

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[Found]:
        """Matching memories, each once, newest first."""
        ...

    async def list_newest(self, where: Where, *, limit: int, offset: int = 0) -> list[Found]:
        """Matching memories, each once, by when their first version was stored, the last one first."""
        ...

    async def salient(self, where: Where, *, limit: int) -> list[Found]:
        """Matching memories, each once, the most salient first; of equals the newest."""
        ...

    async def sourced(self, seqs: Iterable[int], by: int) -> None:
        """Note that one episode more (or, with -1, one less) speaks of these versions."""
        ...

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        """The text that was stored last in exactly this scope and layer as it was said, and when that was said.

        ``below`` looks only at what was stored before that ``seq``.
        """
        ...

    async def count(self, where: Where) -> dict[str, int]:
        """How many match, by kind."""
        ...

    async def tokens(self, where: Where) -> int:
        """How many tokens all that match are."""
        ...

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        """The version that holds now, whatever its status."""
        ...

    async def seen(self, tenant_id: str, memory_id: str) -> Found | None:
        """The version that holds now, through its first link, one of a project last."""
        ...

    async def at(self, seq: int) -> Record | None:
        """One version."""
        ...

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        """One version by its number."""
        ...

    async def strengthen(self, seq: int, salience: float, anchor_at: Instant) -> None:
        """Let a version have this salience since a moment; its words stay as they are."""
        ...

    async def seqs(self, where: Where) -> list[int]:
        """The ``seq`` of every match."""
        ...

    async def hashes(self, where: Where) -> dict[int, str]:
        """The hash of the text of every match, by ``seq``."""
        ...

    async def among(self, seqs: Sequence[int], where: Where) -> list[Found]:
        """Those of ``seqs`` that match, in no particular order."""
        ...

    async def ids_among(self, seqs: Sequence[int], where: Where) -> dict[int, str]:
        """The ids of the same, by ``seq``: to know which they are takes less than to read them."""
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
        """The links of a version, those through a project last."""
        ...

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        """The current version that holds this dedupe value."""
        ...

    async def held(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        """Which of these dedupe values a current version holds."""
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

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        """One event by its id."""
        ...

    async def touching(self, tenant_id: str, memory_id: str) -> list[Event]:
        """The events of one memory, and those by which others came of it, oldest first."""
        ...

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        """What a job did, oldest first."""
        ...

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        """Events of a scope (of everybody when nobody is named) with a larger ``seq``, oldest first."""
        ...

    async def newest(self, scope: Scope, done: Done, below: int | None, limit: int) -> list[Event]:
        """The events of a scope that are meant, newest first; ``below`` goes on under a ``seq``.

        By source, it may give some that somebody else did to what that source learned.
        """
        ...

    async def replaced(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        """The events of a scope by which something took the place of a memory, or nothing did, newest first."""
        ...

    async def known(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        """Which of these events of a memory are recorded."""
        ...
