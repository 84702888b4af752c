"""One run of the command line: from arguments to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from memstone.cli import fail
from memstone.cli.given import Given
from memstone.cli.group import memstone


def run(args: Sequence[str]) -> int:
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
        wants = {"as_json": _flag(args, "--json"), "verbose": _flag(args, "--verbose")}
        return fail.report(error, command=_command(error), **wants)
    return code


def _carried_out(args: Sequence[str]) -> int:
    """Not click's own ``main``: that decides about errors and exit codes itself."""
    try:
        with memstone.make_context("memstone", list(args), obj=Given()) as context:
            code = memstone.invoke(context)
    except click.exceptions.Exit as leaving:  # --help and --version
        return leaving.exit_code
    return code if isinstance(code, int) else fail.OK


def _open_what_is_closed() -> None:
    """A stream that whoever started us has closed (``>&-``, some daemons) reads as empty and takes whatever is said."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it ends with the process
            setattr(sys, name, stream)


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
    return context.command_path if isinstance(context, click.Context) else "memstone"
