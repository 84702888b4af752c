"""``import``: read exports of other systems, lists of facts, and exports of Memstone."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from memstone.cli.arguments import Arguments, for_scope
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.program import program_in_shell, store_options
from memstone.cli.terminal import Progress, is_terminal, print_line, print_note
from memstone.cli.transcripts import (
    ARRAY_HINT,
    InputLine,
    LineCounts,
    TranscriptCall,
    exported_items,
    items_from_lines,
    read_export_records,
    read_lines,
)
from memstone.core.importers import AUTO, FACTS, FORMATS, detect_format, unwrap_list
from memstone.errors import InvalidInput, UsageError
from memstone.model.former_name import formats_of

if TYPE_CHECKING:
    from memstone.memory import Memory
    from memstone.results import ImportResult


# --- whether a file is what another system exported, or a list of facts that is read line by line ---------------------


_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06", b"SQLite format 3\0")
_NOTES: Final = (".md", ".markdown")
_HEAD: Final = 65_536


def is_foreign(file: str) -> bool:
    """Return whether a file is anything but a list of facts; standard input is read once, so it is a list."""
    if file == "-":
        return False
    path = Path(file)
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if head.startswith(_MAGIC) or path.suffix.lower() in _NOTES:
        return True
    found = _read_document(path, head)
    return found is not None and detect_format(unwrap_list(found)) not in (None, FACTS)


def read_array_objects(file: str) -> Iterator[InputLine] | None:
    """Return the objects of a JSON array as if each stood on a line; None when the file is no array."""
    if file == "-":
        return None
    path = Path(file)
    with path.open("rb") as stream:
        found = _read_document(path, stream.read(_HEAD))
    items = unwrap_list(found) if found is not None else None
    return None if items is None else iter([_make_line(at, one) for at, one in enumerate(items, start=1)])


def _make_line(number: int, value: Any) -> InputLine:
    if isinstance(value, dict):
        return InputLine(number, value)
    return InputLine(number, {}, InvalidInput(f"expected an object, not {type(value).__name__}", hint=ARRAY_HINT))


def _read_document(path: Path, head: bytes) -> Any:
    """Return the one JSON document a file is; None when it is lines, or no JSON at all."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = _parse_json(start.partition(b"\n")[0])
    if not start.startswith((b"[", b"{")) or (isinstance(first, dict) and _is_row(first)):
        return None
    return _parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))


def _is_row(first: Mapping[str, Any]) -> bool:
    """Return whether the object on the first line is one of many, and not what holds them all."""
    return unwrap_list(first) == [first] and detect_format([first]) not in ("chatgpt", "claude")


def _parse_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


# --- ``import`` -------------------------------------------------------------------------------------------------------


_AT_ONCE: Final = 200
_RESTORE_HINT: Final = (
    "use --restore to put it back as it was, with ids and history, or --as-new to add its active facts as new memories"
)


_FORMAT: Final = "The format of FILE, if it is not recognised: " + ", ".join(FORMATS[1:]) + "."
_SPEAKS_FOR_USER: Final = "Whether the data is about --user and belongs to them; its facts then need no approval."
_RESTORE: Final = "FILE is a Memstone export: restore it with ids and history."
_AS_NEW: Final = "FILE is a Memstone export: add its active facts as new memories."


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--restore", is_flag=True, help=_RESTORE)
@click.option("--as-new", is_flag=True, help=_AS_NEW)
@click.option("--format", "format_", type=click.Choice(FORMATS), default=AUTO, metavar="NAME", help=_FORMAT)
@click.option("--mine/--not-mine", "speaks_for_user", default=None, help=_SPEAKS_FOR_USER)
@click.option("--from-user", metavar="ID", help="Import only this user's memories from FILE.")
@click.option(
    "--learn/--no-learn",
    default=True,
    help="Queue conversations, so that the next `memstone flush --everybody` learns from them.",
)
@for_scope
def import_(
    arguments: Arguments,
    file: str,
    *,
    restore: bool,
    as_new: bool,
    format_: str,
    speaks_for_user: bool | None,
    from_user: str | None,
    learn: bool,
) -> int:
    """Import memories or conversations from FILE.

    FILE may be `-` for standard input. It can be a list of facts, as JSON lines or a JSON array. Each fact is an object
    with text (or memory, or content) and optionally user_id, agent_id, run_id, metadata, occurred_at (or created_at),
    name (or speaker), role, kind, key and expires_at. --user, --agent and --run apply to lines that name nobody.

    FILE can also be an export of another system: a ChatGPT or Claude archive or its conversations.json, memories from
    mem0, Open WebUI or a gateway, notes in Markdown, or the database of an older companion or gateway. Conversations
    become turns. On a terminal, Memstone asks whether the data is yours. If it is not, or nobody answers, facts wait in
    quarantine until someone approves them; `memstone approve --all` releases them, and so does a second import with
    --mine.

    You can run an import again: known memories are not stored twice, and deleted ones stay deleted.
    """
    if restore and (as_new or any(arguments.scope().values())):
        raise click.UsageError("--restore puts everything back where it was and cannot be combined with other options")
    asked = format_ != AUTO or speaks_for_user is not None or from_user is not None
    if asked and (restore or as_new):
        raise click.UsageError("a Memstone export does not take --format, --mine or --from-user")
    if asked or (not (restore or as_new) and is_foreign(file)):
        trusted = _ask_ownership(arguments) if speaks_for_user is None else speaks_for_user
        how = {"format": format_, "trusted": trusted, "from_user": from_user, "learn": learn}
        return _import_foreign(arguments, file, how)
    return _import_lines(arguments, file, restore=restore, as_new=as_new)


def _import_lines(arguments: Arguments, file: str, *, restore: bool, as_new: bool) -> int:
    with _open_lines(arguments, file) as stream:
        progress = Progress("importing")
        size = 0 if file == "-" else Path(file).stat().st_size
        lines = read_array_objects(file) or read_lines(stream, lambda done: progress(done, size))
        first = next(lines, None)
        everything = chain([first] if first else [], lines)
        try:
            exported = _is_export(first, wanted=restore or as_new)
            if restore:
                return _restore_export(arguments, everything, progress)
            return _take_in(arguments, everything, progress, exported=exported)
        finally:
            progress.finish()


# --- what other systems exported --------------------------------------------------------------------------------------


def _ask_ownership(arguments: Arguments) -> bool:
    """Ask a person at a terminal whether the data is the user's own; without one it is not taken to be."""
    if arguments.json or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    who = f"the user {arguments.user}" if arguments.user else "the users it names"
    print_note(f"Facts in this file are used at once if they come from {who}; otherwise someone has to approve them.")
    return click.confirm(f"Is this {'your' if arguments.user else 'their'} own data?", default=False, err=True)


def _import_foreign(arguments: Arguments, file: str, how: dict[str, Any]) -> int:
    progress = Progress("importing")
    with arguments.memory(create=True) as memory, _open_input(file) as stream:
        try:
            source = stream if file == "-" else file
            answer = memory.admin.import_from(source, **arguments.scope(), **how, progress=progress)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        _show_foreign(answer, arguments)
    if answer.get("degraded"):
        return FAILED
    return OK if answer["stored"] or answer["known"] or answer["approved"] else NOTHING


def _show_foreign(answer: ImportResult, arguments: Arguments) -> None:
    for warning in answer.get("warnings", ()):
        print_note(f"warning: {warning}", "warn")
    for one in answer.get("degraded", ()):
        print_note(f"error: stored, but not all of it has vectors: {one['message']}", "bad")
    left_out = ", ".join(f"{reason} ({count:,})" for reason, count in answer["skipped"].items())
    if left_out:
        print_note(f"left out: {left_out}", "warn")
    if answer.get("reason"):
        print_note(f"nothing was stored: {answer['reason']}", "bad")
    kinds = {"turns": answer["turns"], "facts": answer["facts"], "episodes": answer["episodes"]}
    counted = [f"{count:,} {name}" for name, count in kinds.items() if count]
    counted += [f"{answer['identity']:,} about who the user is"] if answer["identity"] else []
    stored = " and ".join(filter(None, (", ".join(counted[:-1]), *counted[-1:]))) or "nothing"
    more = (
        (answer["quarantined"], "of them waiting for approval"),
        (answer["approved"], "approved that waited from an earlier import"),
        (answer["known"], "already known"),
    )
    rest = [f"{count:,} {words}" for count, words in more if count]
    print_line(", ".join([f"{answer['format']}: {stored} stored", *rest]))
    if answer["queued"]:
        flush = _format_command(arguments, "flush", "--everybody")
        print_note(f"hint: run `{flush}` to learn from the conversations", "note")
    if answer["quarantined"]:
        scope = _scope_options(arguments)
        look = _format_command(arguments, "inspect", "--status", "quarantined", *scope)
        approve = _format_command(arguments, "approve", "--all", *scope)
        print_note(f"hint: see them with `{look}`", "note")
        print_note(f"hint: is the data yours? then run this again with --mine, or `{approve}`", "note")


def _scope_options(arguments: Arguments) -> list[str]:
    named = (("--user", arguments.user), ("--agent", arguments.agent), ("--run", arguments.run))
    return [word for name, value in named if value for word in (name, value)] or ["--everybody"]


def _format_command(arguments: Arguments, *words: str) -> str:
    """Return a command over the same store, as a person types it here."""
    return f"{program_in_shell()} {shlex.join([*words, *store_options(arguments)])}"


@contextmanager
def _open_lines(arguments: Arguments, file: str) -> Iterator[BinaryIO]:
    """Open a file of lines, decrypted if it is an export of an encrypted store."""
    from memstone.compose import encrypted_files_of
    from memstone.registry import load_adapter

    with _open_input(file) as stream:
        if file == "-":
            yield stream
            return
        yield encrypted_files_of(arguments.settings(), load_adapter("io", "blocking")()).open_reader(stream, file)


@contextmanager
def _open_input(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as stream:
            yield stream


def _is_export(first: InputLine | None, *, wanted: bool) -> bool:
    """Return whether it is an export of Memstone, and that is what the caller says it is."""
    exported = first is not None and first.value.get("format") in formats_of("export")
    if exported and not wanted:
        raise UsageError("this file is a Memstone export", hint=_RESTORE_HINT)
    if wanted and not exported:
        raise UsageError("this file is not a Memstone export", hint="leave out --restore and --as-new")
    if first is not None and first.error is not None and first.error.hint == ARRAY_HINT:
        raise UsageError("the file does not contain one JSON object per line", hint=ARRAY_HINT)
    return exported


def _restore_export(arguments: Arguments, lines: Iterable[InputLine], progress: Progress) -> int:
    with arguments.memory(create=True) as memory:
        counts = memory.load(read_export_records(lines))
    progress.finish()
    if not arguments.print_json(counts):
        known = counts["already_there"]
        print_line(
            f"{counts['memories']:,} versions and {counts['events']:,} events restored, {known:,} already existed"
        )
    return OK


def _take_in(arguments: Arguments, lines: Iterable[InputLine], progress: Progress, *, exported: bool) -> int:
    tally = LineCounts()
    wanted = (exported_items if exported else items_from_lines)(lines, arguments.scope(), tally)
    at_once = min(_AT_ONCE, arguments.settings().limits.batch)
    with arguments.memory(create=True) as memory:
        while batch := list(islice(wanted, at_once)):
            _store_batch(memory, batch, tally)
    progress.finish()
    if not arguments.print_json(tally.as_dict()):
        _show_tally(tally)
    return _exit_code(tally)


def _store_batch(memory: Memory, batch: list[TranscriptCall], tally: LineCounts) -> None:
    for item, answer in zip(batch, memory.add_many([item.call for item in batch])["results"], strict=True):
        tally.count(item, answer)


def _exit_code(tally: LineCounts) -> int:
    if tally.failed or not (tally.added or tally.updated or tally.already_known or tally.deferred):
        return NOTHING
    return FAILED if tally.deferred else OK


def _show_tally(tally: LineCounts) -> None:
    for one in tally.as_dict()["errors"]:
        print_note(f"line {one['line']}: {one['message']}" + (f" ({one['hint']})" if one["hint"] else ""), "bad")
    if tally.failed > len(tally.errors):
        print_note(f"and {tally.failed - len(tally.errors):,} more lines", "bad")
    if tally.ignored_fields:
        named = ", ".join(f"{name} ({count:,})" for name, count in sorted(tally.ignored_fields.items()))
        print_note(f"ignored fields: {named}", "warn")
    if tally.own_scope:
        stand_in = "--user, --agent and --run apply only where it names nobody"
        print_note(f"{tally.own_scope:,} keep the user, agent and run that the file names: {stand_in}", "warn")
        print_note("hint: use `memstone reassign` to give memories to someone else", "note")
    if tally.deferred:
        print_note("hint: run `memstone flush --everybody` to retry what could not be embedded", "note")
    if tally.left_out:
        named = ", ".join(f"{name} ({count:,})" for name, count in sorted(tally.left_out.items()))
        print_note(f"skipped, because only active facts are added as new: {named}", "warn")
        print_note("hint: use --restore to put everything back", "note")
    print_line(_format_tally(tally))


def _format_tally(tally: LineCounts) -> str:
    counted: tuple[tuple[int, str], ...] = (
        (tally.updated, "updated"),
        (tally.already_known, "already known"),
        (tally.deferred, "kept for later"),
        (tally.failed, "failed"),
    )
    return ", ".join([f"{tally.added:,} added", *(f"{count:,} {name}" for count, name in counted if count)])


COMMANDS: Final = (import_,)
