"""Copies of an SQLite file: before upgrades, for backups, and a search of the raw bytes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.sqlite.connection import Connection, open_connection, translate_errors
from memstone.adapters.sqlite.driver import PLAIN, Driver
from memstone.adapters.sqlite.migrations import APPLICATION_ID, FORMER_ID
from memstone.errors import Conflict, Corrupted, InvalidInput, NotFoundError, StorageBusy
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.io import Io
from memstone.ports.ledger import Work
from memstone.ports.storage import Admit, Beyond, Copy, Look, Progress, Signer

if TYPE_CHECKING:
    from memstone.adapters.sqlite.ledger import Readers
    from memstone.adapters.sqlite.write_queue import WriteQueue


# --- what the raw bytes of a SQLite store hold that no row of it holds ------------------------------------------------


_READ: Final = 4 << 20
_ROWS: Final = 1_000
_LOCKED: Final = os.name == "posix"
_open_copies: Final[dict[tuple[int, int], int]] = {}
_holding: Final = ForkSafeLock()


def count_traces(connection: Connection, files: Mapping[str, Iterable[bytes]], look: Look) -> dict[str, int]:
    """Count the pieces in each file, but for those that are in a row: somebody else may have said the same."""
    found = {name: _find_pieces(parts, look) for name, parts in files.items()}
    if any(found.values()):
        remaining = _find_pieces(_read_row_texts(connection), look)
        found = {name: pieces - remaining for name, pieces in found.items()}
    return {name: len(pieces) for name, pieces in found.items()}


def _find_pieces(parts: Iterable[bytes], look: Look) -> set[bytes]:
    return {piece for part in parts for piece in look(part)}


def read_blocks(path: Path, overlap: int) -> Iterator[bytes]:
    """Yield a file in parts, each of which begins with the end of the one before."""
    before = b""
    with path.open("rb") as file:
        while block := file.read(_READ):
            part = before + block
            yield part
            before = part[-overlap:] if overlap else b""


def live_blocks(path: Path, overlap: int) -> Iterator[bytes]:
    """Yield the same of a database that this process has open.

    On POSIX, closing a descriptor of a file takes every lock that the process has on it, SQLite's too: the next process
    would believe itself alone and take the log away under us. So this descriptor stays open while there is a file.
    """
    if not _LOCKED:
        yield from read_blocks(path, overlap)
        return
    file, at, before = _shared_descriptor(path), 0, b""
    while block := os.pread(file, _READ, at):
        part = before + block
        yield part
        at, before = at + len(block), part[-overlap:] if overlap else b""


def _shared_descriptor(path: Path) -> int:
    with _holding:
        for gone in [one for one, file in _open_copies.items() if not os.fstat(file).st_nlink]:
            os.close(_open_copies.pop(gone))  # its file was removed: nobody can open it, and its room is wanted
        about = path.stat()
        which = about.st_dev, about.st_ino
        if which not in _open_copies:
            _open_copies[which] = os.open(path, os.O_RDONLY)
        return _open_copies[which]


def _read_row_texts(connection: Connection) -> Iterator[bytes]:
    """Yield every text that a row holds."""
    for (table,) in connection.raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = connection.raw.execute(f'SELECT * FROM "{table}"')
        while page := rows.fetchmany(_ROWS):
            yield "\n".join(value for row in page for value in row if isinstance(value, str)).encode()


# --- the part of the SQLite ledger that copies itself, and that sees to it that what was deleted is -------------------


T = TypeVar("T")
_PATIENCE: Final = 20.0
"""How many seconds a log may wait for readers of old snapshots."""

_MOMENT: Final = 2.0
"""The same where nothing depends on it."""


class SqliteCopies:
    """See ``memstone.ports.storage.CopyableLedger``."""

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

    def _driver(self) -> Driver:
        raise NotImplementedError

    def _use_reader(self, read: Callable[[Connection], T]) -> T:
        raise NotImplementedError

    def _again_with_new_key(self, call: Callable[[], T], prepare: Callable[[], None]) -> T:
        raise NotImplementedError

    def _reopen(self) -> None:
        raise NotImplementedError

    def _open_own(self, file: Path) -> Connection:
        """Return another connection that may write, for work of its own."""
        return open_connection(str(file), uri=False, writable=True, durable=True, driver=self._driver())

    async def backup(
        self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None
    ) -> dict[str, Any]:
        """Copy everything into one file."""
        return await self._io.run(lambda: self._backup(path, created_at, signer, progress))

    async def inspect(self, path: Path) -> dict[str, Any]:
        """Return the manifest of a backup, checked against all that is in it."""
        return await self._io.run(lambda: self._inspect(path))

    async def restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        """Put a backup in place of everything there is."""
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
        """Write the file again and empty its log."""
        return await self._io.run(self._wipe)

    async def traces(self, look: Look) -> dict[str, int]:
        """Return how many pieces each file holds that no row holds."""
        return await self._io.run(lambda: self._traces(look))

    def _backup(self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None) -> dict[str, Any]:
        from memstone.adapters.sqlite.backup import write_backup

        self._refuse_target(path)
        self._driver()  # refuses where a backup could not be encrypted as it should be
        return self._on_snapshot(lambda source: write_backup(source, path, created_at, signer, progress))

    def is_own(self, path: Path) -> bool:
        """Return whether it is the file of the store, or what SQLite has beside it, under whatever name."""
        file = self._file()
        names = [file, *(file.with_name(f"{file.name}-{end}") for end in ("wal", "shm"))] if file is not None else []
        return path.exists() and any(one.exists() and path.samefile(one) for one in names)

    def _refuse_own(self, path: Path) -> None:
        if self.is_own(path):
            raise Corrupted(f"{path} is the store itself, not a backup", hint="create one with `backup`")

    def _refuse_target(self, path: Path) -> None:
        from memstone.adapters.sql.backup_archive import is_backup

        if path.exists() and (self.is_own(path) or not is_backup(path)):
            raise InvalidInput(f"{path} already exists and is not a backup", hint="choose another name")
        if not path.parent.is_dir():
            raise InvalidInput(f"the folder {path.parent} does not exist", hint="create it first")

    def _on_snapshot(self, work: Callable[[Connection], T]) -> T:
        """Return the result of work on a connection that only reads; a store in memory has only the one."""
        with translate_errors(self._where):
            if self._file() is not None:
                return self._use_reader(work)
            with self._queue.turn:
                return work(self._open_writer())

    def _inspect(self, path: Path) -> dict[str, Any]:
        from memstone.adapters.sqlite.backup import open_backup

        self._refuse_own(path)
        with (
            translate_errors(str(path)),
            self._staging_path() as beside,
            open_backup(path, beside, self._driver()) as (
                _,
                manifest,
            ),
        ):
            return manifest

    def _restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        from memstone.adapters.sqlite import backup

        self._refuse_own(path)
        with translate_errors(self._where):
            self._reopen()  # if somebody changed the key since
        with (
            translate_errors(self._where),
            self._staging_path() as beside,
            backup.open_backup(path, beside, self._driver(), admit) as (copy, manifest),
            self._queue.turn,
        ):
            live = self._open_writer()
            live.rollback()  # whatever an interrupted thread left open
            backup.prepare_copy(copy, prepare, live)
            backup.put_back(copy, live, progress)
        self._wipe_log()
        return manifest

    @contextmanager
    def _staging_path(self) -> Iterator[Path]:
        """Yield the path beside which something may be put for a while."""
        file = self._file()
        if file is not None:
            yield file
            return
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "memory"

    def _rewrite(self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool) -> list[Copy]:
        from memstone.adapters.sqlite import backup

        file = self._file() if own else None
        beside = backup.rewrite_beside(self._driver(), file, work) if file is not None else []
        return beside + [backup.rewrite_copy(self._driver(), one, work, signer) for one in known]

    def _remove(self, work: Work[T]) -> T:
        from memstone.adapters.sqlite.backup import run_removal

        def run_in_turn() -> T:
            with self._queue.turn:
                connection = self._open_writer()
                connection.rollback()  # whatever an interrupted thread left open
                return run_removal(connection, work, live=True)

        with translate_errors(self._where):
            return self._again_with_new_key(run_in_turn, self._reopen)

    def _wipe(self) -> bool:
        with translate_errors(self._where):
            if (file := self._file()) is None:
                with self._queue.turn:
                    self._open_writer().raw.execute("VACUUM")
                return True
            # On a connection of its own: the new file is put together in a file, not in memory. SQLCipher encrypts that
            # file too; it would not encrypt one for sorting, which VACUUM does not need.
            with self._queue.turn, closing(self._open_own(file)) as own:
                own.raw.execute("PRAGMA temp_store = FILE")
                own.wait_with_jitter()
                own.begin("VACUUM")
            return self._wipe_log()

    def _drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        from memstone.adapters.sqlite.backup import drop_settings_beside

        if (file := self._file()) is not None:
            drop_settings_beside(self._driver(), file, tenant_id, scope_key)

    def _wipe_log(self, seconds: float | None = None) -> bool:
        """Empty the log; readers of old snapshots, in whatever process, are waited for, for a while."""
        file, deadline = self._file(), time.monotonic() + (_PATIENCE if seconds is None else seconds)
        if file is None:
            return True
        with closing(self._open_own(file)) as own:
            own.wait_with_jitter()
            while own.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.05)
        return True

    def _traces(self, look: Look) -> dict[str, int]:
        return self._on_snapshot(lambda connection: count_traces(connection, self._raw(connection, look.overlap), look))

    def _raw(self, connection: Connection, overlap: int) -> dict[str, Iterable[bytes]]:
        """Return the bytes of the store's file and of its log.

        The memory that SQLite shares beside them holds no content.
        """
        file = self._file()
        if file is None:
            return {self._where: (connection.raw.serialize(),)}
        log = file.with_name(f"{file.name}-wal")  # nobody locks this one
        found: dict[str, Iterable[bytes]] = {file.name: live_blocks(file, overlap)}
        return {**found, log.name: read_blocks(log, overlap)} if log.exists() else found


# --- move a SQLite store, with everything that lies beside it, to another place on this machine -----------------------


_SQLITE_MOVE_PATIENCE: Final = 2.0


def move_store(source: Path, target: Path) -> list[Path]:
    """Move a store that nobody has open; returns the new paths, the store's own first."""
    if not source.is_file():
        raise NotFoundError(f"there is no store at {source}")
    if target.exists():
        raise Conflict(
            f"there is already a store at {target}", hint="use `memstone copy` to copy one store into another"
        )
    _take_in_log(source)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = sorted([*source.parent.glob(f"{source.name}.before-*"), *source.parent.glob(f"{source.name}.key")])
    # What lies beside goes first: if the power fails in between, the store is still found where it was.
    moved = [_move_file(path, target.with_name(target.name + path.name[len(source.name) :])) for path in beside]
    return [_move_file(source, target), *moved]


def _take_in_log(path: Path) -> None:
    """Bring everything from the log into the file, which takes that nobody else has it open."""
    try:
        with closing(PLAIN.connect(str(path), timeout=_SQLITE_MOVE_PATIENCE)) as database:
            if database.execute("PRAGMA application_id").fetchone()[0] not in (APPLICATION_ID, FORMER_ID):
                raise Corrupted(f"{path} was not made by Memstone", hint="choose another file")
            database.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        raise StorageBusy(f"{path} is in use: {error}", hint="stop the program that is using it") from error
    except sqlite3.DatabaseError as error:
        raise Corrupted(f"{path} is damaged: {error}", hint="restore a backup") from error


def _move_file(source: Path, target: Path) -> Path:
    shutil.move(source, target)
    return target
