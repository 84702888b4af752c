"""``copy``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.fail import OK
from memstone.cli.given import Given, for_store, store_url
from memstone.cli.output import Progress, say
from memstone.errors import NotFoundError

if TYPE_CHECKING:
    from memstone.ports.ledger import Ledger


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--tenant", metavar="ID", multiple=True, help="Copy only this tenant; may be given several times.")
@for_store
def copy(given: Given, source: str, target: str, *, tenant: tuple[str, ...]) -> int:
    """Copy a store into another one.

    FROM and TO are files or URLs, of SQLite or PostgreSQL. Everything is copied: versions, links, events, vectors,
    settings. Nobody should write meanwhile. A copy that broke off is run again and goes on where it stopped; in the end
    both are read once more and compared.
    """
    progress = Progress("copying")
    try:
        with _ledgers(source, target) as (old, new):
            answer = _copied(old, new, tenant, progress)
    finally:
        progress.finish()
    if not given.answered(answer):
        say(
            f"{answer['copied']:,} rows of {len(answer['tenants']):,} tenants copied; "
            f"both stores have the same {answer['rows']:,} rows in {len(answer['tables'])} tables"
        )
    return OK


def _copied(old: Ledger, new: Ledger, tenants: tuple[str, ...], progress: Progress) -> dict[str, Any]:
    from memstone.drive import drive
    from memstone.engine.moving.copying import copy as copied

    return drive(copied(old, new, tenants, progress))


@contextmanager
def _ledgers(*places: str) -> Iterator[tuple[Ledger, ...]]:
    from memstone.compose import ledger_of
    from memstone.config import Settings
    from memstone.drive import drive
    from memstone.registry import adapter

    _exists(places[0])
    io = adapter("io", "blocking")()
    ledgers = tuple(ledger_of(Settings.of({"store": {"url": store_url(place)}}), io) for place in places)
    try:
        yield ledgers
    finally:
        for ledger in ledgers:
            drive(ledger.close())
        drive(io.close())


def _exists(source: str) -> None:
    """Opening a file that is not there would make it."""
    url = store_url(source)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NotFoundError(f"there is no store at {source}", hint="FROM is the store that is read, TO the one written")


COMMANDS: Final = (copy,)
