"""Run the system tests and write what happened to ``docs/test-system.md``.

The table has a row for every group (test file), which names the commit it ran at. Arguments go to pytest: with a folder
or a file, only its groups run, and the rows of the others stay as they are.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "test-system.md"
OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_ROW: Final = re.compile(r"^\| ([\w.]+) \| \d+ \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\w +]+) \|$", re.MULTILINE)


@dataclass(slots=True)
class Group:
    """The outcomes of the tests of one file, at one commit."""

    name: str
    commit: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def row(self) -> str:
        """Return its row of the table."""
        tests = self.passed + self.failed + self.skipped
        counts = f"{tests} | {self.passed} | {self.failed} | {self.skipped} | {self.seconds:.1f}"
        return f"| {self.name} | {counts} | {self.commit} |"


def groups(junit: str, commit: str) -> list[Group]:
    """Return the groups of a JUnit report, by name."""
    found: dict[str, Group] = {}
    for case in ET.fromstring(junit).iter("testcase"):  # noqa: S314 - written by our own pytest a moment ago
        name = case.get("classname", "").removeprefix("tests.")
        group = found.setdefault(name, Group(name, commit))
        outcome = next((OUTCOMES[child.tag] for child in case if child.tag in OUTCOMES), "passed")
        setattr(group, outcome, getattr(group, outcome) + 1)
        group.seconds += float(case.get("time", "0"))
    return [found[name] for name in sorted(found)]


def read_page(page: str) -> list[Group]:
    """Return the groups that a page has rows for."""
    return [
        Group(name, commit, int(passed), int(failed), int(skipped), float(seconds))
        for name, passed, failed, skipped, seconds, commit in _ROW.findall(page)
    ]


def merge_groups(before: list[Group], measured: list[Group]) -> list[Group]:
    """Return all groups by name, each as it was measured last."""
    newest = {group.name: group for group in [*before, *measured]}
    return [newest[name] for name in sorted(newest)]


def markdown(measured: list[Group]) -> str:
    """Return the whole page."""
    total = Group("**all**")
    for group in measured:
        total.passed += group.passed
        total.failed += group.failed
        total.skipped += group.skipped
        total.seconds += group.seconds
    return "\n".join(
        [
            "# System tests",
            "",
            "Written by `make test-system`; do not edit. A `+` behind a commit means that files differed from it.",
            "",
            f"Python {platform.python_version()}, {platform.system()} {platform.machine()}.",
            "",
            "| group | tests | passed | failed | skipped | seconds | commit |",
            "|---|---:|---:|---:|---:|---:|---|",
            *(group.row() for group in [*measured, total]),
            "",
        ]
    )


def commit_name() -> str:
    """Return the commit that is checked out, and whether files differ from it."""
    sha = _git("rev-parse", "--short=8", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--", ".", ":!benchmarks/results", ":!docs/test-system.md")
    return f"{sha}+" if changed else sha


def _git(*arguments: str) -> str:
    try:
        result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def main() -> int:
    """Run, write, print; the exit code is that of pytest."""
    commit = commit_name()
    with tempfile.TemporaryDirectory() as directory:
        junit = Path(directory) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-m", "system", f"--junitxml={junit}", *sys.argv[1:]]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if not junit.exists():
            return code or 1
        measured = groups(junit.read_text(encoding="utf-8"), commit)
    if sys.argv[1:] and TARGET.exists():
        measured = merge_groups(read_page(TARGET.read_text(encoding="utf-8")), measured)
    page = markdown(measured)
    TARGET.write_text(page, encoding="utf-8")
    print(page)
    return code


if __name__ == "__main__":
    sys.exit(main())
