"""Say how much of the package is typed, as pyright counts it, and fail below the least that is wanted.

Pyright counts every name that somebody could import: one whose type has to be guessed counts as missing. Run by
``make types``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

LEAST: Final = 0.95
_MAX_LISTED: Final = 10


def main() -> int:
    """Print the share, and what is missing most often."""
    report = read_report()
    print(describe_report(report))
    return int(report["completenessScore"] < LEAST)


def read_report() -> dict[str, Any]:
    """Ask pyright, in a folder of its own: with the settings of the project it would look at other files.

    It follows links, and would take the Python that an environment was made from for that of the environment. So the
    environment is named as a shell that has it switched on does.
    """
    binaries = Path(sys.executable).parent
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(binaries / "pyright"), "--verifytypes", "memstone", "--ignoreexternal", "--outputjson"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,  # it fails unless everything is typed
        )
    report: dict[str, Any] = json.loads(done.stdout)["typeCompleteness"]
    return report


def describe_report(report: dict[str, Any]) -> str:
    """Return the report as text."""
    counts = report["exportedSymbolCounts"]
    total = sum(counts.values())
    missing = Counter(
        diagnostic["message"].split("\n")[0]
        for symbol in report["symbols"]
        if symbol["isExported"]
        for diagnostic in symbol["diagnostics"]
        if not diagnostic["message"].startswith("No docstring")
    )
    lines = [f"{report['completenessScore']:.1%} of {total:,} names are typed; at least {LEAST:.0%} are to be"]
    return "\n".join([*lines, *(f"  {count:>5,}  {what}" for what, count in missing.most_common(_MAX_LISTED))])


if __name__ == "__main__":
    sys.exit(main())
