"""``migrate``."""

from __future__ import annotations

from typing import Any, Final

import click

from retain.cli.fail import OK
from retain.cli.given import Given, for_store
from retain.cli.output import say


@click.command()
@click.option("--grant", metavar="ROLE", multiple=True, help="Let a role of the database run the product.")
@for_store
def migrate(given: Given, *, grant: tuple[str, ...]) -> int:
    """Bring the store's schema up to date.

    A file is brought up to date whenever it is opened. On PostgreSQL, run this as the role that is to own the tables:
    the product then works as another one, which --grant lets in and which row-level security binds.
    """
    answer = _migrated(given, grant)
    if not given.answered(answer):
        done = (
            f"from {answer['before']} to {answer['schema']}" if answer["before"] != answer["schema"] else "up to date"
        )
        say(f"schema {done}: {answer['location']}" + "".join(f", {role} may use it" for role in grant))
    return OK


def _migrated(given: Given, grant: tuple[str, ...]) -> dict[str, Any]:
    from retain.compose import ledger_of
    from retain.drive import drive
    from retain.registry import adapter

    io = adapter("io", "blocking")()
    ledger = ledger_of(given.settings(), io)
    try:
        answer: dict[str, Any] = drive(ledger.migrate(grant))
    finally:
        drive(ledger.close())
        drive(io.close())
    return answer


COMMANDS: Final = (migrate,)
