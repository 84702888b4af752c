"""Bring a SQLite file's schema up to date.

Plain numbered SQL files, one transaction each. A file from a newer Memstone is refused, and an older one is
copied aside before it is changed. A file that another process upgrades while this one has it open is refused, too, by
the next transaction that would write.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from memstone.adapters.sql.rows import make_private
from memstone.adapters.sqlite.connection import Connection
from memstone.adapters.sqlite.driver import Driver
from memstone.errors import Corrupted, MigrationFailed, SchemaTooNew

APPLICATION_ID: Final = 0x4D454D31  # "MEM1", so that a stray SQLite file is not taken for ours
FORMER_ID: Final = 0x52544E31  # "RTN1", of stores that were made under the former name


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    script: str


@cache
def list_migrations() -> tuple[Migration, ...]:
    """Return all steps, in order."""
    folder = files("memstone.adapters.sqlite") / "sql"
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return tuple(Migration(int(item.name[:4]), item.name, item.read_text("utf-8")) for item in scripts)


def latest_schema_version() -> int:
    """Return the schema version this Memstone writes."""
    return list_migrations()[-1].number


def version_of(connection: Connection) -> int:
    """Return the schema version of an open file; 0 for an empty one."""
    return int(connection.raw.execute("PRAGMA user_version").fetchone()[0])


def refuse_upgraded(connection: Connection) -> None:
    """Raise ``SchemaTooNew`` if the file has been upgraded since this process opened it.

    Call it within a transaction that holds the write lock: nobody upgrades the file before that transaction ends.
    """
    if (version := version_of(connection)) > latest_schema_version():
        raise schema_upgraded_error(version, latest_schema_version())


def schema_upgraded_error(version: int, known: int) -> SchemaTooNew:
    """Return the error for a process that has a store open which a newer Memstone has upgraded meanwhile."""
    return SchemaTooNew(
        f"the database was upgraded to schema {version} while this process, which supports {known}, had it open",
        hint="restart this process with the version of Memstone that upgraded the database; nothing was written",
    )


def migrate_schema(connection: Connection, path: Path | None) -> int:
    """Apply what is missing; return the version the file had before."""
    before = version_of(connection)
    _refuse_foreign(connection, before)
    if before == latest_schema_version():
        return before
    # One transaction for all steps: nobody else finds, upgrades or copies a store that is half upgraded.
    with _upgrade_transaction(connection):
        before = version_of(connection)
        if 0 < before < latest_schema_version() and path is not None:
            _copy_aside(connection.driver, path)
        _apply_steps(connection, latest_schema_version())
    return before


def make_schema(connection: Connection, version: int) -> None:
    """Make an empty store of an older version."""
    with _upgrade_transaction(connection):
        _apply_steps(connection, version)


def _refuse_foreign(connection: Connection, version: int) -> None:
    # The mark is read last: another process may make the schema, and the mark with it, between the two.
    used = connection.raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    mark = connection.raw.execute("PRAGMA application_id").fetchone()[0]
    if used and mark not in (APPLICATION_ID, FORMER_ID):
        raise Corrupted("this SQLite file was not made by Memstone", hint="choose another path for store.url")
    if version > latest_schema_version():
        raise SchemaTooNew(
            f"the database has schema {version}, this version of Memstone knows up to {latest_schema_version()}"
        )


def _copy_aside(driver: Driver, path: Path) -> None:
    target = path.with_name(f"{path.name}.before-{latest_schema_version():04d}")
    if target.exists():
        return
    # Under another name until it is whole: a copy that a crash cut short must not pass for one.
    unfinished = path.with_name(f"{target.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    make_private(unfinished)
    # Through a connection of its own: the one that upgrades holds the right to write, and may not copy.
    with closing(driver.connect(str(path))) as source, closing(driver.connect(str(unfinished))) as copy:
        source.backup(copy)
    unfinished.replace(target)


@contextmanager
def _upgrade_transaction(connection: Connection) -> Iterator[None]:
    """Hold the right to write from the first step to the last."""
    connection.begin("BEGIN IMMEDIATE")
    try:
        yield
        connection.raw.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _apply_steps(connection: Connection, version: int) -> None:
    done = version_of(connection)
    for step in list_migrations():
        if done < step.number <= version:
            _apply_migration(connection, step)


def _apply_migration(connection: Connection, step: Migration) -> None:
    try:
        for statement in split_statements(step.script):
            connection.raw.execute(statement)
        connection.raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.raw.execute(f"PRAGMA user_version = {step.number}")
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise MigrationFailed(f"{step.name}: {error}", hint="the database was not changed") from error


@cache
def split_statements(script: str) -> tuple[str, ...]:
    """Return the statements of a script; ``executescript`` would commit the transaction first."""
    return tuple(_iter_statements(script))


def _iter_statements(script: str) -> Iterator[str]:
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending.strip()
            pending = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        yield pending.strip()  # a last statement may lack its semicolon
