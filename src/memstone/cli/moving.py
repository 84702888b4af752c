"""``export``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from memstone.cli.fail import NOTHING, OK
from memstone.cli.given import Given, for_scope_or_everybody
from memstone.cli.output import Progress, is_terminal, note, say


@click.command()
@click.option("--output", "-o", metavar="FILE", type=click.Path(dir_okay=False), help="Write there, not to the screen.")
@for_scope_or_everybody
def export(given: Given, *, output: str | None) -> int:
    """Write everything as JSON lines.

    Every version, link and event: all that is known about somebody, or with --everybody of all, as a backup.
    `memstone import --restore` puts it back.
    """
    counts = {"memory": 0, "event": 0}
    with given.memory(damaged=True) as memory, _written(output) as file:
        progress = Progress("exporting", hidden=output is None and is_terminal(sys.stdout))
        for number, record in enumerate(memory.export(**given.scope_or_everybody()), start=1):
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            counts[record["type"]] = counts.get(record["type"], 0) + 1
            progress(number)
        progress.finish()
    _say_exported(given, output, counts)
    return NOTHING if any(given.scope().values()) and not counts["memory"] else OK


def _say_exported(given: Given, output: str | None, counts: dict[str, int]) -> None:
    summary = {"output": output, "versions": counts["memory"], "events": counts["event"]}
    text = f"{summary['versions']:,} versions and {summary['events']:,} events exported"
    if output is None:
        note(text)
    elif not given.answered(summary):
        say(f"{text} to {output}")


@contextmanager
def _written(output: str | None) -> Iterator[BinaryIO]:
    """Where the export goes. A file takes the place of an older one only when it is complete."""
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
        with _private(part, path).open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _private(part: Path, path: Path) -> Path:
    """A new file that only its owner may read; what is wrong with it is said of the file that was asked for."""
    try:
        part.unlink(missing_ok=True)  # of an export that was cut off
        part.touch(0o600, exist_ok=False)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return part


COMMANDS: Final[tuple[Any, ...]] = (export,)
