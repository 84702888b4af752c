"""The part of the SQLite ledger that copies itself, and that sees to it that what was deleted is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.adapters.ledger.sqlite_connection import Connection, connect
from memstone.adapters.ledger.sqlite_errors import translating
from memstone.adapters.ledger.sqlite_traces import blocks, live_blocks, traces
from memstone.errors import Corrupted, InvalidInput
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.io import Io
from memstone.ports.ledger import Work
from memstone.ports.storage import Admit, Beyond, Copy, Look, Progress, Signer

if TYPE_CHECKING:
    from memstone.adapters.ledger.sqlite_readers import Readers
    from memstone.adapters.ledger.write_queue import WriteQueue

T = TypeVar("T")
_PATIENCE: Final = 20.0
"""How many seconds a log may wait for readers of old snapshots."""

_MOMENT: Final = 2.0
"""The same where nothing depends on it."""


class SqliteCopies:
    """See ``memstone.ports.storage.Copying``."""

    holds_files: Final = True
    beyond: Final = Beyond()
    _io: Io
    _queue: WriteQueue
    _readers: Readers
    _where: str

    def _file(self) -> Path | None:
        raise NotImplementedError

    def _open_writer(self) -> Connection:
        raise NotImplementedError

    async def backup(
        self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None
    ) -> dict[str, Any]:
        """Copy everything into one file."""
        return await self._io.run(lambda: self._backup(path, created_at, signer, progress))

    async def inspect(self, path: Path) -> dict[str, Any]:
        """The manifest of a backup, checked against all that is in it."""
        return await self._io.run(lambda: self._inspect(path))

    async def restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        """Put a backup in the place of everything there is."""
        return await self._io.run(lambda: self._restore(path, admit, prepare, progress))

    async def rewrite(
        self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool = True
    ) -> list[Copy]:
        """Erase in every copy."""
        return await self._io.run(lambda: self._rewrite(known, work, signer, own=own))

    async def remove(self, work: Work[T]) -> T:
        """Run a unit that removes rows and all that refers to them."""
        return await self._io.run(lambda: self._remove(work))

    async def drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        """Take settings out of copies that were made before an upgrade."""
        await self._io.run(lambda: self._drop_settings_beside(tenant_id, scope_key))

    async def empty_log(self) -> bool:
        """Empty the log."""
        return await self._io.run(lambda: self._wipe_log(_MOMENT))

    async def wipe(self) -> bool:
        """Write the file anew and empty its log."""
        return await self._io.run(self._wipe)

    async def traces(self, look: Look) -> dict[str, int]:
        """How many pieces each file holds that no row holds."""
        return await self._io.run(lambda: self._traces(look))

    def _backup(self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None) -> dict[str, Any]:
        from memstone.adapters.ledger.sqlite_backup import write_backup

        self._refuse_target(path)
        return self._on_snapshot(lambda source: write_backup(source, path, created_at, signer, progress))

    def is_own(self, path: Path) -> bool:
        """Whether it is the file of the store, or what SQLite has beside it, under whatever name."""
        file = self._file()
        names = [file, *(file.with_name(f"{file.name}-{end}") for end in ("wal", "shm"))] if file is not None else []
        return path.exists() and any(one.exists() and path.samefile(one) for one in names)

    def _refuse_own(self, path: Path) -> None:
        if self.is_own(path):
            raise Corrupted(f"{path} is not a backup but the store itself", hint="`backup` makes one")

    def _refuse_target(self, path: Path) -> None:
        from memstone.adapters.ledger.backup_archive import is_backup

        if path.exists() and (self.is_own(path) or not is_backup(path)):
            raise InvalidInput(f"{path} is there and is not a backup", hint="choose a name that is free")
        if not path.parent.is_dir():
            raise InvalidInput(f"there is no folder {path.parent}", hint="make it first")

    def _on_snapshot(self, work: Callable[[Connection], T]) -> T:
        """The result of work on a connection that only reads; a store in memory has only the one."""
        with translating(self._where):
            if self._file() is not None:
                return self._readers.use(work)
            with self._queue.turn:
                return work(self._open_writer())

    def _inspect(self, path: Path) -> dict[str, Any]:
        from memstone.adapters.ledger.sqlite_backup import opened

        self._refuse_own(path)
        with translating(str(path)), self._staging() as beside, opened(path, beside) as (_, manifest):
            return manifest

    def _restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        from memstone.adapters.ledger import sqlite_backup

        self._refuse_own(path)
        with (
            translating(self._where),
            self._staging() as beside,
            sqlite_backup.opened(path, beside, admit) as (copy, manifest),
            self._queue.turn,
        ):
            live = self._open_writer()
            live.rollback()  # whatever an interrupted thread left open
            sqlite_backup.prepared(copy, prepare, live)
            sqlite_backup.put_back(copy, live, progress)
        self._wipe_log()
        return manifest

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        """Beside which file something may be put for a while."""
        file = self._file()
        if file is not None:
            yield file
            return
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "memory"

    def _rewrite(self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool) -> list[Copy]:
        from memstone.adapters.ledger import sqlite_backup

        file = self._file() if own else None
        beside = sqlite_backup.rewrite_beside(file, work) if file is not None else []
        return beside + [sqlite_backup.rewrite(one, work, signer) for one in known]

    def _remove(self, work: Work[T]) -> T:
        from memstone.adapters.ledger.sqlite_backup import removed

        with translating(self._where), self._queue.turn:
            connection = self._open_writer()
            connection.rollback()  # whatever an interrupted thread left open
            return removed(connection, work, live=True)

    def _wipe(self) -> bool:
        with translating(self._where):
            if (file := self._file()) is None:
                with self._queue.turn:
                    self._open_writer().raw.execute("VACUUM")
                return True
            # On a connection of its own: the new file is put together in a file, not in memory.
            with self._queue.turn, closing(connect(str(file), uri=False, writable=True, durable=True)) as own:
                own.raw.execute("PRAGMA temp_store = FILE")
                own.wait_with_jitter()
                own.begin("VACUUM")
            return self._wipe_log()

    def _drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        from memstone.adapters.ledger.sqlite_backup import drop_settings_beside

        if (file := self._file()) is not None:
            drop_settings_beside(file, tenant_id, scope_key)

    def _wipe_log(self, seconds: float | None = None) -> bool:
        """Empty the log; readers of old snapshots, in whatever process, are waited for, for a while."""
        file, deadline = self._file(), time.monotonic() + (_PATIENCE if seconds is None else seconds)
        if file is None:
            return True
        with closing(connect(str(file), uri=False, writable=True, durable=True)) as own:
            own.wait_with_jitter()
            while own.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.05)
        return True

    def _traces(self, look: Look) -> dict[str, int]:
        return self._on_snapshot(lambda connection: traces(connection, self._raw(connection, look.overlap), look))

    def _raw(self, connection: Connection, overlap: int) -> dict[str, Iterable[bytes]]:
        """The bytes of the store's file and of its log; the memory that SQLite shares beside them holds no content."""
        file = self._file()
        if file is None:
            return {self._where: (connection.raw.serialize(),)}
        log = file.with_name(f"{file.name}-wal")  # nobody locks this one
        found: dict[str, Iterable[bytes]] = {file.name: live_blocks(file, overlap)}
        return {**found, log.name: blocks(log, overlap)} if log.exists() else found
