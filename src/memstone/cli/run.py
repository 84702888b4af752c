"""Run the command line: from arguments to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import click

from memstone import __version__
from memstone.cli import (
    accounts,
    arguments,
    backup,
    chat,
    connect,
    encryption,
    erase,
    fail,
    identity,
    import_memories,
    models,
    read_commands,
    serve,
    settings,
    sharing,
    transcripts,
    transfer,
    undo,
    upkeep,
    worker,
    write_commands,
)
from memstone.cli import erase as masking
from memstone.cli import read_commands as shown
from memstone.cli import transfer as cli_transfer
from memstone.cli import upkeep as consolidate
from memstone.cli.arguments import Arguments, add_program_options
from memstone.cli.demo import demo

# --- the program and its commands -------------------------------------------------------------------------------------


_SUMMARY: Final = 60
"""So long may a summary be: with the longest name before it, it fits into 80 columns."""

_EXAMPLES: Final = """\b
Examples:
  memstone chat --user me
  memstone add "I live in Oslo" --user alice
  memstone search "Where does she live?" --user alice --explain
  memstone context "What should I cook tonight?" --user alice
  memstone list --user alice
  memstone export --everybody --output backup.jsonl

\b
Exit codes:
  0    done
  1    nothing found, or not everything could be done
  2    wrong command, option or setting
  3    the store, a model or a service failed
  130  interrupted
  141  the reader of the output closed the pipe
"""


_GROUPS: Final = {
    "Start": ("chat", "demo", "serve", "console", "connect", "doctor"),
    "Remember and recall": ("add", "search", "context", "profile", "list", "get", "update", "delete", "ingest"),
    "History": ("history", "events", "undo", "restore-memory", "rollback", "updates"),
    "Review": ("inspect", "approve", "reject", "quarantine", "disable", "enable", "visibility", "feedback"),
    "People, agents and sharing": (
        *("users", "identity", "episodes", "entities", "relations", "agents"),
        *("share", "unshare", "replace", "reassign"),
    ),
    "Your data": ("export", "import", "backup", "restore", "copy", "encryption", "redact", "erase"),
    "Settings and access": ("settings", "pause", "resume", "models", "instructions", "keys", "accounts"),
    "Operation": (
        *("mcp", "worker", "jobs", "flush", "consolidate", "summarize"),
        *("reindex", "stats", "metrics", "migrate", "adopt"),
    ),
}
"""The commands as the help lists them: what you need first comes first."""


class _CommandGroups(click.Group):
    """List commands in groups, and suggest the right one for a misspelt name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click names it so
        """Return the names, in the order of the groups; what is in none comes last."""
        grouped = [name for names in _GROUPS.values() for name in names if name in self.commands]
        return [*grouped, *(name for name in self.commands if name not in grouped)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section a group, with the summaries of all of them in one column."""
        names = self.list_commands(ctx)
        wide = max(map(len, names))
        for title, group in {**_GROUPS, "More": tuple(names)}.items():
            listed = [name for name in group if name in names]
            names = [name for name in names if name not in listed]
            if listed:
                with formatter.section(title):
                    rows = [(name.ljust(wide), self.commands[name].get_short_help_str(_SUMMARY)) for name in listed]
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or say which one was probably meant."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.commands, n=1)
            more = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"there is no command {args[0]!r}{more}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_CommandGroups,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="memstone", message="%(prog)s %(version)s")
@add_program_options
@click.pass_context
def memstone(context: click.Context) -> None:
    """Memstone is a memory for AI applications: one file, on this machine.

    The options below work before or after a command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    *write_commands.COMMANDS,
    *read_commands.COMMANDS,
    *shown.SHOWN_COMMANDS,
    *identity.COMMANDS,
    *undo.COMMANDS,
    *sharing.COMMANDS,
    *arguments.COMMANDS,
    *cli_transfer.COMMANDS,
    *import_memories.COMMANDS,
    *backup.COMMANDS,
    *encryption.COMMANDS,
    *cli_transfer.COPY_COMMANDS,
    *transcripts.COMMANDS,
    *upkeep.COMMANDS,
    *cli_transfer.MIGRATE_COMMANDS,
    *transfer.ADOPT_COMMANDS,
    *worker.COMMANDS,
    *consolidate.CONSOLIDATE_COMMANDS,
    *settings.COMMANDS,
    *masking.MASKING_COMMANDS,
    *erase.COMMANDS,
    *serve.COMMANDS,
    *accounts.COMMANDS,
    *models.COMMANDS,
    *chat.COMMANDS,
    *connect.COMMANDS,
    demo,
):
    memstone.add_command(command)


# --- one run of the command line --------------------------------------------------------------------------------------


def run_command(args: Sequence[str]) -> int:
    """Carry out a command and give its exit code; whatever goes wrong is reported, never raised."""
    _open_what_is_closed()
    _never_choke_on_characters()
    if "_MEMSTONE_COMPLETE" in os.environ:  # a shell asks how a line could go on
        memstone.main(list(args), prog_name="memstone")
    try:
        code = _carried_out(args)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nobody should see a traceback unasked
        wants = {"as_json": _has_flag(args, "--json"), "verbose": _has_flag(args, "--verbose")}
        return fail.report_error(error, command=_command_path(error), **wants)
    return code


def _carried_out(args: Sequence[str]) -> int:
    """Carry a command out without click's own ``main``, which decides about errors and exit codes itself."""
    try:
        with memstone.make_context("memstone", list(args), obj=Arguments()) as context:
            code = memstone.invoke(context)
    except click.exceptions.Exit as leaving:  # --help and --version
        return leaving.exit_code
    return code if isinstance(code, int) else fail.OK


def _open_what_is_closed() -> None:
    """Open the streams that whoever started us has closed (``>&-``, some daemons).

    They read as empty and take whatever is said.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it ends with the process
            setattr(sys, name, stream)


def _never_choke_on_characters() -> None:
    """Show the number of a character that the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    """Drop what is still buffered, so that the exit is quiet: nobody reads the output any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return fail.PIPE_CLOSED


def _has_flag(args: Sequence[str], name: str) -> bool:
    """Return whether a flag was given, also when the arguments could not be read to their end."""
    before = args[: args.index("--")] if "--" in args else args
    return name in before


def _command_path(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if isinstance(context, click.Context) else "memstone"
