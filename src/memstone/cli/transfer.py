"""``export``, ``copy``, ``migrate`` and ``adopt``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from memstone.cli.arguments import Arguments, for_scope_or_everybody, for_store, store_url
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import Progress, is_terminal, print_line, print_note
from memstone.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from memstone.ports.ledger import Ledger


# --- ``export`` -------------------------------------------------------------------------------------------------------


@click.command()
@click.option(
    "--output", "-o", metavar="FILE", type=click.Path(dir_okay=False), help="Write to this file instead of the screen."
)
@click.option("--plain", is_flag=True, help="Do not encrypt the file, even if the store is encrypted.")
@for_scope_or_everybody
def export(arguments: Arguments, *, output: str | None, plain: bool) -> int:
    """Export everything as JSON lines.

    The export contains every version, link and event of the scope, or with --everybody of all users. To put it back,
    use `memstone import --restore`. If the store is encrypted, so is the file, unless you use --plain.
    """
    counts = {"memory": 0, "event": 0}
    with arguments.memory(damaged=True) as memory, _open_export(arguments, output, plain=plain) as file:
        progress = Progress("exporting", hidden=output is None and is_terminal(sys.stdout))
        for number, record in enumerate(memory.export(**arguments.scope_or_everybody()), start=1):
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            counts[record["type"]] = counts.get(record["type"], 0) + 1
            progress(number)
        progress.finish()
    _say_exported(arguments, output, counts)
    return NOTHING if any(arguments.scope().values()) and not counts["memory"] else OK


def _say_exported(arguments: Arguments, output: str | None, counts: dict[str, int]) -> None:
    summary = {"output": output, "versions": counts["memory"], "events": counts["event"]}
    text = f"{summary['versions']:,} versions and {summary['events']:,} events exported"
    if output is None:
        print_note(text)
    elif not arguments.print_json(summary):
        print_line(f"{text} to {output}")


@contextmanager
def _open_export(arguments: Arguments, output: str | None, *, plain: bool) -> Iterator[Any]:
    """Open where the export goes, encrypted if it is a file and the store is encrypted."""
    settings = arguments.settings()
    with _open_output(output) as file:
        if plain or output in (None, "-") or settings.store.encryption_key is None:
            yield file
            return
        from memstone.compose import encrypted_files_of
        from memstone.registry import load_adapter

        with encrypted_files_of(settings, load_adapter("io", "blocking")()).open_writer(file) as encrypted:
            yield encrypted


@contextmanager
def _open_output(output: str | None) -> Iterator[BinaryIO]:
    """Open where the export goes. A file takes the place of an older one only when it is complete."""
    if output in (None, "-"):
        yield sys.stdout.buffer
        return
    path = Path(str(output))
    if path.exists() and not path.is_file():  # a device or a pipe
        with path.open("wb") as file:
            yield file
        return
    part = path.with_name(f"{path.name}.part")
    try:
        with _create_private_file(part, path).open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _create_private_file(part: Path, path: Path) -> Path:
    """Return a new file that only its owner may read; what is wrong with it is said of the file that was asked for."""
    try:
        part.unlink(missing_ok=True)  # of an export that was cut off
        part.touch(0o600, exist_ok=False)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return part


COMMANDS: Final[tuple[Any, ...]] = (export,)


# --- ``copy`` ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--tenant", metavar="ID", multiple=True, help="Copy only this tenant. May be repeated.")
@click.option("--from-key", metavar="PLACE", help="Where the key is that FROM is encrypted with.")
@click.option("--to-key", metavar="PLACE", help="Where the key is that TO is encrypted with.")
@for_store
def copy(
    arguments: Arguments,
    source: str,
    target: str,
    *,
    tenant: tuple[str, ...],
    from_key: str | None,
    to_key: str | None,
) -> int:
    """Copy one store into another.

    FROM and TO are files or URLs, for SQLite or PostgreSQL. Everything is copied: versions, links, events, vectors and
    settings. Nothing should write to either store meanwhile. If the copy is interrupted, run it again and it continues
    where it stopped. At the end, both stores are read again and compared. PLACE is written as in store.encryption_key,
    for example keyring:memstone/people.
    """
    progress = Progress("copying")
    try:
        with _open_ledgers((source, target), (from_key, to_key)) as (old, new):
            answer = _copy_ledger(old, new, tenant, progress)
    finally:
        progress.finish()
    if not arguments.print_json(answer):
        count = len(answer["tenants"])
        print_line(
            f"{answer['copied']:,} rows of {count:,} tenant{'' if count == 1 else 's'} copied; "
            f"both stores have the same {answer['rows']:,} rows in {len(answer['tables'])} tables"
        )
    return OK


def _copy_ledger(old: Ledger, new: Ledger, tenants: tuple[str, ...], progress: Progress) -> dict[str, Any]:
    from memstone.drive import drive
    from memstone.engine.transfer.copy_store import copy_store as copied

    return drive(copied(old, new, tenants, progress))


@contextmanager
def _open_ledgers(places: tuple[str, str], keys: tuple[str | None, str | None]) -> Iterator[tuple[Ledger, ...]]:
    from memstone.compose import ledger_of
    from memstone.config import Settings
    from memstone.drive import drive
    from memstone.registry import load_adapter

    _require_store(places[0])
    io = load_adapter("io", "blocking")()
    ledgers = tuple(
        ledger_of(Settings.of({"store": {"url": store_url(place), "encryption_key": key}}), io)
        for place, key in zip(places, keys, strict=True)
    )
    try:
        yield ledgers
    finally:
        for ledger in ledgers:
            drive(ledger.close())
        drive(io.close())


def _require_store(source: str) -> None:
    """Require that the store is there: opening a file that is not there would make it."""
    url = store_url(source)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NotFoundError(f"there is no store at {source}", hint="FROM is the store to read, TO the store to write")


COPY_COMMANDS: Final = (copy,)


# --- ``migrate`` ------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--grant", metavar="ROLE", multiple=True, help="Give this database role access.")
@click.option("--index-vectors", is_flag=True, help="On PostgreSQL: build HNSW indexes for users with many memories.")
@click.option("--halfvec", is_flag=True, help="Build them with 16-bit vectors, at half the size.")
@for_store
def migrate(arguments: Arguments, *, grant: tuple[str, ...], index_vectors: bool, halfvec: bool) -> int:
    """Update the store's schema.

    An SQLite file is updated whenever it is opened. On PostgreSQL, run this as the role that will own the tables. The
    application then connects as another role: use --grant to give it access. Row-level security applies to that role.
    """
    if halfvec and not index_vectors:
        raise UsageError("--halfvec needs --index-vectors", hint="--halfvec sets how indexes are built")
    answer = _migrate_ledger(arguments, grant, index=index_vectors, half=halfvec)
    if not arguments.print_json(answer):
        done = (
            f"from {answer['before']} to {answer['schema']}" if answer["before"] != answer["schema"] else "up to date"
        )
        print_line(f"schema {done}: {answer['location']}" + "".join(f", {role} has access" for role in grant))
        for one in answer.get("indexes", ()):
            print_line(f"{one['signature']}: " + ("index built" if one["built"] else "indexed before"))
    return OK


def _migrate_ledger(arguments: Arguments, grant: tuple[str, ...], *, index: bool, half: bool) -> dict[str, Any]:
    from memstone.compose import ledger_of
    from memstone.drive import drive
    from memstone.registry import load_adapter

    io = load_adapter("io", "blocking")()
    ledger = ledger_of(arguments.settings(), io)
    try:
        answer: dict[str, Any] = drive(ledger.migrate(grant))
        if index:
            answer["indexes"] = _index_vectors(ledger, half=half, hidden=arguments.json)
    finally:
        drive(ledger.close())
        drive(io.close())
    return answer


def _index_vectors(ledger: Any, *, half: bool, hidden: bool) -> list[dict[str, Any]]:
    from memstone.drive import drive
    from memstone.errors import ConfigError

    if not hasattr(ledger, "index_vectors"):
        raise ConfigError(
            "--index-vectors is only for PostgreSQL",
            hint="an SQLite file needs no index: its vectors are kept in memory",
        )
    progress = Progress("indexing", hidden=hidden)
    try:
        found: list[dict[str, Any]] = drive(ledger.index_vectors(half=half, progress=progress))
    finally:
        progress.finish()
    return found


MIGRATE_COMMANDS: Final = (migrate,)


# --- ``adopt`` --------------------------------------------------------------------------------------------------------


@click.command()
@for_store
def adopt(arguments: Arguments) -> int:
    """Take over the store of an installation called Retain.

    The store moves from ~/.retain/retain.db, with the copies beside it, to where Memstone expects it, and is updated.
    Stop every program that uses it first. Use --db to move it to another file.
    """
    from memstone.config import DEFAULT_PATH, FORMER_PATH, Settings
    from memstone.memory import Memory
    from memstone.registry import load_adapter

    target = Path(arguments.db or DEFAULT_PATH).expanduser().absolute()
    moved: list[Path] = load_adapter("move", "sqlite")(FORMER_PATH.expanduser(), target)
    with Memory(Settings.of({"store": {"url": f"sqlite:///{target}"}})) as memory:
        answer: dict[str, Any] = {"moved": [str(path) for path in moved], "memories": memory.stats()["memories"]}
    if not arguments.print_json(answer):
        print_line(f"moved to {target}: {answer['memories']:,} memories")
    return OK


ADOPT_COMMANDS: Final = (adopt,)
