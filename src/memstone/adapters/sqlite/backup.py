"""Write, verify and restore backups of an SQLite store, also foreign ones.

A foreign backup was not signed by this store. Only rows are taken from it, into tables that we create ourselves.

Triggers, views, and tables that no store has stay behind, and so do rows that would open a door: keys, accounts,
sessions, secrets, and settings that say where a service sends what it is told. A table that only looks like one of ours
is refused.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from memstone.adapters.sql.backup_archive import (
    extract_archive,
    left_over,
    manifest_for,
    open_staging_folder,
    remove_path,
    unfinished_beside,
    write_archive,
)
from memstone.adapters.sqlite.connection import BUSY_SECONDS, Connection, open_connection
from memstone.adapters.sqlite.copies import count_traces, read_blocks
from memstone.adapters.sqlite.driver import CIPHER, CipherDriver, Driver
from memstone.adapters.sqlite.encryption import copies_beside, encrypt_copy, use_current_key
from memstone.adapters.sqlite.integrity import begin_log, refuse_damaged_copy
from memstone.adapters.sqlite.migrations import (
    latest_schema_version,
    make_schema,
    migrate_schema,
    refuse_upgraded,
    version_of,
)
from memstone.drive import drive
from memstone.errors import Corrupted, EncryptionError, MemstoneError, StorageBusy
from memstone.model.former_name import FORMER_NAME
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.ledger import Work
from memstone.ports.storage import ACCESS_TABLES, OWN_TABLES, SERVICE_SETTINGS, Admit, Copy, Look, Progress, Signer

# --- what is taken from a backup that this store did not sign ---------------------------------------------------------


_Objects: TypeAlias = dict[tuple[str, str], str]
_OBJECTS: Final = "SELECT type, name, sql FROM {}.sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_MARK: Final = "log_mark"
_BARRED: Final = frozenset((*ACCESS_TABLES, *OWN_TABLES))
_NOT_OF_A_SERVICE: Final = f" WHERE substr(scope_key, 1, {len(SERVICE_SETTINGS)}) <> '{SERVICE_SETTINGS}'"


def take_rows(target: Connection, source: Path, version: int) -> dict[str, Any]:
    """Make a store of a version in an empty file and copy the rows of a foreign one; return what was left out."""
    make_schema(target, version)
    raw = target.raw
    raw.execute("PRAGMA foreign_keys = OFF")
    target.driver.attach(raw, source, "foreign_store")
    try:
        ours, other = _read_schema_objects(raw, "main"), _read_schema_objects(raw, "foreign_store")
        tables = [name for (kind, name), _ in ours.items() if kind == "table" and not name.startswith("fulltext")]
        _refuse_other_tables(ours, other, tables)
        raw.execute("BEGIN IMMEDIATE")
        rows = {table: count for table in tables if (count := _copy_table_rows(raw, table)) and table != _MARK}
        raw.execute("INSERT INTO fulltext (fulltext) VALUES ('rebuild')")
        raw.execute("COMMIT")
    except sqlite3.IntegrityError as error:
        raise Corrupted(f"the backup contains invalid rows: {error}", hint="use another backup") from error
    finally:
        target.rollback()
        raw.execute("DETACH DATABASE foreign_store")
        raw.execute("PRAGMA foreign_keys = ON")
    return {"rows": rows, "objects": sorted(f"{kind} {name}" for kind, name in other.keys() - ours.keys())}


def _read_schema_objects(raw: sqlite3.Connection, database: str) -> _Objects:
    """Return everything that a database is made of, by kind and name: how it was made, blanks apart."""
    return {(kind, name): "".join((made or "").split()) for kind, name, made in raw.execute(_OBJECTS.format(database))}


def _refuse_other_tables(ours: _Objects, others: _Objects, tables: list[str]) -> None:
    other = [table for table in tables if others.get(("table", table)) != ours["table", table]]
    if other:
        raise Corrupted(
            f"the backup contains no valid store: {', '.join(sorted(other))} is missing or malformed",
            hint="check that Memstone made it",
        )


def _copy_table_rows(raw: sqlite3.Connection, table: str) -> int:
    """Copy the rows of a table; return how many were left out."""
    (count,) = raw.execute(f'SELECT count(*) FROM foreign_store."{table}"').fetchone()
    if table in _BARRED:
        return int(count)
    names = [row[1] for row in raw.execute(f'PRAGMA main.table_info("{table}")')]
    columns = ", ".join(f'"{name}"' for name in names)
    where = _NOT_OF_A_SERVICE if table == "settings" else ""
    taken = raw.execute(f'INSERT INTO main."{table}" ({columns}) SELECT {columns} FROM foreign_store."{table}"{where}')
    return int(count) - taken.rowcount


# --- copies of a SQLite store -----------------------------------------------------------------------------------------


T = TypeVar("T")
log: Final = logging.getLogger("memstone.ledger")
_DATABASE: Final = "memstone.db"
_FORMER_DATABASE: Final = f"{FORMER_NAME}.db"
_STORE: Final = "sqlite"
_PAGES: Final = 2_048
_NOTHING: Final = "SELECT 1 WHERE 0"
_MARGIN: Final = 1_000_000
"""How far the change counter jumps, beyond whatever is written while a copy is being put back."""

# The tables of the full text follow from ``words``.
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'fulltext%' ORDER BY name"


def write_backup(
    source: Connection, target: Path, created_at: Instant, signer: Signer, progress: Progress | None
) -> dict[str, Any]:
    """Copy everything as it is now into one file; others go on writing."""
    for path in left_over(target.parent, target.name):
        remove_path(path)
    with open_staging_folder(target) as folder:
        copy = folder / _DATABASE
        with closing(source.driver.connect(str(copy))) as written:
            _copy_pages(source, written, progress)
            refuse_damaged_copy(written, "the store")
            begin_log(Connection(written, driver=source.driver))
            written.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            about = _manifest_fields(written, source.driver)
        return write_archive(target, {_DATABASE: copy}, {**about, "created_at": created_at}, signer)


def _copy_pages(source: Connection, target: sqlite3.Connection, progress: Progress | None) -> None:
    """Copy all pages of one snapshot: the open transaction keeps it, whatever others commit meanwhile."""
    source.raw.execute("BEGIN")
    try:
        source.raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        source.raw.backup(target, pages=_PAGES, progress=_progress_callback(progress), sleep=0.01)
    finally:
        source.rollback()


def _manifest_fields(database: sqlite3.Connection, driver: Driver) -> dict[str, Any]:
    schema = int(database.execute("PRAGMA user_version").fetchone()[0])
    fields = {"store": _STORE, "schema": schema, "tables": _count_table_rows(database)}
    return fields if driver.key_name is None else {**fields, "encryption": {"cipher": CIPHER, "key": driver.key_name}}


def _count_table_rows(database: sqlite3.Connection) -> dict[str, int]:
    names = [row[0] for row in database.execute(_TABLES).fetchall()]
    return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


def _progress_callback(progress: Progress | None) -> Callable[[int, int, int], None]:
    """Say how many pages are done; give up when nothing moves, because somebody holds the lock."""
    deadline = time.monotonic() + BUSY_SECONDS

    def step(status: int, remaining: int, total: int) -> None:
        nonlocal deadline
        now = time.monotonic()
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            if now > deadline:
                raise StorageBusy("another process keeps the store locked")
            return
        deadline = now + BUSY_SECONDS
        if progress is not None:
            progress(total - remaining, total)

    return step


@contextmanager
def open_backup(
    path: Path, beside: Path, driver: Driver, admit: Admit | None = None
) -> Iterator[tuple[Connection, dict[str, Any]]]:
    """Yield a backup as a temporary store of the newest schema, and its manifest.

    It is encrypted if the store is, and with the store's current key, whatever the backup was written with.

    With ``admit`` a foreign one is rebuilt, and its manifest says what was left out.
    """
    with open_staging_folder(beside) as folder:
        name = (
            _FORMER_DATABASE
            if _FORMER_DATABASE in manifest_for(path, _STORE, latest_schema_version())["files"]
            else _DATABASE
        )
        manifest = extract_archive(path, folder, frozenset({name}))
        connection = _open_part(path, folder / name, driver, manifest)
        try:
            _refuse_damaged(path, connection, manifest)
            if admit is not None and admit(manifest) == "foreign":
                source = Path(connection.raw.execute("PRAGMA database_list").fetchone()[2])
                connection, left_out = _rebuild_store(connection, source, folder / "rebuilt.db")
                manifest = {**manifest, "left_out": left_out}
            migrate_schema(connection, None)
            yield connection, manifest
        finally:
            connection.close()


def _open_part(path: Path, part: Path, driver: Driver, manifest: Mapping[str, Any]) -> Connection:
    """Open the database of a backup, after it was encrypted as the store is."""
    encryption = manifest.get("encryption")
    if not isinstance(driver, CipherDriver):
        if encryption:
            raise EncryptionError(
                f"{path} is encrypted, and store.encryption_key is not set",
                hint=f"set it to where the key {encryption.get('key')} is" if isinstance(encryption, dict) else None,
            )
        return open_connection(str(part), uri=False, writable=True, durable=False)
    if not encryption:
        part = encrypt_copy(part, part.with_name("encrypted.db"), driver)
    try:
        opened = open_connection(str(part), uri=False, writable=True, durable=False, driver=driver)
    except EncryptionError as error:
        name = encryption.get("key") if isinstance(encryption, dict) else "?"
        raise EncryptionError(
            f"{path} was encrypted with the key {name}, which is not in {driver.place}",
            hint="put that key below the current one; nothing was changed",
        ) from error
    use_current_key(opened.raw, part, driver)
    return opened


def _rebuild_store(connection: Connection, source: Path, target: Path) -> tuple[Connection, dict[str, Any]]:
    version = version_of(connection)
    connection.close()
    rebuilt = open_connection(str(target), uri=False, writable=True, durable=False, driver=connection.driver)
    try:
        return rebuilt, take_rows(rebuilt, source, version)
    except BaseException:
        rebuilt.close()
        raise


def _refuse_damaged(path: Path, connection: Connection, manifest: dict[str, Any]) -> None:
    try:
        problems = [row[0] for row in connection.raw.execute("PRAGMA integrity_check(3)").fetchall()]
        agrees = version_of(connection) == manifest["schema"] and _count_table_rows(connection.raw) == manifest.get(
            "tables"
        )
    except sqlite3.Error as error:
        raise Corrupted(f"{path} is damaged: {error}", hint="use another backup") from error
    if problems != ["ok"]:
        raise Corrupted(f"{path} is damaged: {problems[0]}", hint="use another backup")
    if not agrees:
        raise Corrupted(f"{path} does not match its manifest", hint="use another backup")


def prepare_copy(copy: Connection, prepare: Work[bool], live: Connection) -> None:
    """Make a copy ready to take the place of the store."""
    if run_removal(copy, prepare):
        copy.raw.execute("VACUUM")
    highest = dict(live.raw.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    copy.begin("BEGIN IMMEDIATE")
    try:
        _advance_sequences(copy.raw, highest)
        copy.raw.execute("COMMIT")
    except BaseException:
        copy.rollback()
        raise


def run_removal(connection: Connection, work: Work[T], *, live: bool = False) -> T:
    """Return the result of a unit that removes rows and all that refers to them, in one transaction.

    SQLite would look for referring rows by whole tables, for every row that goes. So it looks once, at the end; where
    something refers to what is not there, maybe since long ago, it is done the slow way. In a store that others write
    to, nobody looks: even once through all tables would hold them up, and the unit has seen to it.
    """
    if live:
        return _without_looking(connection, work)
    connection.raw.execute("PRAGMA foreign_keys = OFF")
    try:
        return _in_transaction(connection, work, "PRAGMA foreign_key_check")
    except _DanglingReference:
        connection.raw.execute("PRAGMA foreign_keys = ON")
        return _in_transaction(connection, work, _NOTHING)
    finally:
        connection.raw.execute("PRAGMA foreign_keys = ON")


def _without_looking(connection: Connection, work: Work[T]) -> T:
    connection.raw.execute("PRAGMA foreign_keys = OFF")
    try:
        return _in_transaction(connection, work, _NOTHING)
    finally:
        connection.raw.execute("PRAGMA foreign_keys = ON")


class _DanglingReference(Exception):
    """A row refers to one that is not there."""


def _in_transaction(connection: Connection, work: Work[T], wrong: str) -> T:
    connection.begin("BEGIN IMMEDIATE")
    try:
        refuse_upgraded(connection)
        value = drive(work(connection.tx))
        if connection.raw.execute(wrong).fetchone():
            raise _DanglingReference
        connection.raw.execute("COMMIT")
    finally:
        connection.rollback()
    return value


def _advance_sequences(database: sqlite3.Connection, highest: dict[str, int]) -> None:
    """Advance the counters, so that no number is given twice.

    Every index that follows the change counter sees that it must begin again.
    """
    database.execute("DELETE FROM changes")
    for name, number in {"changes": 0, **highest}.items():
        least = number + _MARGIN if name == "changes" else number
        known = database.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (least, name))
        if not known.rowcount:
            database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, least))
    database.execute(
        "INSERT INTO changes (tenant_id, user_id, memory_seq) "
        "SELECT tenant_id, user_id, memory_seq FROM links ORDER BY memory_seq"
    )


def put_back(copy: Connection, live: Connection, progress: Progress | None) -> None:
    """Let a copy take the place of an open store."""
    refuse_upgraded(live)
    copy.raw.backup(live.raw, pages=_PAGES, progress=_progress_callback(progress), sleep=0.01)


# --- copies of somebody who is erased ---------------------------------------------------------------------------------


def rewrite_copy(driver: Driver, known: KnownCopy, work: Work[Look | None], signer: Signer) -> Copy:
    """Erase in a backup; what stays in the way is told, not raised."""
    path = Path(known.path)
    try:
        for unfinished in left_over(path.parent, path.name):
            remove_path(unfinished)
        if not known.is_complete and unfinished_beside(path):
            return Copy(known.path, "unreachable", "it is being written")
        if not path.is_file():
            return Copy(known.path, "missing", "" if known.is_complete else "it was started but not finished")
        found = _erase_in_copy(driver, path, work, signer)
        return Copy(known.path, "clean") if found is None else Copy(known.path, "rewritten", found=found)
    except (OSError, MemstoneError, sqlite3.Error) as error:
        return Copy(known.path, "unreachable", str(error))


def _erase_in_copy(driver: Driver, path: Path, work: Work[Look | None], signer: Signer) -> int | None:
    """Return how many traces are left; None when there was nothing to erase."""
    with open_backup(path, path, driver) as (connection, manifest):
        ours = signer.origin(manifest) == "ours"
        look: Look | None = run_removal(connection, work)
        if look is None:
            return None
        connection.raw.execute("VACUUM")
        fields = _manifest_fields(connection.raw, driver)
        about = {**fields, "created_at": manifest.get("created_at"), "rewritten": True}
        file = Path(connection.raw.execute("PRAGMA database_list").fetchone()[2])
        found = count_traces(connection, {file.name: read_blocks(file, look.overlap)}, look)
        connection.close()
        write_archive(path, {_DATABASE: file}, about, signer if ours else None)
    return sum(found.values())


def rewrite_beside(driver: Driver, store: Path, work: Work[Look | None]) -> list[Copy]:
    """Erase in what Memstone put beside a file: what a crash left goes, and copies of older schemas that hold any.

    A copy that was made before an upgrade is there for the Memstone of that time, so it cannot be rewritten.
    """
    found = [_remove_leftover(path) for path in left_over(store.parent, store.name)]
    return found + [_delete_outdated_copy(driver, path, work) for path in copies_beside(store)]


def drop_settings_beside(driver: Driver, store: Path, tenant_id: str, scope_key: str) -> None:
    """Take settings out of copies of older schemas, every one of which has this table; they stay what they are else."""
    query = "DELETE FROM settings WHERE tenant_id = ? AND scope_key = ?"
    for path in copies_beside(store):
        try:
            with closing(driver.connect(str(path))) as copy:
                if copy.execute(query, (tenant_id, scope_key)).rowcount:
                    copy.execute("VACUUM")
                    copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, EncryptionError) as error:
            log.warning("%s may contain provider keys in plain text: %s", path, error)


def _remove_leftover(path: Path) -> Copy:
    try:
        remove_path(path)
    except OSError as error:
        return Copy(str(path), "unreachable", str(error))
    return Copy(str(path), "deleted", "it was left by a crash")


def _delete_outdated_copy(driver: Driver, path: Path, work: Work[Look | None]) -> Copy:
    try:
        if not _has_data_to_erase(driver, path, work):
            return Copy(str(path), "clean")
        for one in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            one.unlink(missing_ok=True)
    except OSError as error:
        return Copy(str(path), "unreachable", str(error))
    return Copy(str(path), "deleted", "it was made before an upgrade")


def _has_data_to_erase(driver: Driver, path: Path, work: Work[Look | None]) -> bool:
    """Return whether there is anything to erase; so it is taken to be where this Memstone cannot tell."""
    try:
        connection = open_connection(str(path), uri=False, writable=True, durable=False, driver=driver)
    except (sqlite3.Error, EncryptionError):
        return True
    try:
        connection.raw.execute("PRAGMA foreign_keys = OFF")
        connection.begin("BEGIN IMMEDIATE")
        return drive(work(connection.tx)) is not None
    except (sqlite3.Error, MemstoneError):
        return True
    finally:
        connection.rollback()
        connection.close()
