"""The program and its commands."""

from __future__ import annotations

import click

from memstone import __version__
from memstone.cli import (
    accounts,
    adopt,
    backup,
    consolidate,
    copy,
    erase,
    identity,
    importing,
    masking,
    migrate,
    moving,
    naming,
    reading,
    serve,
    settings,
    sharing,
    shown,
    transcripts,
    undo,
    upkeep,
    worker,
    writing,
)
from memstone.cli.demo import demo
from memstone.cli.given import everywhere

_EXAMPLES = """\b
Examples:
  memstone demo
  memstone add "I live in Oslo" --user alice
  memstone search "Where does she live?" --user alice --explain
  memstone context "What should I cook tonight?" --user alice
  memstone list --user alice
  memstone export --everybody --output backup.jsonl

\b
Exit codes:
  0    done
  1    nothing found, or not everything could be done
  2    the command was wrong
  3    the store, a model or a service failed
  130  interrupted
"""


class _InOrder(click.Group):
    """Commands are listed as they are added: what one needs first comes first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click names it so
        """The names, in that order."""
        return list(self.commands)


@click.group(
    cls=_InOrder,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="memstone", message="%(prog)s %(version)s")
@everywhere
@click.pass_context
def memstone(context: click.Context) -> None:
    """Memstone is a memory for AI applications: one file, on this machine.

    The options below may stand before a command or after it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    *writing.COMMANDS,
    *reading.COMMANDS,
    *shown.COMMANDS,
    *identity.COMMANDS,
    *undo.COMMANDS,
    *sharing.COMMANDS,
    *naming.COMMANDS,
    *moving.COMMANDS,
    *importing.COMMANDS,
    *backup.COMMANDS,
    *copy.COMMANDS,
    *transcripts.COMMANDS,
    *upkeep.COMMANDS,
    *migrate.COMMANDS,
    *adopt.COMMANDS,
    *worker.COMMANDS,
    *consolidate.COMMANDS,
    *settings.COMMANDS,
    *masking.COMMANDS,
    *erase.COMMANDS,
    *serve.COMMANDS,
    *accounts.COMMANDS,
    demo,
):
    memstone.add_command(command)
