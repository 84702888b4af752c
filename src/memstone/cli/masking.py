"""``redact``: secrets that lie in the store."""

from __future__ import annotations

from typing import Any, Final

import click

from memstone.cli.asking import agreed
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.given import Given, for_store
from memstone.cli.output import Progress, note, say, show
from memstone.cli.table import Column, Table


@click.command()
@click.option("--apply", "applied", is_flag=True, help="Mask what is found; without it, it is only counted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@for_store
def redact(given: Given, *, applied: bool, yes: bool) -> int:
    """Look for secrets in what is stored, and mask them.

    Credentials and card numbers are masked before something is stored. This is for what was stored before, or while
    extract.redact said something else. Every version, the history and the inbox are looked through. What is masked
    cannot be brought back; backups and exports are not changed.
    """
    with given.memory() as memory:
        if applied and not (yes or agreed(given, "Mask every secret that is found, for good?", without="masks")):
            note("nothing was masked")
            return NOTHING
        progress = Progress("masking" if applied else "looking")
        try:
            answer = memory.redact(progress, dry_run=not applied)
        finally:
            progress.finish()
    if not given.answered(answer):
        _show(answer)
    return FAILED if answer.get("degraded") else OK


def _show(answer: dict[str, Any]) -> None:
    if answer["found"]:
        table = Table([Column("KIND", grows=True), Column("ROWS", right=True)])
        for kind, count in sorted(answer["by_kind"].items()):
            table.add(kind, f"{count:,}")
        show(table)
    done = "hold a secret" if answer["dry_run"] else "held a secret and are masked"
    say(f"{answer['found']:,} of {answer['scanned']:,} rows {done}")
    if answer["found"] and answer["dry_run"]:
        note("hint: --apply masks them", "note")
    for one in answer.get("degraded", ()):
        note(f"error: masked, but without vectors: {one['message']}", "bad")
        note("hint: `memstone reindex` makes them", "note")


COMMANDS: Final = (redact,)
