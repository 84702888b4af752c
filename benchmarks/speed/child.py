"""Runs one job for one system in a process of its own: ``python -m benchmarks.speed.child SYSTEM JOB``.

The job comes as JSON on standard input; the answer is JSON on standard output. What the system itself
prints is sent to standard error.
"""

from __future__ import annotations

import contextlib
import json
import sys

from benchmarks.speed.jobs import JOBS
from benchmarks.speed.systems import opener


def main(arguments: list[str]) -> None:
    """Run it."""
    system, job = arguments
    with contextlib.redirect_stdout(sys.stderr):
        answer = JOBS[job](opener(system), json.load(sys.stdin))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
