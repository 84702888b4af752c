"""``add``, ``update``, ``delete``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import KINDS, Arguments, ask_confirmation, for_scope, for_store
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.read_commands import show_memory
from memstone.cli.short_ids import resolve_memory_id
from memstone.cli.terminal import Column, TextTable, event_style, print_line, print_note, print_table
from memstone.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from memstone.literals import CallerKind
    from memstone.results import AddResult, DeleteBatchResult, DeleteItem

_METADATA: Final = "Metadata to store with it; a value that is valid JSON is read as JSON. May be repeated."
_KEY: Final = "With --no-infer: a stable name. Adding with the same key replaces the text and keeps the id."
_INFER: Final = "Learn the facts in TEXT, or store TEXT itself as one memory. --verbatim means the same as --no-infer."
_HINTS: Final = {"resume() ends it": "use `memstone resume` to end it"}


@click.command()
@click.argument("text")
@click.option("--metadata", "-m", "pairs", metavar="NAME=VALUE", multiple=True, help=_METADATA)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="With --no-infer: the kind of knowledge. With --agent, `procedural` summarises.",
)
@click.option("--key", metavar="KEY", help=_KEY)
@click.option("--at", metavar="TIME", help="When it was said, in ISO 8601. Default: now.")
@click.option("--expires", metavar="TIME", help="Time after which it is no longer shown.")
@click.option(
    "--role", type=click.Choice(["user", "assistant"]), default="user", show_default=True, help="Who said it."
)
@click.option("--name", metavar="NAME", help="The speaker's name.")
@click.option("--infer/--no-infer", " /--verbatim", default=True, help=_INFER)
@for_scope
def add(
    options: Arguments,
    text: str,
    *,
    pairs: Sequence[str],
    kind: CallerKind | None,
    key: str | None,
    at: str | None,
    expires: str | None,
    role: str,
    name: str | None,
    infer: bool,
) -> int:
    """Learn from TEXT. Use `-` to read standard input.

    TEXT is stored as a turn, and Memstone adds, updates or deletes the facts it states. With --no-infer, TEXT is stored
    as it is, and only once per speaker. Needs at least one of --user, --agent and --run.
    """
    of_agent = kind == "procedural" and options.scope().get("agent_id") is not None
    if infer and ((kind and not of_agent) or key is not None):
        hint = "use --no-infer to store TEXT itself as one memory, or --agent and --kind procedural"
        raise UsageError("--kind and --key describe one memory, but learning may store several or none", hint=hint)
    message = {"role": role, "content": arguments.read_text_argument(text), **({"name": name} if name else {})}
    metadata = arguments.parse_metadata(pairs)
    with options.memory(create=True) as memory:
        answer = memory.add(
            message,
            **options.scope(),
            metadata=metadata,
            infer=infer,
            kind=kind,
            key=key,
            occurred_at=at,
            expires_at=expires,
        )
    if not options.print_json(answer):
        _show_changes(answer, infer=infer)
    return {"ok": OK, "queued": OK, "paused": NOTHING, "disabled": NOTHING}.get(answer["status"], FAILED)


def _show_changes(answer: AddResult, *, infer: bool) -> None:
    table = TextTable([Column("EVENT", style=event_style), Column("ID", is_id=True), Column("MEMORY", grows=True)])
    for one in answer["results"]:
        table.add(one["event"], one["id"], one["memory"])
    if table.rows:
        print_table(table)
    elif answer["status"] == "ok":
        foreign = answer.get("reason") == "language"
        print_note(
            "nothing was learned: only a language model reads this language" if foreign else "nothing to learn",
            "note",
        )
        if infer:
            print_note(
                "hint: it is stored as a turn (`memstone list --layer turn`); use --no-infer to store it as a memory",
                "note",
            )
    elif answer["status"] == "queued":
        print_line("stored; Memstone will learn from it in the background")
        print_note("hint: see the result with `memstone jobs --everybody`", "note")
        print_note("hint: run `memstone flush --everybody` to process it now", "note")
    if "reason" in answer and "hint" in answer:
        print_note(f"warning: not stored: {answer['reason']}", "warn")
        print_note(f"hint: {_HINTS.get(answer['hint'], answer['hint'])}", "note")
    if infer and "error" in answer:
        print_note(f"error: stored, but nothing was learned yet: {answer['error']['message']}", "bad")
        print_note("hint: run `memstone flush --everybody` to retry", "note")
    for waiting in answer.get("deferred", ()):
        print_note(f"error: queued, but not stored yet: {waiting['error']['message']}", "bad")
        print_note("hint: run `memstone flush --everybody` to retry when the embedder works", "note")
    for warning in answer.get("warnings", ()):
        print_note(f"warning: {warning}", "warn")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@click.option(
    "--metadata",
    "-m",
    "pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="New metadata; replaces all existing metadata.",
)
@click.option("--kind", type=click.Choice(KINDS), help="The kind of knowledge.")
@click.option("--key", metavar="KEY", help="A new stable name; an empty one removes the name.")
@click.option("--at", metavar="TIME", help="When it was said, in ISO 8601.")
@click.option("--expires", metavar="TIME", help="Time after which it is no longer shown; `never` removes it.")
@for_store
def update(
    options: Arguments,
    memory_id: str,
    text: str | None,
    *,
    pairs: Sequence[str],
    kind: CallerKind | None,
    key: str | None,
    at: str | None,
    expires: str | None,
) -> int:
    """Change a memory and keep the old version in its history.

    TEXT may be `-` for standard input. Leave it out to change only what the options name.
    """
    new_text = None if text is None else arguments.read_text_argument(text)
    changes: dict[str, Any] = {"metadata": arguments.parse_metadata(pairs), "kind": kind, "occurred_at": at}
    if key is not None:
        changes["key"] = key or None
    if expires is not None:
        changes["expires_at"] = None if expires == "never" else expires
    with options.memory() as memory:
        changed = memory.update(resolve_memory_id(memory, memory_id), new_text, **changes)
    if not options.print_json(changed):
        show_memory(changed)
    return OK


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete everything in the scope, in every layer.")
@click.option(
    "--filter", "conditions", metavar="FILTER", multiple=True, help="With --all: delete only memories that match."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_scope
def delete(options: Arguments, ids: Sequence[str], *, everything: bool, conditions: Sequence[str], yes: bool) -> int:
    """Delete memories by ID, or all memories of a scope.

    With --all, everything of the --user, --agent or --run is deleted. The history stays: see `memstone history ID`.
    """
    _check_choice(options, ids, everything=everything, filtered=bool(conditions))
    if not everything:
        return _delete_ids(options, ids)
    filters = arguments.parse_filter_options(conditions)
    with options.memory() as memory:
        if not (yes or _confirm_delete(options, filtered=filters is not None)):
            print_note("nothing was deleted")
            return NOTHING
        answer = memory.delete_all(**options.scope(), filters=filters)
    if not options.print_json(answer):
        print_line(f"{answer['deleted']:,} deleted")
    return OK if answer["deleted"] else NOTHING


def _check_choice(arguments: Arguments, ids: Sequence[str], *, everything: bool, filtered: bool) -> None:
    if everything and ids:
        raise click.UsageError("give IDs or --all, not both")
    if not everything and not ids:
        raise UsageError("you did not name a memory", hint="give IDs, or use --all with --user, --agent or --run")
    if not everything and (filtered or any(arguments.scope().values())):
        raise click.UsageError(
            "--user, --agent, --run and --filter choose what --all deletes and cannot be combined with an ID"
        )


def _confirm_delete(arguments: Arguments, *, filtered: bool) -> bool:
    named = ", ".join(f"{name.removesuffix('_id')} {value}" for name, value in arguments.scope().items() if value)
    if not named:
        return True  # nobody is named, which the library refuses with its own words
    question = f"Delete all matching memories of {named}?" if filtered else f"Delete everything of {named}?"
    return ask_confirmation(arguments, question, without="delete")


def _delete_ids(arguments: Arguments, ids: Sequence[str]) -> int:
    with arguments.memory() as memory:
        wanted = [resolve_memory_id(memory, one) for one in ids]
        if len(wanted) == 1:
            gone = memory.delete(wanted[0])
            answer: DeleteBatchResult = {"results": [{"id": gone["id"], "event": gone["event"]}]}
        else:
            answer = memory.delete_many(wanted)
    if not arguments.print_json(answer):
        _show_deleted(answer["results"])
    return OK if all("error" not in one for one in answer["results"]) else NOTHING


def _show_deleted(results: Sequence[DeleteItem]) -> None:
    table = TextTable([Column("EVENT", style=event_style), Column("ID", is_id=True), Column("REMARK", grows=True)])
    for one in results:
        error = one.get("error")
        missing = error is not None and error["code"] == NotFoundError.code
        table.add("NONE" if missing else one["event"], one["id"], "no such memory" if missing else "")
    print_table(table)


COMMANDS: Final = (add, update, delete)
