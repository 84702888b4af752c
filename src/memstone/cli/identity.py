"""``identity`` and ``episodes``: who a user is, and what sessions were about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import Arguments, for_scope
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import (
    Column,
    TextTable,
    day_time,
    escape_control_chars,
    print_line,
    print_note,
    print_table,
    style_text,
)
from memstone.errors import NotFoundError

if TYPE_CHECKING:
    from memstone.results import DerivedIdentity, EpisodeItem, IdentityItem, IdentityResult


@click.group(invoke_without_command=True)
@for_scope
def identity(arguments: Arguments) -> int:
    """Show who a user is, or change it.

    Standing instructions are what the user wrote: every model sees them, whatever the budget. The derived part
    comes from what the user said, and the narrative is a text made from it.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return OK
    with arguments.memory() as memory:
        answer = memory.identity.get(user_id=_require_user(arguments))
    if not arguments.print_json(answer):
        _show_identity(answer)
    return OK if answer["overrides"] or answer["derived"] or answer["narrative"] else NOTHING


def _require_user(arguments: Arguments) -> str:
    if arguments.user is None:
        raise click.UsageError("an identity belongs to a user: use --user")
    return arguments.user


@identity.command("add")
@click.argument("text")
@for_scope
def add_override(options: Arguments, text: str) -> int:
    """Add something to keep in mind for good.

    TEXT may be `-` for standard input. A text that is already there is not added again.
    """
    sentence = arguments.read_text_argument(text)
    with options.memory(create=True) as memory:
        answer = memory.identity.add_override(sentence, user_id=_require_user(options))
    return _report_change(options, answer)


@identity.command("remove")
@click.argument("number", type=click.IntRange(min=1))
@for_scope
def remove_override(arguments: Arguments, number: int) -> int:
    """Delete a standing instruction by its number.

    `memstone identity` shows the NUMBER of each.
    """
    with arguments.memory() as memory:
        try:
            answer = memory.identity.remove_override(number - 1, user_id=_require_user(arguments))
        except NotFoundError:
            raise NotFoundError(
                f"there is no standing instruction number {number}", hint="`memstone identity` shows them"
            ) from None
    return _report_change(arguments, answer)


@identity.command("set")
@click.argument("texts", nargs=-1)
@click.option("--clear", is_flag=True, help="Delete all standing instructions.")
@for_scope
def set_overrides(arguments: Arguments, texts: Sequence[str], *, clear: bool) -> int:
    """Replace all standing instructions with these TEXTS."""
    if bool(texts) == clear:
        raise click.UsageError("give the texts, or use --clear to remove all of them")
    with arguments.memory(create=True) as memory:
        answer = memory.identity.set_overrides(list(texts), user_id=_require_user(arguments))
    return _report_change(arguments, answer)


@identity.command("write")
@click.argument("text", required=False)
@click.option("--back", is_flag=True, help="Stop writing it by hand: the next consolidation rewrites it.")
@for_scope
def write_narrative(options: Arguments, text: str | None, *, back: bool) -> int:
    """Write the narrative by hand.

    Consolidation then leaves it alone. TEXT may be `-` for standard input.
    """
    if (text is None) != back:
        raise click.UsageError("give the text, or use --back")
    message = None if text is None else arguments.read_text_argument(text)
    with options.memory(create=not back) as memory:
        answer = memory.identity.set_narrative(message, user_id=_require_user(options))
    return _report_change(options, answer)


def _report_change(arguments: Arguments, answer: IdentityResult) -> int:
    if not arguments.print_json(answer):
        for warning in answer.get("warnings", ()):
            print_note(f"warning: {warning}", "warn")
        _show_identity(answer)
    return OK


def _show_identity(answer: IdentityResult) -> None:
    overrides, derived, narrative = answer["overrides"], answer["derived"], answer["narrative"]
    if not (overrides or derived or narrative):
        print_note("nothing is known about this user")
        return
    if overrides:
        _show_numbered_entries("Standing instructions", overrides)
    if derived:
        _print_separator(overrides)
        _show_numbered_entries("Derived from what was said", derived)
    if narrative:
        _print_separator(overrides or derived)
        print_line(style_text("Narrative", "head"))
        print_line(escape_control_chars(narrative["text"]))
        stale = ", out of date" if narrative["stale"] else ""
        when = day_time(narrative["generated_at"])
        print_line(style_text(f"version {narrative['version']} by {narrative['model']}, {when}{stale}", "dim"))


def _show_numbered_entries(title: str, entries: Sequence[DerivedIdentity] | Sequence[IdentityItem]) -> None:
    print_line(style_text(title, "head"))
    table = TextTable([Column("NO", right=True), Column("ID", spare=1, is_id=True), Column("TEXT", grows=True)])
    for number, entry in enumerate(entries, 1):
        table.add(number, entry["id"], entry["text"])
    print_table(table)


def _print_separator(before: Sequence[Any]) -> None:
    """Print a blank line after what stands above, if anything does."""
    if before:
        print_line()


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help="Skip this many.")
@click.option("--since", metavar="TIME", help="Only sessions since this time, in ISO 8601.")
@for_scope
def episodes(arguments: Arguments, *, limit: int, offset: int, since: str | None) -> int:
    """List what past sessions were about, newest first."""
    with arguments.memory() as memory:
        answer = memory.sessions.episodes(**arguments.scope(), limit=limit, offset=offset, since=since)
    if not arguments.print_json(answer):
        _show_episodes(answer["results"])
    return OK if answer["results"] else NOTHING


def _show_episodes(found: Sequence[EpisodeItem]) -> None:
    if not found:
        print_note("there are no episodes yet")
        return
    table = TextTable(
        [
            Column("HELD"),
            Column("RUN", spare=1),
            Column("ID", spare=2, is_id=True),
            Column("TOPICS", spare=3),
            Column("SUMMARY", grows=True),
        ]
    )
    for one in found:
        summary = " ".join(one["summary"].split())
        table.add(day_time(one["occurred_at"]), one["run_id"], one["id"], ", ".join(one["topics"][:4]), summary)
    print_table(table)


COMMANDS: Final = (identity, episodes)
