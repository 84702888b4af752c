"""What happened, taking it back, and putting memories aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import LAYERS, Given, ask_confirmation, for_scope_or_everybody, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.rendering import (
    Column,
    Progress,
    Table,
    day_time,
    event_style,
    format_score,
    print_line,
    print_note,
    print_table,
)

if TYPE_CHECKING:
    from memstone.literals import LayerName, StatusName
    from memstone.results import EventFeed, PreviewList, RestoreResult, RollbackResult, UndoItem, UndoResult

_STATUSES: Final = ("active", "disabled", "quarantined", "evicted", "deleted")


@click.command()
@click.option("--after", metavar="CURSOR", type=int, default=0, help="Go on after this cursor.")
@click.option("--limit", "-n", type=int, default=50, show_default=True, help="At most so many.")
@for_scope_or_everybody
def events(given: Given, *, after: int, limit: int) -> int:
    """Show what happened, oldest first, with the ids that `memstone undo` takes.

    Of a --user, --agent or --run, or of --everybody.
    """
    with given.memory() as memory:
        answer = memory.review.events(after, limit=limit, **given.scope_or_everybody())
    if not given.answered(answer):
        _show_events(answer)
    return OK if answer["results"] else NOTHING


def _show_events(answer: EventFeed) -> None:
    if not answer["results"]:
        print_note("nothing happened")
        return
    table = Table(
        [
            Column("CURSOR", right=True, spare=1),
            Column("WHEN", spare=2),
            Column("EVENT", style=event_style),
            Column("ID"),
            Column("WHO", spare=3),
            Column("MEMORY", grows=True),
        ]
    )
    for one in answer["results"]:
        who = one["user_id"] or one["agent_id"] or one["run_id"]
        text = one["new_value"] or one["old_value"]
        table.add(str(one["seq"]), day_time(one["timestamp"]), one["event"], one["id"], who, text)
    print_table(table)


@click.command()
@click.argument("event_id", metavar="[EVENT]", required=False)
@click.option("--job", "job_id", metavar="ID", help="Take back everything that a job did.")
@for_store
def undo(given: Given, event_id: str | None, *, job_id: str | None) -> int:
    """Take back a change.

    EVENT is an id that `memstone events` shows. It works as long as nothing later touched the memory; undoing is an
    event of its own and can be undone.
    """
    with given.memory() as memory:
        answer = memory.undo(event_id, job_id=job_id)
    if not given.answered(answer):
        _warn_missing_vectors(answer)
        _show_results(answer["results"])
    return OK


def _show_results(results: Sequence[UndoItem]) -> None:
    table = Table(
        [Column("EVENT", style=event_style), Column("ID"), Column("STATUS", spare=1), Column("MEMORY", grows=True)]
    )
    for one in results:
        table.add(one["event"], one["id"], one["status"], one.get("memory"))
    print_table(table)


def _warn_missing_vectors(answer: RestoreResult | UndoResult | RollbackResult) -> None:
    for one in answer.get("degraded", ()):
        print_note(f"warning: it is back, but without a vector: {one['message']}", "warn")
        print_note("hint: `memstone reindex` makes it", "note")


@click.command("restore-memory")
@click.argument("memory_id", metavar="ID")
@click.option("--version", type=int, help="Let this version hold again.")
@for_store
def restore_memory(given: Given, memory_id: str, *, version: int | None) -> int:
    """Bring back a memory that was deleted, evicted, overtaken or disabled.

    With --version it says again what it said then. `memstone history ID` shows what that was.
    """
    with given.memory() as memory:
        answer = memory.review.restore(memory_id, version)
    if not given.answered(answer):
        _warn_missing_vectors(answer)
        _show_results([answer])
    return OK


@click.command()
@click.option("--source", metavar="NAME", help="What an actor, a job or a means such as `pattern` did.")
@click.option("--since", metavar="TIME", help="What was done since then, in ISO 8601.")
@click.option("--dry-run", is_flag=True, help="Only say what would be taken back.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@for_scope_or_everybody
def rollback(given: Given, *, source: str | None, since: str | None, dry_run: bool, yes: bool) -> int:
    """Take back all that a source did, or that was done since a time.

    Of a --user, --agent or --run, or of --everybody. What somebody changed afterwards stays as it is and is listed.
    The whole rollback can be undone: `memstone undo --job ID`.
    """
    with given.memory() as memory:
        what = {"source": source, "since": since, **given.scope_or_everybody()}
        if not (dry_run or yes or _confirm_rollback(given, memory.review.rollback(**what, dry_run=True))):
            print_note("nothing was taken back")
            return NOTHING
        progress = Progress("taking back")
        try:
            answer = memory.review.rollback(**what, dry_run=dry_run, progress=progress)
        finally:
            progress.finish()
    if not given.answered(answer):
        _show_rollback(answer)
    return NOTHING if answer["skipped"] else OK


def _confirm_rollback(given: Given, planned: RollbackResult) -> bool:
    """Whether whoever asked wants it still after seeing what it is; wrong arguments never come so far."""
    print_note(_format_rollback(planned))
    return planned["undone"] > 0 and ask_confirmation(given, "Take all of this back?", without="takes back")


def _show_rollback(answer: RollbackResult) -> None:
    if answer["conflicts"]:
        table = Table([Column("NOT TAKEN BACK", style=event_style), Column("ID"), Column("WHY", grows=True)])
        for one in answer["conflicts"]:
            table.add(one["event"], one["event_id"], one["message"])
        print_table(table)
    print_line(_format_rollback(answer))
    if answer["skipped"]:
        print_note(f"{answer['skipped']:,} were changed by somebody since and stay", "warn")
    if "job_id" in answer:
        print_note(f"hint: `memstone undo --job {answer['job_id']}` brings all of it back", "note")
    _warn_missing_vectors(answer)


def _format_rollback(answer: RollbackResult) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(answer["by_event"].items()))
    done = "would be taken back" if answer["dry_run"] else "taken back"
    changes = "1 change" if answer["undone"] == 1 else f"{answer['undone']:,} changes"
    memories = "1 memory" if answer["memories"] == 1 else f"{answer['memories']:,} memories"
    return f"{changes} of {memories} {done}" + (f" ({kinds})" if kinds else "")


def _changes_status(name: str, text: str) -> click.Command:
    @click.command(name, help=text)
    @click.argument("memory_id", metavar="ID")
    @click.option("--reason", help="Why; the history tells it.")
    @for_store
    def change(given: Given, memory_id: str, *, reason: str | None) -> int:
        with given.memory() as memory:
            answer = getattr(memory.review, name)(memory_id, reason)
        if not given.answered(answer):
            print_line("nothing to do" if answer["event"] == "NONE" else f"{answer['id']} is {answer['status']}")
        return OK

    return change


@click.command()
@click.argument("query", required=False)
@click.option("--limit", "-n", type=int, default=60, show_default=True, help="At most so many, up to 250.")
@click.option("--status", "statuses", type=click.Choice(_STATUSES), multiple=True, help="Only in this state.")
@click.option("--layer", "layers", type=click.Choice(LAYERS), multiple=True, help="Where to look; everywhere.")
@for_scope_or_everybody
def inspect(
    given: Given, query: str | None, *, limit: int, statuses: Sequence[StatusName], layers: Sequence[LayerName]
) -> int:
    """Look through memories in every layer, also disabled ones.

    Texts are previews without secrets, addresses and numbers of people. Each says why it was found. Without a QUERY the
    newest are shown; of a --user, --agent or --run, or of --everybody.
    """
    wanted = None if query is None else arguments.read_text_argument(query)
    with given.memory() as memory:
        answer = memory.review.list(
            wanted, **given.scope_or_everybody(), limit=limit, statuses=statuses or None, layers=layers or None
        )
    if not given.answered(answer):
        _show_inspected(answer)
    return OK if answer["results"] else NOTHING


def _show_inspected(answer: PreviewList) -> None:
    table = Table(
        [
            Column("SCORE", right=True, spare=2),
            Column("ID"),
            Column("LAYER", spare=3),
            Column("STATUS"),
            Column("PREVIEW", grows=True),
            Column("WHY", spare=1),
        ]
    )
    for one in answer["results"]:
        table.add(format_score(one.get("score")), one["id"], one["layer"], one["status"], one["preview"], one["why"])
    if answer["results"]:
        print_table(table)
    print_note("there are more: --limit" if answer["more"] else f"{len(answer['results']):,} in all")


COMMANDS: Final = (
    events,
    undo,
    restore_memory,
    rollback,
    _changes_status("disable", "Keep a memory and recall it no more."),
    _changes_status("enable", "Recall a disabled memory again."),
    _changes_status("quarantine", "Put a memory aside until somebody approves it."),
    _changes_status("approve", "Let a memory out of quarantine."),
    _changes_status("reject", "Delete a memory that is in quarantine."),
    inspect,
)
