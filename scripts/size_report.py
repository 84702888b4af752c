"""Measure how long files and functions are.

Prints the medians of each directory and fails for a file or function that is too long to be read in one go.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
DIRECTORIES = ("src", "tests", "scripts", "benchmarks")
FILE_LIMIT = 600
FUNCTION_LIMIT = 70


@dataclass(frozen=True, slots=True)
class Size:
    """The number of lines of a file or function."""

    lines: int
    name: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Everything measured below one directory."""

    directory: str
    files: list[Size]
    functions: list[Size]

    def summary(self) -> str:
        """Return one line for people."""
        return (
            f"{self.directory}: {len(self.files)} files, median {_median(self.files)} lines, "
            f"longest {_longest(self.files)}; {len(self.functions)} functions, "
            f"median {_median(self.functions)} lines, longest {_longest(self.functions)}"
        )

    def too_long(self) -> list[str]:
        """Return one line for every file and function over its limit."""
        return [
            f"{size.name}: {size.lines} lines, the limit for a {what} is {limit}"
            for what, sizes, limit in (("file", self.files, FILE_LIMIT), ("function", self.functions, FUNCTION_LIMIT))
            for size in sizes
            if size.lines > limit
        ]


def measure(directory: Path) -> Sizes:
    """Return the sizes of all Python files below a directory; empty files do not count."""
    files: list[Size] = []
    functions: list[Size] = []
    for path in sorted(directory.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.strip():
            name = (Path(directory.name) / path.relative_to(directory)).as_posix()
            files.append(Size(len(text.splitlines()), name))
            functions += _functions(ast.parse(text, filename=str(path)), name)
    return Sizes(directory.name, files, functions)


def _functions(tree: ast.Module, name: str) -> list[Size]:
    return [
        Size((node.end_lineno or node.lineno) - node.lineno + 1, f"{name}:{node.lineno} {node.name}")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _median(sizes: list[Size]) -> int:
    return round(median(size.lines for size in sizes)) if sizes else 0


def _longest(sizes: list[Size]) -> int:
    return max((size.lines for size in sizes), default=0)


def main(root: Path = ROOT) -> int:
    """Print the report; the exit code is 1 when something is too long."""
    measured = [measure(root / name) for name in DIRECTORIES if (root / name).is_dir()]
    problems = [problem for sizes in measured for problem in sizes.too_long()]
    for line in [sizes.summary() for sizes in measured] + problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
