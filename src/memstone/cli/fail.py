"""Turn errors into messages and exit codes."""

from __future__ import annotations

import errno
import json
import sys
import traceback
from typing import Any, Final

import click

from memstone.cli.terminal import escape_control_chars, print_note
from memstone.errors import Conflict, MemstoneError, NotFoundError, ScopeError, UsageError
from memstone.model.scope import NO_SCOPE

OK: Final = 0
NOTHING: Final = 1
"""Nothing was found, or something could not be done as things are."""
USAGE: Final = 2
FAILED: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""As shells say it of a program whose reader went away."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def report_error(error: BaseException, *, command: str, as_json: bool, verbose: bool) -> int:
    """Print an error for people or as JSON, and give the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        error.show()  # the help of a group of commands, which none of them was chosen from
        return USAGE
    if verbose:
        traceback.print_exception(error)
    facts, code = describe_error(error, command)
    if as_json:
        print(json.dumps({"error": facts}, default=str), file=sys.stderr)
        return code
    print_note(f"error: {escape_control_chars(str(facts['message']))}", "bad")
    if facts["hint"]:
        print_note(f"hint: {escape_control_chars(str(facts['hint']))}", "note")
    return code


def describe_error(error: BaseException, command: str = "") -> tuple[dict[str, Any], int]:
    """Return what an error says, and the exit code it leads to."""
    if isinstance(error, MemstoneError):
        return {**error.as_dict(), "hint": _cli_hint(error)}, _exit_code(error)
    if isinstance(error, click.ClickException):
        return _error_fields("usage", error.format_message(), f"see `{command} --help`"), USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return _error_fields("interrupted", "interrupted", ""), INTERRUPTED
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return _error_fields("file", f"{place}{error.strerror or error}", _file_hint(error)), FAILED
    hint = "this is a bug in Memstone; use --verbose to see where it happened"
    return _error_fields("internal", f"{type(error).__name__}: {error}", hint), FAILED


def _file_hint(error: OSError) -> str:
    if error.errno in _FULL:
        return "free some space, or write somewhere else"
    return "check that it exists and that you have access"


def _error_fields(code: str, message: str, hint: str) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "retryable": False}


def _exit_code(error: MemstoneError) -> int:
    if isinstance(error, (NotFoundError, Conflict)):
        return NOTHING
    return USAGE if isinstance(error, UsageError) else FAILED


def _cli_hint(error: MemstoneError) -> str:
    """Return the error's own hint, in the words of the command line where it mentions Python."""
    if isinstance(error, ScopeError) and error.message == NO_SCOPE:
        more = ", or --everybody" if "everybody" in error.hint else ""
        return f"say whose memory to use: --user, --agent or --run{more}"
    if isinstance(error, NotFoundError) and error.hint == NotFoundError.default_hint:
        return "`memstone list` shows ids; `memstone history ID` shows what happened to a deleted memory"
    return error.hint
