"""One run of the command line: from arguments to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from retain.cli import fail
from retain.cli.given import Given
from retain.cli.group import retain


def run(args: Sequence[str]) -> int:
    """Carry out a command and give its exit code; whatever goes wrong is reported, never raised."""
    _never_choke_on_characters()
    if "_RETAIN_COMPLETE" in os.environ:  # a shell asks how a line could go on
        retain.main(list(args), prog_name="retain")
    try:
        code = _carried_out(args)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nobody should see a traceback unasked
        wants = {"as_json": _flag(args, "--json"), "verbose": _flag(args, "--verbose")}
        return fail.report(error, command=_command(error), **wants)
    return code


def _carried_out(args: Sequence[str]) -> int:
    """Not click's own ``main``: that decides about errors and exit codes itself."""
    try:
        with retain.make_context("retain", list(args), obj=Given()) as context:
            code = retain.invoke(context)
    except click.exceptions.Exit as leaving:  # --help and --version
        return leaving.exit_code
    return code if isinstance(code, int) else fail.OK


def _never_choke_on_characters() -> None:
    """A terminal that lacks a character shows its number."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    """Whoever read our output has enough; what is still buffered goes nowhere, so that exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return fail.PIPE_CLOSED


def _flag(args: Sequence[str], name: str) -> bool:
    """Whether a flag was given, also when the arguments could not be read to their end."""
    before = args[: args.index("--")] if "--" in args else args
    return name in before


def _command(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if isinstance(context, click.Context) else "retain"
