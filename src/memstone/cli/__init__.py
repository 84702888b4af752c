"""The command line: read arguments, call ``Memory``, and print."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    try:
        from memstone.cli.run import run_command

        code = run_command(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:  # while the program was still loading
        code = 130
    sys.exit(code)
