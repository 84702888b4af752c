"""``export`` and ``import``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from retain.cli.fail import FAILED, NOTHING, OK
from retain.cli.given import Given, for_scope
from retain.cli.lines import ARRAY_HINT, Item, Line, Tally, exported_items, items, read_lines, records
from retain.cli.output import Progress, is_terminal, note, say
from retain.errors import UsageError

if TYPE_CHECKING:
    from retain.memory import Memory

_AT_ONCE: Final = 200
_RESTORE_HINT: Final = (
    "--restore puts it back as it was, with ids and history; --as-new takes what its live memories say as new ones"
)


@click.command()
@click.option("--output", "-o", metavar="FILE", type=click.Path(dir_okay=False), help="Write there, not to the screen.")
@for_scope
def export(given: Given, *, output: str | None) -> int:
    """Write everything as JSON lines.

    Every version, link and event: a backup, or all that is known about somebody. Without --user, --agent and --run it
    is everything. `retain import --restore` puts it back.
    """
    counts = {"memory": 0, "event": 0}
    with given.memory() as memory, _written(output) as file:
        progress = Progress("exporting", hidden=output is None and is_terminal(sys.stdout))
        for number, record in enumerate(memory.export(**given.scope()), start=1):
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
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--restore", is_flag=True, help="FILE is an export of Retain: put it back, ids and history included.")
@click.option("--as-new", is_flag=True, help="FILE is an export of Retain: take what it says as new memories.")
@for_scope
def import_(given: Given, file: str, *, restore: bool, as_new: bool) -> int:
    """Remember what the JSON lines of FILE say.

    FILE may be `-` for standard input.

    A line is an object with text (or memory, or content) and, if you like, user_id, agent_id, run_id, metadata,
    occurred_at (or created_at), name (or speaker), role, kind, key and expires_at. --user, --agent and --run stand in
    where a line names nobody. What is known already is not stored twice, so an import may be run again.
    """
    if restore and (as_new or any(given.scope().values())):
        raise click.UsageError("--restore puts everything back where it was; it goes with no other choice")
    with _opened(file) as stream:
        progress = Progress("importing")
        size = 0 if file == "-" else Path(file).stat().st_size
        lines = read_lines(stream, lambda done: progress(done, size))
        first = next(lines, None)
        everything = chain([first] if first else [], lines)
        try:
            exported = _is_export(first, wanted=restore or as_new)
            if restore:
                return _restore(given, everything, progress)
            return _take_in(given, everything, progress, exported=exported)
        finally:
            progress.finish()


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as stream:
            yield stream


def _is_export(first: Line | None, *, wanted: bool) -> bool:
    """Whether it is an export of Retain, and that is what the caller says it is."""
    exported = first is not None and first.value.get("format") == "retain-export"
    if exported and not wanted:
        raise UsageError("this file is an export of Retain", hint=_RESTORE_HINT)
    if wanted and not exported:
        raise UsageError("this file is not an export of Retain", hint="leave --restore and --as-new out")
    if first is not None and first.error is not None and first.error.hint == ARRAY_HINT:
        raise UsageError("the file does not hold one JSON object per line", hint=ARRAY_HINT)
    return exported


def _restore(given: Given, lines: Iterable[Line], progress: Progress) -> int:
    with given.memory(create=True) as memory:
        counts = memory.load(records(lines))
    progress.finish()
    if not given.answered(counts):
        known = counts["already_there"]
        say(f"{counts['memories']:,} versions and {counts['events']:,} events restored, {known:,} were there already")
    return OK


def _take_in(given: Given, lines: Iterable[Line], progress: Progress, *, exported: bool) -> int:
    tally = Tally()
    wanted = (exported_items if exported else items)(lines, given.scope(), tally)
    at_once = min(_AT_ONCE, given.settings().limits.batch)
    with given.memory(create=True) as memory:
        while batch := list(islice(wanted, at_once)):
            _store(memory, batch, tally)
    progress.finish()
    if not given.answered(tally.as_dict()):
        _show_tally(tally)
    return _code(tally)


def _store(memory: Memory, batch: list[Item], tally: Tally) -> None:
    for item, answer in zip(batch, memory.add_many([item.call for item in batch])["results"], strict=True):
        tally.count(item, answer)


def _code(tally: Tally) -> int:
    if tally.failed or not (tally.added or tally.updated or tally.already_known or tally.deferred):
        return NOTHING
    return FAILED if tally.deferred else OK


def _show_tally(tally: Tally) -> None:
    for one in tally.as_dict()["errors"]:
        note(f"line {one['line']}: {one['message']}" + (f" ({one['hint']})" if one["hint"] else ""), "bad")
    if tally.failed > len(tally.errors):
        note(f"and {tally.failed - len(tally.errors):,} more lines", "bad")
    if tally.ignored_fields:
        named = ", ".join(f"{name} ({count:,})" for name, count in sorted(tally.ignored_fields.items()))
        note(f"fields that were not taken along: {named}", "warn")
    if tally.deferred:
        note("hint: `retain flush` tries again what could not be embedded", "note")
    say(_summary(tally))


def _summary(tally: Tally) -> str:
    counted: tuple[tuple[int, str], ...] = (
        (tally.updated, "updated"),
        (tally.already_known, "already known"),
        (tally.deferred, "kept for later"),
        (tally.failed, "failed"),
    )
    return ", ".join([f"{tally.added:,} added", *(f"{count:,} {name}" for count, name in counted if count)])


COMMANDS: Final[tuple[Any, ...]] = (export, import_)
