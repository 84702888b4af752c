"""``events``, ``undo``, ``restore-memory``, ``rollback``, ``inspect`` and changes of status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import LAYERS, Arguments, ask_confirmation, for_scope, for_scope_or_everybody, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.short_ids import resolve_event_id, resolve_memory_id
from memstone.cli.terminal import (
    Column,
    Progress,
    TextTable,
    day_time,
    event_style,
    format_score,
    print_line,
    print_note,
    print_table,
)
from memstone.errors import NotFoundError, UsageError
from memstone.model.memory import LISTED

if TYPE_CHECKING:
    from memstone.literals import LayerName, StatusName
    from memstone.memory import Memory
    from memstone.results import (
        EventFeed,
        PreviewList,
        RestoreResult,
        RollbackResult,
        StatusResult,
        UndoItem,
        UndoResult,
    )

_PAGE: Final = 250
_STATUSES: Final = tuple(map(str, LISTED))


@click.command()
@click.option("--after", metavar="CURSOR", type=int, default=0, help="Continue after this cursor.")
@click.option("--limit", "-n", type=int, default=50, show_default=True, help="Maximum number of results.")
@for_scope_or_everybody
def events(arguments: Arguments, *, after: int, limit: int) -> int:
    """Show what happened, oldest first, with ids for undo.

    Use --user, --agent or --run for a scope, or --everybody.
    """
    with arguments.memory() as memory:
        answer = memory.review.events(after, limit=limit, **arguments.scope_or_everybody())
    if not arguments.print_json(answer):
        _show_events(answer)
    return OK if answer["results"] else NOTHING


def _show_events(answer: EventFeed) -> None:
    if not answer["results"]:
        print_note("nothing happened")
        return
    table = TextTable(
        [
            Column("CURSOR", right=True, spare=1),
            Column("WHEN", spare=2),
            Column("EVENT", style=event_style),
            Column("ID", is_id=True),
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
@click.option("--job", "job_id", metavar="ID", help="Undo everything a job did.")
@click.option("--last", is_flag=True, help="Undo the last change; again for the one before.")
@for_scope
def undo(arguments: Arguments, event_id: str | None, *, job_id: str | None, last: bool) -> int:
    """Undo a change.

    EVENT is an id from `memstone events`. This works as long as nothing has changed the memory since. An undo is an
    event too, and can itself be undone. With --last, you undo everything that the last call changed; --user, --agent
    or --run make it the last change of theirs.
    """
    if sum((last, event_id is not None, job_id is not None)) != 1:
        raise UsageError("say what to undo", hint="give the id of one event, --job ID or --last")
    if not last and any(arguments.scope().values()):
        raise click.UsageError("--user, --agent and --run choose what --last undoes")
    with arguments.memory() as memory:
        if last:
            answers = undo_last(memory, arguments.scope())
        else:
            answers = [memory.undo(event_id and resolve_event_id(memory, event_id), job_id=job_id)]
    results = [one for answer in answers for one in answer["results"]]
    if not arguments.print_json({**answers[-1], "undone": len(results), "results": results}):
        for answer in answers:
            _warn_missing_vectors(answer)
        _show_results(results)
    return OK


_NOT_UNDONE: Final = ("FEEDBACK", "REDACT")
"""Events that are no change of a memory, or must not come back."""
_RECENT: Final = 1_000


def undo_last(memory: Memory, scope: Mapping[str, Any]) -> list[UndoResult]:
    """Undo what the last call changed that is not undone yet, from its last event to its first."""
    where = {**scope, "everybody": not any(scope.values())}
    page = memory.review.events(limit=_RECENT, newest_first=True, **where)["results"]
    undone = {one["undoes"] for one in page if one["undoes"]}
    changes = [one for one in page if not one["undoes"] and one["id"] not in undone and one["event"] not in _NOT_UNDONE]
    if not changes:
        raise NotFoundError("there is no change to undo", hint="`memstone events` shows what happened")
    newest = changes[0]
    if newest["job_id"]:
        return [memory.undo(job_id=newest["job_id"])]
    # One call writes its events at one time; what has a job of its own is undone as that.
    together = [one for one in changes if one["timestamp"] == newest["timestamp"] and not one["job_id"]]
    return [memory.undo(one["id"]) for one in together]


def _show_results(results: Sequence[UndoItem]) -> None:
    table = TextTable(
        [
            Column("EVENT", style=event_style),
            Column("ID", is_id=True),
            Column("STATUS", spare=1),
            Column("MEMORY", grows=True),
        ]
    )
    for one in results:
        table.add(one["event"], one["id"], one["status"], one.get("memory"))
    print_table(table)


def _warn_missing_vectors(answer: RestoreResult | UndoResult | RollbackResult) -> None:
    for one in answer.get("degraded", ()):
        print_note(f"warning: it is back, but without a vector: {one['message']}", "warn")
        print_note("hint: run `memstone reindex` to build it", "note")


@click.command("restore-memory")
@click.argument("memory_id", metavar="ID")
@click.option("--version", type=int, help="The version to bring back.")
@for_store
def restore_memory(arguments: Arguments, memory_id: str, *, version: int | None) -> int:
    """Bring back a memory that was deleted, evicted or disabled.

    With --version, the memory says again what it said in that version. `memstone history ID` shows what that was.
    """
    with arguments.memory() as memory:
        answer = memory.review.restore(resolve_memory_id(memory, memory_id), version)
    if not arguments.print_json(answer):
        _warn_missing_vectors(answer)
        _show_results([answer])
    return OK


@click.command()
@click.option("--source", metavar="NAME", help="Undo changes by this actor, job or method, such as `pattern`.")
@click.option("--since", metavar="TIME", help="Undo changes since this time, in ISO 8601.")
@click.option("--dry-run", is_flag=True, help="Only show what would be undone.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_scope_or_everybody
def rollback(arguments: Arguments, *, source: str | None, since: str | None, dry_run: bool, yes: bool) -> int:
    """Undo everything from a source, or since a time.

    Use --user, --agent or --run for a scope, or --everybody. Memories that someone changed afterwards stay as they are
    and are listed. You can undo the whole rollback: `memstone undo --job ID`.
    """
    with arguments.memory() as memory:
        what = {"source": source, "since": since, **arguments.scope_or_everybody()}
        if not (dry_run or yes or _confirm_rollback(arguments, memory.review.rollback(**what, dry_run=True))):
            print_note("nothing was undone")
            return NOTHING
        progress = Progress("taking back")
        try:
            answer = memory.review.rollback(**what, dry_run=dry_run, progress=progress)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        _show_rollback(answer)
    return NOTHING if answer["skipped"] else OK


def _confirm_rollback(arguments: Arguments, planned: RollbackResult) -> bool:
    """Return whether whoever asked wants it still after seeing what it is; wrong arguments never come so far."""
    print_note(_format_rollback(planned))
    return planned["undone"] > 0 and ask_confirmation(arguments, "Undo all of this?", without="undo")


def _show_rollback(answer: RollbackResult) -> None:
    if answer["conflicts"]:
        table = TextTable(
            [Column("NOT UNDONE", style=event_style), Column("ID", is_id=True), Column("WHY", grows=True)]
        )
        for one in answer["conflicts"]:
            table.add(one["event"], one["event_id"], one["message"])
        print_table(table)
    print_line(_format_rollback(answer))
    if answer["skipped"]:
        print_note(f"{answer['skipped']:,} were changed since and stay as they are", "warn")
    if "job_id" in answer:
        print_note(f"hint: `memstone undo --job {answer['job_id']}` reverses this", "note")
    _warn_missing_vectors(answer)


def _format_rollback(answer: RollbackResult) -> str:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(answer["by_event"].items()))
    done = "would be undone" if answer["dry_run"] else "undone"
    changes = "1 change" if answer["undone"] == 1 else f"{answer['undone']:,} changes"
    memories = "1 memory" if answer["memories"] == 1 else f"{answer['memories']:,} memories"
    return f"{changes} of {memories} {done}" + (f" ({kinds})" if kinds else "")


def _changes_status(name: str, text: str) -> click.Command:
    @click.command(name, help=text)
    @click.argument("memory_id", metavar="ID")
    @click.option("--reason", help="The reason; stored in the history.")
    @for_store
    def change(arguments: Arguments, memory_id: str, *, reason: str | None) -> int:
        with arguments.memory() as memory:
            answer = getattr(memory.review, name)(resolve_memory_id(memory, memory_id), reason)
        if not arguments.print_json(answer):
            print_line("nothing to do" if answer["event"] == "NONE" else f"{answer['id']} is {answer['status']}")
        return OK

    return change


def _settles_quarantine(name: str, text: str, done: str) -> click.Command:
    """Return a command about memories in quarantine: some by their ids, or all of a scope."""

    @click.command(name, help=text)
    @click.argument("ids", metavar="[ID]...", nargs=-1)
    @click.option("--all", "every", is_flag=True, help="All memories in quarantine of a scope, or of --everybody.")
    @click.option("--reason", help="The reason; stored in the history.")
    @click.option("--yes", "-y", is_flag=True, help="With --all: do not ask for confirmation.")
    @for_scope_or_everybody
    def settle(arguments: Arguments, ids: Sequence[str], *, every: bool, reason: str | None, yes: bool) -> int:
        if bool(ids) == every:
            hint = "give IDs, or use --all with --user, --agent, --run or --everybody"
            raise UsageError("say which memories", hint=hint)
        with arguments.memory() as memory:
            if every and not (yes or _confirm_settling(arguments, memory, name)):
                print_note(f"nothing was {done}")
                return NOTHING
            rounds = _pages_in_quarantine(arguments, memory) if every else [[resolve_memory_id(memory, i) for i in ids]]
            answers = [getattr(memory.review, name)(one, reason) for page in rounds for one in page]
        if not arguments.print_json(answers[0] if len(ids) == 1 else {"results": answers}):
            _show_settled(answers, done)
        return OK if answers else NOTHING

    return settle


def _pages_in_quarantine(arguments: Arguments, memory: Memory) -> Iterator[list[str]]:
    """Yield the ids in quarantine until there are none: those that were settled are not in the next page."""
    while page := memory.review.list(**arguments.scope_or_everybody(), statuses=["quarantined"], limit=_PAGE)[
        "results"
    ]:
        yield [one["id"] for one in page]


def _confirm_settling(arguments: Arguments, memory: Memory, name: str) -> bool:
    page = memory.review.list(**arguments.scope_or_everybody(), statuses=["quarantined"], limit=_PAGE)
    if not page["results"]:
        return True
    count = f"more than {_PAGE:,}" if page["more"] else f"{len(page['results']):,}"
    return ask_confirmation(arguments, f"{name.capitalize()} {count} in quarantine?", without=name)


def _show_settled(answers: Sequence[StatusResult], done: str) -> None:
    if len(answers) == 1:
        one = answers[0]
        print_line("nothing to do" if one["event"] == "NONE" else f"{one['id']} is {one['status']}")
    else:
        print_line(f"{len(answers):,} memories {done}" if answers else "there is nothing in quarantine")


@click.command()
@click.argument("query", required=False)
@click.option("--limit", "-n", type=int, default=60, show_default=True, help="Maximum number of results, up to 250.")
@click.option(
    "--status", "statuses", type=click.Choice(_STATUSES), multiple=True, help="Only memories with this status."
)
@click.option(
    "--layer", "layers", type=click.Choice(LAYERS), multiple=True, help="Layer to search; the default is all."
)
@for_scope_or_everybody
def inspect(
    options: Arguments, query: str | None, *, limit: int, statuses: Sequence[StatusName], layers: Sequence[LayerName]
) -> int:
    """Browse memories in every layer, including disabled ones.

    Texts are previews without secrets, addresses or personal numbers. Each shows why it was found. Without a QUERY you
    see the newest. Use --user, --agent or --run for a scope, or --everybody.
    """
    wanted = None if query is None else arguments.read_text_argument(query)
    with options.memory() as memory:
        answer = memory.review.list(
            wanted, **options.scope_or_everybody(), limit=limit, statuses=statuses or None, layers=layers or None
        )
    if not options.print_json(answer):
        _show_inspected(answer)
    return OK if answer["results"] else NOTHING


def _show_inspected(answer: PreviewList) -> None:
    table = TextTable(
        [
            Column("SCORE", right=True, spare=2),
            Column("ID", is_id=True),
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
    print_note("there are more: use --limit" if answer["more"] else f"{len(answer['results']):,} in all")


COMMANDS: Final = (
    events,
    undo,
    restore_memory,
    rollback,
    _changes_status("disable", "Keep a memory but stop recalling it."),
    _changes_status("enable", "Recall a disabled memory again."),
    _changes_status("quarantine", "Hold a memory back until someone approves it."),
    _settles_quarantine("approve", "Release memories from quarantine.", "approved"),
    _settles_quarantine("reject", "Delete memories in quarantine.", "rejected"),
    inspect,
)
