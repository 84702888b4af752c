"""``ingest``: store transcripts of conversations."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import Arguments, for_scope
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.terminal import Progress, print_line, print_note
from memstone.errors import InvalidInput, MemstoneError

if TYPE_CHECKING:
    from memstone.results import IngestResult

# --- ``ingest`` -------------------------------------------------------------------------------------------------------


_LEARN: Final = "Queue it, so that the next `memstone flush --everybody` learns its facts."
_METADATA: Final = "Metadata for every turn; a value that is valid JSON is read as JSON. May be repeated."


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--metadata", "-m", "pairs", metavar="NAME=VALUE", multiple=True, help=_METADATA)
@click.option("--at", metavar="TIME", help="Time of turns that have none, in ISO 8601.")
@click.option("--expires", metavar="TIME", help="Time after which the turns are no longer shown.")
@click.option("--learn", is_flag=True, help=_LEARN)
@for_scope
def ingest(
    options: Arguments, file: str, *, pairs: Sequence[str], at: str | None, expires: str | None, learn: bool
) -> int:
    """Store the conversation in FILE as it is, turn by turn.

    FILE is a JSON list of messages or one message per line, and may be `-` for standard input. A message has content
    (or text) and optionally role, name (or speaker), timestamp (or occurred_at) and run_id. You can run it again: known
    turns are not stored twice. Nothing is learned yet; see --learn. Needs at least one of --user, --agent and --run.
    """
    turns = _read_messages(file)
    progress = Progress("storing")
    with options.memory(create=True) as memory:
        try:
            answer = memory.ingest(
                turns,
                **options.scope(),
                metadata=arguments.parse_metadata(pairs),
                occurred_at=at,
                expires_at=expires,
                learn=learn,
                progress=progress,
            )
        finally:
            progress.finish()
    if not options.print_json(answer):
        _show_ingest(answer)
    return _exit_code(answer)


def _read_messages(file: str) -> list[Any]:
    """Return the messages of a file: one list, or one message a line."""
    raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("the file is not UTF-8 text") from error
    if text.lstrip().startswith("["):
        return _parse_json_list(text)
    return [_parse_json_line(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _parse_json_list(text: str) -> list[Any]:
    try:
        turns: list[Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the file is not a JSON list: {error}") from error
    return turns


def _parse_json_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "expected a JSON list of messages, or one message per line; nothing was stored"
        raise InvalidInput(f"line {number} is not JSON: {error}", hint=hint) from error


def _show_ingest(answer: IngestResult) -> None:
    for warning in answer.get("warnings", ()):
        print_note(f"warning: {warning}", "warn")
    for one in answer.get("degraded", ()):
        print_note(f"error: stored, but not all of it has vectors: {one['message']}", "bad")
        print_note("hint: you can search for its words; run `memstone reindex` to build the vectors", "note")
    counted = (
        (answer["known"], "already known"),
        (answer["deleted"], "skipped because they were deleted"),
        (answer["masked"], "masked"),
        (answer["dropped"], "dropped"),
        (answer["skipped"], "not from a user or an assistant"),
    )
    named = [f"{count:,} {words}" for count, words in counted if count]
    print_line(", ".join([f"{answer['stored']:,} turns stored", *named]))
    if answer["queued"]:
        print_note("hint: run `memstone flush --everybody` to learn from them", "note")


def _exit_code(answer: IngestResult) -> int:
    if answer.get("degraded"):
        return FAILED
    return OK if answer["stored"] or answer["known"] or answer["queued"] else NOTHING


COMMANDS: Final = (ingest,)


# --- the lines of a file that is imported, and what each of them asks to remember -------------------------------------


MAX_LISTED_LINES: Final = 10
"""How many lines that went wrong are named."""
_TEXT: Final = ("text", "memory", "content")
_TEXT_HINT: Final = "put the text in text, memory or content; for conversations, use `memstone ingest`"
_TIME: Final = ("occurred_at", "created_at")
_NAME: Final = ("name", "speaker", "actor")
_AS_IS: Final = ("user_id", "agent_id", "run_id", "metadata", "kind", "key", "expires_at")
ARRAY_HINT: Final = "expected one object per line; convert an array with jq -c '.[]'"


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line: an object, or what is wrong with it."""

    number: int
    value: dict[str, Any]
    error: MemstoneError | None = None


@dataclass(frozen=True, slots=True)
class TranscriptCall:
    """A call of ``add`` that a line asks for."""

    number: int
    call: dict[str, Any]


@dataclass(slots=True)
class LineCounts:
    """What became of the lines."""

    added: int = 0
    updated: int = 0
    already_known: int = 0
    deferred: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    ignored_fields: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    """Memories of an export that are no facts, by layer, and facts that are not active, by status."""

    own_scope: int = 0
    """How many name somebody themselves, and not whom the command names."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        counts = {name: getattr(self, name) for name in ("added", "updated", "already_known", "deferred", "failed")}
        errors = sorted(self.errors, key=lambda one: int(one["line"]))
        left_out = {"left_out": dict(self.left_out)} if self.left_out else {}
        own_scope = {"own_scope": self.own_scope} if self.own_scope else {}
        return {**counts, **left_out, **own_scope, "errors": errors, "ignored_fields": dict(self.ignored_fields)}

    def fail(self, number: int, error: Mapping[str, Any]) -> None:
        """Count a line that went wrong, and keep the first of them."""
        self.failed += 1
        if len(self.errors) < MAX_LISTED_LINES:
            self.errors.append({"line": number, **error})

    def count(self, item: TranscriptCall, answer: Mapping[str, Any]) -> None:
        """Count what ``add_many`` says of an item."""
        if answer["status"] == "error":
            self.fail(item.number, answer["error"])
        elif answer.get("deferred"):
            self.deferred += 1
        elif not answer["results"]:
            refused = "; ".join(answer.get("warnings", ())) or "only messages from a user or an assistant are stored"
            self.fail(item.number, InvalidInput(refused).as_dict())
        else:
            self._event(answer["results"][0]["event"])

    def _event(self, event: str) -> None:
        if event == "ADD":
            self.added += 1
        elif event == "NONE":
            self.already_known += 1
        else:
            self.updated += 1


def read_lines(file: BinaryIO, progress: Callable[[int], None]) -> Iterator[InputLine]:
    """Yield every line that is not blank; ``progress`` is told how many bytes are read."""
    done = 0
    for number, raw in enumerate(file, start=1):
        done += len(raw)
        progress(done)
        if raw.strip():
            yield _lines_line(number, raw)


def _lines_line(number: int, raw: bytes) -> InputLine:
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return InputLine(number, {}, InvalidInput("not UTF-8 text"))
    except (ValueError, RecursionError) as error:
        hint = ARRAY_HINT if raw.lstrip().startswith(b"[") else None
        return InputLine(number, {}, InvalidInput(f"not JSON: {error}", hint=hint))
    if not isinstance(value, dict):
        return InputLine(number, {}, InvalidInput(f"expected an object, not {type(value).__name__}", hint=ARRAY_HINT))
    return InputLine(number, value)


def read_export_records(lines: Iterable[InputLine]) -> Iterator[dict[str, Any]]:
    """Yield the objects of an export; the first line that is none ends it, because a restore is complete or nothing."""
    for line in lines:
        if line.error:
            raise InvalidInput(f"line {line.number}: {line.error.message}", hint="the export is damaged at this line")
        yield line.value


def items_from_lines(
    lines: Iterable[InputLine], scope: Mapping[str, str | None], tally: LineCounts
) -> Iterator[TranscriptCall]:
    """Yield what plain lines ask to remember; the scope is in where a line names nobody."""
    for line in lines:
        if line.error:
            tally.fail(line.number, line.error.as_dict())
            continue
        rest = {name: value for name, value in line.value.items() if value is not None}
        call = _build_add_call(rest)
        tally.ignored_fields.update(rest.keys())
        if call["messages"]["content"] is None:
            tally.fail(line.number, InvalidInput("it has no text", hint=_TEXT_HINT).as_dict())
            continue
        yield TranscriptCall(line.number, _apply_scope(call, scope, tally))


def _build_add_call(rest: dict[str, Any]) -> dict[str, Any]:
    """Take what is understood out of a line."""
    message = {"role": rest.pop("role", "user"), "content": _pop_first(rest, _TEXT), "name": _pop_first(rest, _NAME)}
    call: dict[str, Any] = {name: rest.pop(name) for name in _AS_IS if name in rest}
    return {**call, "messages": message, "occurred_at": _pop_first(rest, _TIME), "infer": False}


def _pop_first(rest: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in rest:
            return rest.pop(name)
    return None


def exported_items(
    lines: Iterable[InputLine], scope: Mapping[str, str | None], tally: LineCounts
) -> Iterator[TranscriptCall]:
    """Yield what the live facts of an export say, each for everybody who saw it, as if it were said again.

    What was said word for word, episodes and who somebody is are no facts and would only look like some: they are
    counted, and so is what somebody has disabled or has not approved.
    """
    for line in lines:
        if line.error:
            tally.fail(line.number, line.error.as_dict())
        elif line.value.get("type") == "memory" and line.value.get("valid_to") is None:
            if reason := _why_not(line.value):
                tally.left_out[reason] += 1
                continue
            for link in line.value.get("links") or [{}]:
                yield TranscriptCall(line.number, _apply_scope(_exported_call(line.value, link), scope, tally))


def _why_not(value: Mapping[str, Any]) -> str:
    """Return what a memory that holds is, where it is not taken in; '' for an active fact."""
    layer, status = (str(value.get(name)) for name in ("layer", "status"))
    if layer != "fact":
        return layer
    return "" if status == "active" else status


def _exported_call(value: Mapping[str, Any], link: Mapping[str, Any]) -> dict[str, Any]:
    role = value.get("source_role") or "user"
    speaker = (value.get("data") or {}).get("speaker")
    stored = {name: value.get(name) for name in ("metadata", "kind", "key", "occurred_at", "expires_at")}
    who = {name: link.get(name) or None for name in ("user_id", "agent_id", "run_id")}
    message = {"role": role, "content": value.get("text"), "name": None if speaker == role else speaker}
    return {**stored, **who, "messages": message, "infer": False}


def _apply_scope(call: dict[str, Any], scope: Mapping[str, str | None], tally: LineCounts) -> dict[str, Any]:
    if all(call.get(name) is None for name in scope):
        return {**call, **scope}
    tally.own_scope += any(wanted is not None and call.get(name) != wanted for name, wanted in scope.items())
    return call
