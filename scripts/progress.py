"""Run a command that takes a while, and say every few seconds how far it has come.

``python scripts/progress.py LABEL COMMAND ...`` prints what the command is busy with in short lines; when it says
nothing for a while, a line says for how long it has been running. Of a command that fails, everything it said is
printed.
"""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO

QUIET_SECONDS = 3.0
"""After so long without a word, a line says that it is still running."""

STEPS = (
    (re.compile(r"^\s*Collecting (\S+?)(?:[<>=!~;\[( ].*)?$"), "looking for {}"),
    (re.compile(r"^\s*Downloading (\S+)(?: \((.+)\))?$"), "fetching {} {}"),
    (re.compile(r"^\s*Building wheel for (\S+)"), "building {}"),
    (re.compile(r"^Installing collected packages: (.+)$"), "installing {count} packages"),
    (re.compile(r"^\s*(Preparing metadata|Getting requirements|Installing build dependencies)"), "{} ..."),
)
"""Lines of pip that are worth a line here, and what it says."""


def main(args: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    label, *command = args
    started = time.monotonic()
    print(f"{label} ...", flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        said = list(follow(process.stdout, started))
    took = time.monotonic() - started
    if process.returncode:
        print("".join(said), end="")
        print(f"{label}: failed after {took:.0f} s", flush=True)
    else:
        print(f"{label}: done in {took:.0f} s", flush=True)
    return process.returncode


def follow(stream: IO[str], started: float) -> Iterator[str]:
    """Yield every line that is said, and print what it is about, or that it is still running."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=QUIET_SECONDS)
        except queue.Empty:
            print(f"  still running, {time.monotonic() - started:.0f} s", flush=True)
            continue
        if line is None:
            return
        if text := describe_line(line):
            print(f"  {text}", flush=True)
        yield line


def describe_line(line: str) -> str:
    """Return what a line of pip is about; '' where that is not worth a line."""
    for pattern, text in STEPS:
        found = pattern.match(line.rstrip("\n"))
        if found is not None:
            names = [name or "" for name in found.groups()]
            return text.format(*names, count=1 + names[0].count(",")).rstrip()
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
