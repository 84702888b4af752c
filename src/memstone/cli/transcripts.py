"""``ingest``: transcripts of conversations, as they are."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from memstone.cli import parse
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.given import Given, for_scope
from memstone.cli.output import Progress, note, say
from memstone.errors import InvalidInput

_LEARN: Final = "Let the next `memstone flush --everybody` learn the facts in it."
_METADATA: Final = "Something to keep with every turn; a value that reads as JSON is taken as that. May be repeated."


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--metadata", "-m", "pairs", metavar="NAME=VALUE", multiple=True, help=_METADATA)
@click.option("--at", metavar="TIME", help="When it was said, for turns that do not say so; in ISO 8601.")
@click.option("--expires", metavar="TIME", help="From when on the turns are no longer seen.")
@click.option("--learn", is_flag=True, help=_LEARN)
@for_scope
def ingest(given: Given, file: str, *, pairs: Sequence[str], at: str | None, expires: str | None, learn: bool) -> int:
    """Keep the conversation in FILE, turn by turn, as it is.

    FILE is a JSON list of messages, or one message a line, and may be `-` for standard input. A message has content (or
    text) and, if you like, role, name (or speaker), timestamp (or occurred_at) and run_id. What is known already is not
    stored twice, so it may be run again. Nothing is learned from it now. Needs at least one of --user, --agent and
    --run.
    """
    turns = _read(file)
    progress = Progress("storing")
    with given.memory(create=True) as memory:
        try:
            answer = memory.ingest(
                turns,
                **given.scope(),
                metadata=parse.metadata(pairs),
                occurred_at=at,
                expires_at=expires,
                learn=learn,
                progress=progress,
            )
        finally:
            progress.finish()
    if not given.answered(answer):
        _show(answer)
    return _code(answer)


def _read(file: str) -> list[Any]:
    """The messages of a file: one list, or one message a line."""
    raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("the file is not UTF-8 text") from error
    if text.lstrip().startswith("["):
        return _list(text)
    return [_line(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _list(text: str) -> list[Any]:
    try:
        turns: list[Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the file is not a JSON list: {error}") from error
    return turns


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "a JSON list of messages, or one message a line; nothing was stored"
        raise InvalidInput(f"line {number} is not JSON: {error}", hint=hint) from error


def _show(answer: dict[str, Any]) -> None:
    for warning in answer.get("warnings", ()):
        note(f"warning: {warning}", "warn")
    for one in answer.get("degraded", ()):
        note(f"error: stored, but not all of it has vectors: {one['message']}", "bad")
        note("hint: it is found by its words; `memstone reindex` makes the vectors", "note")
    counted = (
        ("known", "already known"),
        ("deleted", "left out because they were deleted"),
        ("masked", "masked"),
        ("dropped", "dropped"),
        ("skipped", "not by a person or an assistant"),
    )
    named = [f"{answer[name]:,} {words}" for name, words in counted if answer[name]]
    say(", ".join([f"{answer['stored']:,} turns stored", *named]))
    if answer["queued"]:
        note("hint: `memstone flush --everybody` learns from them", "note")


def _code(answer: dict[str, Any]) -> int:
    if answer.get("degraded"):
        return FAILED
    return OK if answer["stored"] or answer["known"] or answer["queued"] else NOTHING


COMMANDS: Final = (ingest,)
