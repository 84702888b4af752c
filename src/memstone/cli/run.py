"""One run of the command line: from arguments to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from memstone import __version__
from memstone.cli import (
    accounts,
    arguments,
    backup,
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
  2    wrong command, option or setting
  3    the store, a model or a service failed
  130  interrupted
"""


class _InOrder(click.Group):
    """Commands are listed as they are added: what one needs first comes first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click names it so
        """Return the names, in that order."""
        return list(self.commands)


@click.group(
    cls=_InOrder,
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
    """Drop what is still buffered, so that exit is quiet: whoever read our output has enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return fail.PIPE_CLOSED


def _has_flag(args: Sequence[str], name: str) -> bool:
    """Return whether a flag was given, also when the arguments could not be read to their end."""
    before = args[: args.index("--")] if "--" in args else args
    return name in before


def _command_path(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if isinstance(context, click.Context) else "memstone"
