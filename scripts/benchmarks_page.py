"""Keep docs/benchmarks.md in step with benchmarks/results: the newest measurement of each kind, chosen rows of it.

Between ``<!-- NAME -->`` and ``<!-- end -->`` stands what a measurement says. ``--check`` fails when that is old.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"<!-- (?P<name>[a-z]+) -->\n.*?<!-- end -->", re.DOTALL)
KINDS = {
    "speed": (
        "2*.md",
        (
            "search, 10,000 of 1 user",
            "search, 10,000 of 100 users",
            "add, 10,000 of 100 users",
            "get, 10,000 of 100 users",
            "history, 10,000 of 100 users",
            "open + first search, 10,000 of 1 user",
            "resident memory, 10,000 of 1 user",
            "on disk, 10,000 of 1 user",
        ),
    ),
    "quality": (
        "quality-*.md",
        (
            "facts that are known",
            "outdated facts that are still current",
            "answer in the block",
            "search, first 5",
            "cosine over the user's turns, first 5",
            "mem0 without a model, first 5",
            "idle messages with recalled lines, plain",
        ),
    ),
    "service": ("server-*.md", ()),
    "stores": ("stores-*.md", ()),
}
"""Which files a kind is kept in, and which rows of its first table with such names are shown; none is all of them."""


def main(args: list[str] | None = None) -> int:
    """Write the page, or with ``--check`` only compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail instead of writing")
    wanted = parser.parse_args(args)
    before = PAGE.read_text("utf-8")
    after = PLACE.sub(lambda found: filled(found["name"]), before)
    if wanted.check:
        if after != before:
            print("docs/benchmarks.md is out of date: run python scripts/benchmarks_page.py")
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


def filled(name: str) -> str:
    """Return the place of a kind with the newest measurement in it."""
    pattern, rows = KINDS[name]
    path = max(RESULTS.glob(pattern), key=lambda one: one.name)
    link = os.path.relpath(path, PAGE.parent).replace(os.sep, "/")
    table = "\n".join(chosen_rows(path.read_text("utf-8"), rows))
    return f"<!-- {name} -->\n{table}\n\n[Everything that was measured]({link})\n<!-- end -->"


def chosen_rows(text: str, names: tuple[str, ...]) -> list[str]:
    """Return the head of the first table that has these rows, and the rows, in the order in which they are named."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, line, *rows = table.splitlines()
        known = {row.strip("|").split("|")[0].strip(): row for row in rows}
        if not names or known.keys() & set(names):
            return [head, line, *(rows if not names else [known[name] for name in names if name in known])]
    raise ValueError(f"no table has {names}")


if __name__ == "__main__":
    sys.exit(main())
