"""``migrate``."""

from __future__ import annotations

from typing import Any, Final

import click

from memstone.cli.fail import OK
from memstone.cli.given import Given, for_store
from memstone.cli.output import Progress, say
from memstone.errors import UsageError


@click.command()
@click.option("--grant", metavar="ROLE", multiple=True, help="Let a role of the database run the product.")
@click.option("--index-vectors", is_flag=True, help="On PostgreSQL: build HNSW indexes for users with many memories.")
@click.option("--halfvec", is_flag=True, help="Build them in 16 bits, half as large.")
@for_store
def migrate(given: Given, *, grant: tuple[str, ...], index_vectors: bool, halfvec: bool) -> int:
    """Bring the store's schema up to date.

    A file is brought up to date whenever it is opened. On PostgreSQL, run this as the role that is to own the tables:
    the product then works as another one, which --grant lets in and which row-level security binds.
    """
    if halfvec and not index_vectors:
        raise UsageError("--halfvec says how indexes are built", hint="--index-vectors builds them")
    answer = _migrated(given, grant, index=index_vectors, half=halfvec)
    if not given.answered(answer):
        done = (
            f"from {answer['before']} to {answer['schema']}" if answer["before"] != answer["schema"] else "up to date"
        )
        say(f"schema {done}: {answer['location']}" + "".join(f", {role} may use it" for role in grant))
        for one in answer.get("indexes", ()):
            say(f"{one['signature']}: " + ("index built" if one["built"] else "indexed before"))
    return OK


def _migrated(given: Given, grant: tuple[str, ...], *, index: bool, half: bool) -> dict[str, Any]:
    from memstone.compose import ledger_of
    from memstone.drive import drive
    from memstone.registry import adapter

    io = adapter("io", "blocking")()
    ledger = ledger_of(given.settings(), io)
    try:
        answer: dict[str, Any] = drive(ledger.migrate(grant))
        if index:
            answer["indexes"] = _indexed(ledger, half=half, hidden=given.json)
    finally:
        drive(ledger.close())
        drive(io.close())
    return answer


def _indexed(ledger: Any, *, half: bool, hidden: bool) -> list[dict[str, Any]]:
    from memstone.drive import drive
    from memstone.errors import ConfigError

    if not hasattr(ledger, "index_vectors"):
        raise ConfigError("--index-vectors is for PostgreSQL", hint="a file needs none: vectors are held in memory")
    progress = Progress("indexing", hidden=hidden)
    try:
        found: list[dict[str, Any]] = drive(ledger.index_vectors(half=half, progress=progress))
    finally:
        progress.finish()
    return found


COMMANDS: Final = (migrate,)
