"""The part of the PostgreSQL ledger that copies itself. Its files belong to the server, and so does what is in them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

from memstone.adapters.ledger import postgres_backup as copies
from memstone.adapters.ledger.backup_archive import is_backup, left_over, remove, unfinished_beside
from memstone.adapters.ledger.postgres_errors import translating
from memstone.drive import drive
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.io import Io
from memstone.ports.ledger import Work
from memstone.ports.storage import Admit, Beyond, Copy, Look, Progress, Signer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

T = TypeVar("T")
_HOLDING: Final = (
    *("account_sessions", "accounts", "calibration", "changes", "continuations", "counters", "entities", "events"),
    *("idempotency", "jobs", "links", "llm_cache", "memories", "mentions", "receipts", "relations", "settings"),
    *("signals", "suppressed", "vectors", "words"),
)
"""The tables that may hold something of somebody."""


class PostgresCopies:
    """See ``memstone.ports.storage.Copying``."""

    holds_files: Final = False
    beyond: Final = Beyond(
        places=(
            "base: rows that were deleted stay in the files of their tables until the server writes these anew",
            "pg_wal: the write-ahead log holds what was written until its segments are removed",
            "replicas, and archives of the write-ahead log",
            "copies made with pg_dump or pg_basebackup, and snapshots of the disk",
            "the server's own log, if it logs statements",
        ),
        commands=(
            f"VACUUM (FULL) {', '.join(f'memstone.{name}' for name in _HOLDING)};",
            "ALTER SYSTEM SET wal_recycle = off;",
            "SELECT pg_reload_conf();",
            "SELECT pg_switch_wal();",
            "CHECKPOINT;",
            "ALTER SYSTEM RESET wal_recycle;",
            "SELECT pg_reload_conf();",
        ),
    )
    _io: Io

    def is_own(self, path: Path) -> bool:
        """No file is."""
        del path
        return False

    @property
    def _place(self) -> tuple[str, str]:
        """The URL, and the tenant to speak for."""
        raise NotImplementedError

    @property
    def _where(self) -> str:
        raise NotImplementedError

    async def open(self) -> None:
        """Connect."""
        raise NotImplementedError

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        raise NotImplementedError

    async def backup(
        self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None
    ) -> dict[str, Any]:
        """Copy everything that can be seen into one file."""
        await self.open()
        return await self._io.run(lambda: self._backup(path, created_at, signer, progress))

    async def inspect(self, path: Path) -> dict[str, Any]:
        """The manifest of a backup, checked against all that is in it."""
        return await self._io.run(lambda: self._inspect(path))

    async def restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        """Put a backup in the place of what is there."""
        await self.open()
        return await self._io.run(lambda: self._restore(path, admit, prepare, progress))

    async def rewrite(
        self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool = True
    ) -> list[Copy]:
        """Erase in every copy; there are none of the ledger's ``own``."""
        del own
        await self.open()
        return await self._io.run(lambda: [self._rewrite(one, work, signer) for one in known])

    async def remove(self, work: Work[T]) -> T:
        """Run a unit that removes rows and all that refers to them."""
        return await self.write(work)

    async def drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        """There are no copies beside a database."""

    async def empty_log(self) -> bool:
        """Nothing that the product may do."""
        return True

    async def wipe(self) -> bool:
        """Nothing that the product may do: vacuuming and its logs are the server's."""
        return True

    async def traces(self, look: Look) -> dict[str, int]:  # noqa: ARG002 - there is nothing to look at
        """The store has no files of its own."""
        return {}

    def _session(self) -> AbstractContextManager[copies.Session]:
        return copies.session(*self._place)

    def _backup(self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None) -> dict[str, Any]:
        if path.exists() and not is_backup(path):
            raise InvalidInput(f"{path} is there and is not a backup", hint="choose a name that is free")
        if not path.parent.is_dir():
            raise InvalidInput(f"there is no folder {path.parent}", hint="make it first")
        with translating(self._where), self._session() as session:
            return copies.write_backup(session, path, created_at, signer, progress)

    def _inspect(self, path: Path) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="memstone-") as folder:
            return copies.inspected(path, Path(folder))

    def _restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        with (
            translating(self._where),
            tempfile.TemporaryDirectory(prefix="memstone-") as folder,
            self._session() as session,
        ):
            manifest = copies.stage(session, path, Path(folder), admit)
            copies.refuse_wider(session, manifest)
            drive(prepare(session.connection.lent.tx))
            copies.put_back(session, manifest, progress)
        return manifest

    def _rewrite(self, known: KnownCopy, work: Work[Look | None], signer: Signer) -> Copy:
        """Erase in a backup; what stays in the way is told, not raised."""
        path = Path(known.path)
        try:
            for unfinished in left_over(path.parent, path.name):
                remove(unfinished)
            if not known.whole and unfinished_beside(path):
                return Copy(known.path, "unreachable", "it is being written")
            if not path.is_file():
                return Copy(known.path, "missing", "" if known.whole else "it was begun and not finished")
            return Copy(known.path, "rewritten" if self._rewritten(path, work, signer) else "clean")
        except (OSError, MemstoneError, psycopg.Error) as error:
            return Copy(known.path, "unreachable", str(error))

    def _rewritten(self, path: Path, work: Work[Look | None], signer: Signer) -> bool:
        """Whether there was anything to erase. A copy is its rows, so nothing else of them can be in it."""
        with tempfile.TemporaryDirectory(prefix="memstone-") as folder, self._session() as session:
            manifest = copies.stage(session, path, Path(folder))
            if drive(work(session.connection.lent.tx)) is None:
                return False
            copies.write_again(session, path, manifest, signer if signer.origin(manifest) == "ours" else None)
        return True
