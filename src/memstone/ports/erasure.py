"""Erasing for good: find and remove what belongs to somebody, and remember erasures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memstone.model.access import StoredSecret
from memstone.model.instant import Instant
from memstone.model.scope import Scope

WHOLE_STORE = ""
"""The tenant of what concerns all tenants of a store, such as a copy of its file."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is erased: everything of a scope, one memory within a scope, or one memory for everybody."""

    scope: Scope
    memory_id: str = ""

    @property
    def tenant_id(self) -> str:
        """Whose store it is."""
        return self.scope.tenant_id

    @property
    def is_a_user(self) -> bool:
        """Whether nothing of a user shall remain, so that also what is counted by user goes."""
        return bool(self.scope.user_id) and not (self.scope.agent_id or self.scope.run_id or self.memory_id)


@dataclass(slots=True)
class SubjectVersions:
    """The versions a subject concerns, by ``seq``.

    ``own`` go as a whole, ``shared`` only lose their links to the subject. ``ids`` are the memories of which no version
    is left, ``touched`` those of which others keep some.
    """

    own: list[int] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RemovedText:
    """What is going to be removed and holds words.

    ``texts`` are whole texts of memories that go and of what waits to be learned, as far as nobody else keeps them in
    the same memory; ``every`` is all, to look for traces of it afterwards.
    """

    texts: list[str] = field(default_factory=list)
    every: list[str] = field(default_factory=list)


class Erasure(Protocol):
    """Finds, removes and counts what belongs to a subject; keyed by scope columns, ``seq`` and memory id."""

    async def reach(self, subject: Subject, gone: Collection[str] = ()) -> SubjectVersions:
        """Return the versions it concerns, whatever their state.

        ``gone`` are memories of it that were removed before.
        """
        ...

    async def versions(self, tenant_id: str, ids: Sequence[str]) -> list[int]:
        """Return the versions of memories, whatever their state, by ``seq``."""
        ...

    async def drop_memories(self, subject: Subject, ids: Sequence[str]) -> dict[str, int]:
        """Remove memories that are the subject's alone, with their history; return rows by table.

        What somebody else sees by now stays.
        """
        ...

    async def words(self, subject: Subject, reach: SubjectVersions) -> RemovedText:
        """Return everything that is going to be removed and holds words."""
        ...

    async def unlink(self, subject: Subject, seqs: Sequence[int]) -> int:
        """Remove the subject's links to versions that others see too; return how many links."""
        ...

    async def drop_versions(self, tenant_id: str, seqs: Sequence[int]) -> dict[str, int]:
        """Remove versions with links, words, vectors, mentions and relations; return rows by table."""
        ...

    async def drop_history(self, subject: Subject, reach: SubjectVersions) -> dict[str, int]:
        """Remove the events of a subject and of memories that are gone, and what was noted of their deletion."""
        ...

    async def drop_scoped(self, subject: Subject) -> dict[str, int]:
        """Remove the rows of every table that says whose a row is, besides versions and events."""
        ...

    async def drop_answers(self, tenant_id: str) -> int:
        """Remove the remembered answers of language models: they do not say whose words they were made from."""
        ...

    async def list_memories_once_seen(self, subject: Subject) -> list[str]:
        """Return memories whose history tells that the user once saw them, though they no longer do."""
        ...

    async def rename_changes(self, subject: Subject) -> int:
        """Take the user's name out of the change counter, once every index has followed it."""
        ...

    async def rebuild(self) -> None:
        """Make the full text again, so that nothing in it remembers words that were taken out."""
        ...

    async def merge_words(self, *, first: bool) -> bool:
        """Do a part of the same, a short one: begin with the ``first``; return whether there is more to do."""
        ...

    async def count_rows(self, subject: Subject, until: Instant | None = None) -> dict[str, int]:
        """Return how many rows of a subject are there, by table; ``until`` looks only at what was stored by then."""
        ...

    async def names(self, tenant_id: str, column: str) -> list[str]:
        """Return every ``user_id``, ``agent_id``, ``run_id`` or ``memory_id`` that any table names."""
        ...


@dataclass(frozen=True, slots=True)
class ErasureRecord:
    """An erasure that was carried out, without telling whose: digests under the tenant's key, '' for what was open."""

    tenant_id: str
    id: str
    created_at: Instant
    user_id: str = ""
    agent_id: str = ""
    run_id: str = ""
    memory_id: str = ""


@dataclass(frozen=True, slots=True)
class KnownCopy:
    """A copy of the store that Memstone made; one that is not ``is_complete`` was begun and may be there in part."""

    path: str
    created_at: Instant
    is_complete: bool = True


class Vault(Protocol):
    """A store's own keys, its list of erasures, and the copies that were made of it."""

    async def key(self, tenant_id: str, fresh: bytes, at: Instant) -> bytes:
        """Return the key of a tenant; ``fresh`` becomes it when there is none."""
        ...

    async def known_key(self, tenant_id: str) -> bytes | None:
        """Return the key of a tenant, where there is one; nothing is written."""
        ...

    async def keys(self) -> Mapping[str, bytes]:
        """Return the keys of all tenants that have one."""
        ...

    async def secrets(self) -> list[tuple[str, str, StoredSecret]]:
        """Return every secret of all tenants, the keys among them: tenant, name and what it is."""
        ...

    async def put_secrets(self, secrets: Sequence[tuple[str, str, StoredSecret]]) -> None:
        """Put these in place of all that their tenants have."""
        ...

    async def secret(self, tenant_id: str, name: str) -> StoredSecret | None:
        """Return another secret of a tenant, by its name."""
        ...

    async def put_secret(self, tenant_id: str, name: str, secret: StoredSecret | None) -> None:
        """Put a secret in place of the one of that name; None removes it."""
        ...

    async def erasures(self) -> list[ErasureRecord]:
        """Return what was erased, of all tenants, in the order in which it was."""
        ...

    async def note_erasures(self, erased: Iterable[ErasureRecord]) -> None:
        """Remember erasures; one that is known stays as it is."""
        ...

    async def copies(self, tenant_id: str) -> list[KnownCopy]:
        """Return the copies that may hold something of a tenant."""
        ...

    async def note_copies(self, tenant_id: str, copies: Iterable[KnownCopy]) -> None:
        """Remember copies, by their path."""
        ...

    async def forget_copy(self, tenant_id: str, path: str) -> None:
        """Forget a copy that is no more."""
        ...
