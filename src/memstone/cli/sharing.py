"""``share``, ``unshare``, ``replace``, ``reassign``, ``feedback`` and ``metrics``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from memstone.cli.arguments import Arguments, for_scope, for_scope_or_everybody, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.short_ids import resolve_memory_id
from memstone.cli.terminal import (
    Column,
    Progress,
    TextTable,
    day_time,
    escape_control_chars,
    print_line,
    print_note,
    print_table,
    show_pairs,
    style_text,
)

if TYPE_CHECKING:
    from memstone.results import ReplacementItem, ScopeList

_WHY: Final = "The reason; stored in the history."


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help=_WHY)
@for_scope
def share(arguments: Arguments, memory_id: str, *, reason: str | None) -> int:
    """Share a memory with someone else.

    Use --user, --agent and --run to say with whom. The user * means everybody, project:NAME a project.
    """
    with arguments.memory() as memory:
        answer = memory.sharing.share(resolve_memory_id(memory, memory_id), **arguments.scope(), reason=reason)
    if not arguments.print_json(answer):
        shared = answer["event"] == "LINK"
        print_line(f"shared {answer['id']}" if shared else f"nothing to do: {answer['reason']} ({answer['id']})")
    return OK


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help=_WHY)
@for_scope
def unshare(arguments: Arguments, memory_id: str, *, reason: str | None) -> int:
    """Take a shared memory away from someone.

    The others keep it. When the last one loses it, it is deleted.
    """
    with arguments.memory() as memory:
        answer = memory.sharing.unshare(resolve_memory_id(memory, memory_id), **arguments.scope(), reason=reason)
    if not arguments.print_json(answer):
        last = answer["event"] == "DELETE"
        print_line(f"deleted {answer['id']}: nobody else shared it" if last else f"unshared {answer['id']}")
    return OK


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("text")
@click.option("--reason", metavar="TEXT", help=_WHY)
@for_scope
def replace(arguments: Arguments, memory_id: str, text: str, *, reason: str | None) -> int:
    """Change a shared memory for one of its holders.

    To change it for everybody, use `update`.
    """
    with arguments.memory() as memory:
        answer = memory.sharing.replace(resolve_memory_id(memory, memory_id), text, **arguments.scope(), reason=reason)
    if not arguments.print_json(answer):
        done = "replaced by" if answer["event"] == "REPLACE" else "updated"
        print_line(f"{done} {answer['id']}: {escape_control_chars(answer['memory'])}")
    return OK


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help="Skip this many.")
@for_scope
def updates(arguments: Arguments, *, limit: int, offset: int) -> int:
    """List which memories replaced which, newest first."""
    with arguments.memory() as memory:
        answer = memory.review.replacements(**arguments.scope(), limit=limit, offset=offset)
    if not arguments.print_json(answer):
        _show_updates(answer["results"])
    return OK if answer["results"] else NOTHING


def _show_updates(results: Sequence[ReplacementItem]) -> None:
    if not results:
        print_note("nothing was replaced")
        return
    columns = [
        Column("TIME"),
        Column("OLD", grows=True),
        Column("NEW", grows=True),
        Column("REASON", grows=True, spare=1),
    ]
    table = TextTable([*columns, Column("OLD ID", spare=2), Column("NEW ID", spare=2)])
    for one in results:
        texts = (one["old_memory"], one["new_memory"] or "-", one["reason"])
        table.add(day_time(one["created_at"]), *texts, one["old_id"], one["new_id"])
    print_table(table)


@click.command()
@click.option("--from-user", metavar="ID", help="Whose memories.")
@click.option("--from-agent", metavar="ID", help="Only memories of this agent.")
@click.option("--from-run", metavar="ID", help="Only memories of this conversation.")
@click.option("--to-user", metavar="ID", help="The user to move them to.")
@click.option("--to-agent", metavar="ID", help="The agent to move them to.")
@click.option("--to-run", metavar="ID", help="The conversation to move them to.")
@for_store
def reassign(arguments: Arguments, **ids: str | None) -> int:
    """Rename a user, or merge two users into one.

    Everything that belongs to one goes to the other. Where both have the same memory, the older one stays. To take it
    back, use `memstone undo --job ID`. If the command is interrupted, run it again.
    """
    old, new = _scope_for_side(ids, "from"), _scope_for_side(ids, "to")
    progress = Progress("moving", hidden=arguments.json)
    with arguments.memory() as memory:
        try:
            answer = memory.sharing.reassign(old, new, progress)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        print_line(f"{answer['moved']:,} moved, {answer['merged']:,} of them merged")
        print_note(f"job {answer['job_id']}")
    return OK if answer["moved"] else NOTHING


def _scope_for_side(ids: dict[str, str | None], side: str) -> dict[str, str]:
    values = {f"{name}_id": ids[f"{side}_{name}"] for name in ("user", "agent", "run")}
    return {name: value for name, value in values.items() if value is not None}


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--useful/--useless", required=True, help="Your verdict.")
@click.option("--receipt", is_flag=True, help="ID is a receipt: the feedback is about everything it shows.")
@click.option("--note", metavar="TEXT", help=_WHY)
@for_scope
def feedback(arguments: Arguments, memory_id: str, *, useful: bool, receipt: bool, note: str | None) -> int:
    """Say whether a memory was useful, which changes its weight."""
    with arguments.memory() as memory:
        about = {"receipt_id": memory_id} if receipt else {"memory_id": resolve_memory_id(memory, memory_id)}
        answer = memory.review.feedback(**about, useful=useful, note=note, **arguments.scope())
    if not arguments.print_json(answer):
        print_line(f"noted for {len(answer['ids']):,} {'memory' if len(answer['ids']) == 1 else 'memories'}")
    return OK


@click.command()
@click.option("--since", metavar="TIME", help="Count only what happened since this time.")
@for_scope_or_everybody
def metrics(arguments: Arguments, *, since: str | None) -> int:
    """Count memories: stored, replaced, repeated and used.

    Use --user for one user, or --everybody for all.
    """
    if arguments.agent or arguments.run:
        raise click.UsageError("metrics takes only --user or --everybody")
    with arguments.memory() as memory:
        answer = memory.admin.metrics(user_id=arguments.user, everybody=arguments.everybody, since=since)
    if not arguments.print_json(answer):
        rates = {
            "memory_replacement_rate": answer["memory_replacement_rate"],
            "memory_dedup_rate": answer["memory_dedup_rate"],
            "retrieval_hit_rate": answer["retrieval_hit_rate"],
        }
        visible = [(name, _format_percent(value)) for name, value in rates.items()]
        show_pairs([("memory_total_count", f"{answer['memory_total_count']:,}"), *visible])
        print_line(style_text("  ".join(f"{name} {count:,}" for name, count in answer["counts"].items()), "dim"))
    return OK


@click.command()
@click.option("--limit", "-n", type=int, default=50, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help="Skip this many.")
@for_store
def users(arguments: Arguments, *, limit: int, offset: int) -> int:
    """List the users and how much is known about each."""
    with arguments.memory() as memory:
        answer = memory.admin.list_scopes("user", limit=limit, offset=offset)
    if not arguments.print_json(answer):
        _show_users(answer)
    return OK if answer["results"] else NOTHING


def _show_users(answer: ScopeList) -> None:
    if not answer["results"]:
        print_note("there are no users yet")
        return
    table = TextTable([Column("USER", grows=True), Column("MEMORIES", right=True), Column("LAST CHANGE")])
    for one in answer["results"]:
        table.add(one["id"], f"{one['memories']:,}", day_time(one["last_at"]))
    print_table(table)


def _format_percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


COMMANDS: Final = (share, unshare, replace, updates, reassign, feedback, metrics, users)
