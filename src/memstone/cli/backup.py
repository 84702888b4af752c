"""``backup`` and ``restore``: the whole store as one file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.asking import agreed
from memstone.cli.fail import NOTHING, OK
from memstone.cli.given import Given, for_store
from memstone.cli.output import Progress, day_time, note, say
from memstone.errors import Corrupted

if TYPE_CHECKING:
    from memstone.memory import Memory


@click.command()
@click.argument("file", type=click.Path())
@click.option("--verify", is_flag=True, help="Check the backup FILE instead of making one.")
@for_store
def backup(given: Given, file: str, *, verify: bool) -> int:
    """Copy the whole store into FILE while it is in use.

    FILE is one archive with a manifest: the schema, the rows of every table and SHA-256 sums. It appears when it is
    complete. An older backup of that name is replaced; if FILE is a folder, the backup gets a name of its own in it.
    `memstone restore` puts it back.
    """
    progress = Progress("checking" if verify else "copying")
    with given.memory() as memory:
        try:
            answer = memory.verify_backup(file) if verify else memory.backup(file, progress=progress)
        finally:
            progress.finish()
    if not given.answered(answer):
        say(f"{'the backup is whole' if verify else 'written to ' + answer['path']}: {_counted(answer)}")
    return OK


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@for_store
def restore(given: Given, file: str, *, yes: bool) -> int:
    """Put the backup FILE in the place of the whole store.

    FILE is checked first. Then it replaces what is there in one step, also for programs that have the store open. What
    was erased after the backup was made is erased again.
    """
    with given.memory(create=True, damaged=True) as memory:
        if not (yes or _agreed(given, memory)):
            note("nothing was restored")
            return NOTHING
        progress = Progress("restoring")
        try:
            answer = memory.restore_backup(file, progress=progress)
        finally:
            progress.finish()
    if not given.answered(answer):
        say(f"restored as of {day_time(answer['created_at'])}: {_counted(answer)}")
        if answer["erased_again"]:
            note(f"{answer['erased_again']:,} erasures that came later were carried out again", "note")
    return OK


def _agreed(given: Given, memory: Memory) -> bool:
    try:
        memories = f"{memory.stats()['memories']:,} memories that are"
    except Corrupted:
        memories = "damaged store that is"
    return memories.startswith("0 ") or agreed(given, f"Replace the {memories} there?", without="restores")


def _counted(answer: dict[str, Any]) -> str:
    rows, size = answer["tables"], sum(file["bytes"] for file in answer["files"].values())
    return f"{rows['memories']:,} versions, {rows['events']:,} events, {size:,} bytes"


COMMANDS: Final = (backup, restore)
