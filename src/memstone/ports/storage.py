"""Ledgers that can copy themselves, keys of stores, and files outside the tables.

This is an additional capability of a ``memstone.ports.ledger.Ledger``: ``require_copying`` returns it, or raises an
error that says what to do without it. A ledger in a file copies pages, and one in a database server writes its tables
one by one; callers see no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from memstone.errors import Unsupported
from memstone.model.former_name import formats_of
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.ledger import Ledger, Work

# --- a ledger that can copy itself, take a copy's place, and tell what its files still hold ---------------------------


T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], object]

FORMAT: Final = "memstone-backup"
FORMATS: Final = formats_of("backup")
VERSION: Final = 1


class Look(Protocol):
    """Looks for pieces of text in raw bytes."""

    @property
    def overlap(self) -> int:
        """How many bytes a next part must repeat, so that nothing is cut in two."""
        ...

    def __call__(self, part: bytes) -> set[bytes]:
        """Return the pieces that occur in it."""
        ...


class Signer(Protocol):
    """Signs what a store writes, and tells its own from what others wrote."""

    def sign(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest with a signature; as it is where there is no key."""
        ...

    def origin(self, manifest: Mapping[str, Any]) -> str:
        """Return ``ours`` or ``foreign``; ``Corrupted`` if a backup was ours and has been changed."""
        ...


Admit: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Gives the origin of a backup by its manifest, or raises because it may not be restored."""

ACCESS_TABLES: Final = ("account_sessions", "accounts", "api_keys", "secrets")
"""Who may do what, and the keys a store made for itself: of a foreign backup nobody gets in."""

OWN_TABLES: Final = ("backups", "erasures", "idempotency", "leases", "llm_cache", "log_mark")
"""What a store knows about itself, and answers that were given: of no use in another one, or not to be believed."""

SERVICE_SETTINGS: Final = "service:"
"""How the key of settings begins that say where a service sends what it is told."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What became of a copy: ``rewritten``, ``deleted``, ``clean`` (nothing to erase), ``missing``, ``unreachable``."""

    path: str
    state: str
    reason: str = ""
    found: int = 0
    """Pieces of what was erased that its raw bytes still hold."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing of the subject can be in it any more."""
        return self.state in ("rewritten", "deleted", "clean") and not self.found


@dataclass(frozen=True, slots=True)
class Beyond:
    """What of a store lies where it can neither be read nor written again, and how its operator finishes an erasure."""

    places: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@runtime_checkable
class CopyableLedger(Protocol):
    """What a ledger offers that can copy itself."""

    @property
    def holds_files(self) -> bool:
        """Whether its bytes lie in files that it can read and write again; else a server sees to them."""
        ...

    @property
    def beyond(self) -> Beyond:
        """What it cannot look at; nothing for a store in files of its own."""
        ...

    def is_own(self, path: Path) -> bool:
        """Return whether that is a file of the store itself.

        Nobody else opens one: closing it would cost SQLite its locks.
        """
        ...

    async def backup(
        self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None
    ) -> dict[str, Any]:
        """Write everything, as it is at one moment, into one file; others go on writing. Gives its manifest, signed.

        The file appears under its name when it is whole and on disk, never before.
        """
        ...

    async def inspect(self, path: Path) -> dict[str, Any]:
        """Return the manifest of a backup, checked against everything in the file; ``Corrupted`` when that fails."""
        ...

    async def restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        """Put a backup in place of everything there is, in one step that succeeds or changes nothing.

        Of a foreign backup only rows are taken, into tables of our own making, and none of those that open a door:
        ``left_out`` in the answer says what was not taken. ``prepare`` is run on what is restored before anybody sees
        it, and says whether it erased something. Whoever has the store open, in any process, sees the new content with
        the next unit of work, and every index that follows the change counter begins again. Gives the manifest.
        """
        ...

    async def rewrite(
        self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool = True
    ) -> list[Copy]:
        """Run a unit that erases on every copy of this store: those that are known, and the ledger's ``own``.

        A copy that was ours is signed again, any other is not.

        The unit gives what to look for in the raw bytes afterwards, or None when there was nothing to erase: such a
        copy stays as it is.
        """
        ...

    async def remove(self, work: Work[T]) -> T:
        """Run a unit that removes rows, as one transaction.

        It removes what refers to them itself: to look for that again would hold everybody up who writes.
        """
        ...

    async def drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        """Take settings out of the copies that the ledger put beside itself before an upgrade, as if never set."""
        ...

    async def empty_log(self) -> bool:
        """Let nothing that was deleted remain in logs, waiting for readers a moment; False when one needs it longer."""
        ...

    async def wipe(self) -> bool:
        """Let nothing that was deleted remain in free space or logs; False when a snapshot of somebody's needs it."""
        ...

    async def traces(self, look: Look) -> dict[str, int]:
        """Return how many pieces the raw bytes of each file hold that no row holds."""
        ...


def require_copying(ledger: Ledger) -> CopyableLedger:
    """Return the capability, or ``Unsupported``."""
    if isinstance(ledger, CopyableLedger):
        return ledger
    raise Unsupported(
        "this store cannot back itself up",
        kind="ledger",
        name=type(ledger).__name__,
        hint="use its database's own tools, or `export` and `load`",
    )


# --- the key of a store, which lies outside it ------------------------------------------------------------------------


class StoreKey(Protocol):
    """Where the key is kept."""

    @property
    def place(self) -> str:
        """Where it is, for people: what an operator has to keep a copy of; '' for one that ends with the process."""
        ...

    async def find(self) -> bytes | None:
        """Return the key, None where there is none yet; ``ConfigError`` where it cannot be had or read."""
        ...

    async def make(self) -> bytes:
        """Return the key; where there is none yet, make one first."""
        ...


class Sealer(Protocol):
    """Encrypts short texts under a key."""

    def is_sealed(self, text: str) -> bool:
        """Return whether a text is one that ``seal`` gave."""
        ...

    def seal(self, key: bytes, text: str, about: str) -> str:
        """Return a text that tells nothing without the key, and that is of use only for what it is ``about``."""
        ...

    def unseal(self, key: bytes, sealed: str, about: str) -> str:
        """Return the text; ``Corrupted`` if it was sealed under another key, for something else, or was changed."""
        ...


# --- the keys that a store is encrypted with --------------------------------------------------------------------------


class EncryptionKeys(Protocol):
    """Where the keys are that a store and its files are encrypted with. It blocks, so it is used within ``Io.run``."""

    @property
    def place(self) -> str:
        """Where they are, for people."""
        ...

    @property
    def is_writable(self) -> bool:
        """Whether Memstone may put a new key there; else the operator does."""
        ...

    def read(self) -> tuple[bytes, ...]:
        """Return the keys, the current one first and former ones after it; nothing where there is none yet."""
        ...

    def make(self) -> bytes:
        """Return the current key; where there is none yet, make one first.

        ``EncryptionError`` where the operator has to.
        """
        ...

    def add(self) -> bytes:
        """Put a new key before those that are there, and return it."""
        ...

    def drop_former(self) -> int:
        """Remove all keys but the current one; return how many."""
        ...


# --- a database of another system that is read once, and never written to ---------------------------------------------


class Tables(Protocol):
    """An open database: its tables and their rows. It blocks, so it is used within ``Io.run``."""

    def columns(self) -> Mapping[str, frozenset[str]]:
        """Return the columns of every plain table.

        Views and virtual tables are left out, for they run what they say.
        """
        ...

    def rows(self, table: str, order: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Return the rows of a table, ordered by those of these columns that it has."""
        ...


class TableSource(Protocol):
    """Opens databases of one kind."""

    def __call__(self, source: Path | bytes) -> AbstractContextManager[Tables]:
        """Return a file where it lies, or the bytes of one; ``InvalidInput`` when it cannot be read."""
        ...
