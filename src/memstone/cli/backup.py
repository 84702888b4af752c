"""``backup`` and ``restore``: write the whole store to one file, and read it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from memstone.cli.arguments import Arguments, ask_confirmation, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import Progress, day_time, print_line, print_note
from memstone.errors import Corrupted

if TYPE_CHECKING:
    from memstone.memory import Memory
    from memstone.results import BackupManifest, BackupRemainder

_FOREIGN: Final = "Restore a backup that this store did not sign, without its keys, accounts and secrets."
_KEY_FILE: Final = "Your copy of the key that signed the backup; it becomes the key of this store."
_VERIFIED: Final = {
    "ours": "the backup is complete and signed with the key of this store",
    "foreign": "the backup is complete but foreign: it is not signed with the key of this store",
}


@click.command()
@click.argument("file", type=click.Path())
@click.option("--verify", is_flag=True, help="Check the backup FILE instead of creating one.")
@for_store
def backup(arguments: Arguments, file: str, *, verify: bool) -> int:
    """Copy the whole store into FILE while it is in use.

    FILE is one archive with a manifest (schema, row counts of every table, SHA-256 checksums), signed with the store's
    key. FILE appears only when it is complete, and replaces an older backup of the same name. If FILE is a folder,
    Memstone picks a name in it. To put a backup back, use `memstone restore`. Keep a copy of the key separate from the
    backups: on another machine, you need it to restore keys and accounts.
    """
    return _verify_file(arguments, file) if verify else _write_file(arguments, file)


def _verify_file(arguments: Arguments, file: str) -> int:
    progress = Progress("checking")
    with arguments.memory() as memory:
        try:
            answer = memory.admin.backups.verify(file)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        print_line(f"{_VERIFIED[answer['origin']]}: {_format_counts(answer)}")
    return OK


def _write_file(arguments: Arguments, file: str) -> int:
    progress = Progress("copying")
    with arguments.memory() as memory:
        try:
            answer = memory.admin.backups.create(file, progress=progress)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        print_line(f"written to {answer['path']}: {_format_counts(answer)}")
        if answer["key_place"]:
            print_note(f"signed with the key in {answer['key_place']}: keep a copy of it elsewhere", "dim")
    return OK


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--foreign", is_flag=True, help=_FOREIGN)
@click.option("--key-file", type=click.Path(exists=True, dir_okay=False), help=_KEY_FILE)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_store
def restore(arguments: Arguments, file: str, *, foreign: bool, key_file: str | None, yes: bool) -> int:
    """Replace the whole store with the backup FILE.

    Memstone checks FILE first, then replaces the store in one step, also for programs that have it open. Anything that
    was erased after the backup was made is erased again.

    A backup that was not signed with the key of this store is refused. On a new machine, use --key-file to give your
    copy of the key. Use --foreign to restore a backup without its keys, accounts, sessions and secrets, and without
    anything that does not belong in a store, such as triggers.
    """
    if key_file is not None:
        from memstone.compose import adopt_store_key

        adopt_store_key(arguments.settings(), Path(key_file))
    with arguments.memory(create=True, damaged=True) as memory:
        if not (yes or _confirm_restore(arguments, memory)):
            print_note("nothing was restored")
            return NOTHING
        progress = Progress("restoring")
        try:
            answer = memory.admin.backups.restore(file, foreign=foreign, progress=progress)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        print_line(f"restored as of {day_time(answer['created_at'])}: {_format_counts(answer)}")
        if answer["erased_again"]:
            print_note(f"{answer['erased_again']:,} later erasures were applied again", "note")
        for left_out in _left_out(answer["left_out"]) if "left_out" in answer else ():
            print_note(f"left out: {left_out}", "note")
    return OK


def _left_out(backup_remainder: BackupRemainder) -> list[str]:
    return [
        *backup_remainder.get("objects", ()),
        *(f"{count:,} rows of {table}" for table, count in backup_remainder.get("rows", {}).items()),
    ]


def _confirm_restore(arguments: Arguments, memory: Memory) -> bool:
    try:
        memories = f"{memory.stats()['memories']:,} memories"
    except Corrupted:
        memories = "damaged store"
    return memories.startswith("0 ") or ask_confirmation(
        arguments, f"Replace the existing {memories}?", without="restore"
    )


def _format_counts(answer: BackupManifest) -> str:
    rows, size = answer["tables"], sum(file["bytes"] for file in answer["files"].values())
    return f"{rows['memories']:,} versions, {rows['events']:,} events, {size:,} bytes"


COMMANDS: Final = (backup, restore)
