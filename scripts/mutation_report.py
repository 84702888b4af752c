"""Break code on purpose, one place at a time, and count how many of the breaks the tests notice.

``python scripts/mutation_report.py --folders core/checks engine/store --sample 200 -- tests/unit tests/faces`` changes
a random sample of the places where an operator, a constant, a condition or a return value can be swapped. Each change
is made in a copy of ``src``; the tests run against the copy until the first failure. What no test notices is printed
with its line: a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/memstone")
SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
}
# Only for type checkers, or for people: changing it changes nothing that a test could notice.
IGNORED_NAMES: Final = frozenset({"TYPE_CHECKING", "__all__", "__slots__"})


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one file: where, what, and the source with it."""

    path: Path
    line: int
    what: str
    place: int
    change: Callable[[ast.AST], None]

    def apply(self, source: str) -> str:
        """Return the source of the file with the change."""
        tree = ast.parse(source)
        self.change(_list_places(tree)[self.place])
        return ast.unparse(ast.fix_missing_locations(tree))


def list_mutations(path: Path, source: str) -> Iterator[Mutation]:
    """Yield every change of a file that this script knows how to make."""
    for place, node in enumerate(_list_places(ast.parse(source))):
        for what, change in _list_changes(node):
            yield Mutation(path, node.lineno, what, place, change)


def _list_places(tree: ast.Module) -> list[ast.expr | ast.stmt]:
    """Return the expressions and statements that run: no annotations, docstrings or constants of a module."""
    found: list[ast.expr | ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            found += [part for statement in body for part in _iterate_run(statement)]
    return list(dict.fromkeys(found))


def _iterate_run(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.Name) and node.id in IGNORED_NAMES:
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_comment", "decorator_list"}:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _iterate_run(part)


def _list_changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Yield what can be changed at a place, and the function that changes it there."""
    match node:
        case ast.Compare(ops=[op]) | ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPS:
            after = SWAPS[type(op)]
            yield f"{type(op).__name__} becomes {after.__name__}", _set_operator(after)
        case ast.Constant(value=bool(value)):
            yield f"{value} becomes {not value}", _set_constant(not value)
        case ast.Constant(value=int(value)):
            yield f"{value} becomes {value + 1}", _set_constant(value + 1)
        case ast.If() | ast.IfExp() | ast.While():
            yield "the condition is negated", _negate_test
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "returns None", _return_none
        case _:
            return


def _set_operator(after: type[ast.AST]) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        if isinstance(node, ast.Compare):
            node.ops = [after()]  # type: ignore[list-item]
        else:
            node.op = after()  # type: ignore[attr-defined]

    return change


def _set_constant(value: object) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        node.value = value  # type: ignore[attr-defined]

    return change


def _negate_test(node: ast.AST) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]


def _return_none(node: ast.AST) -> None:
    node.value = ast.Constant(None)  # type: ignore[attr-defined]


class Trial:
    """A copy of the package in which one mutation after the other is tried."""

    def __init__(self, folder: Path, tests: list[str], seconds: float) -> None:
        """Copy the package into a folder of its own."""
        self._source = folder / "src"
        shutil.copytree(ROOT / "src", self._source, ignore=shutil.ignore_patterns("__pycache__"))
        self._command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
        self._command += ["-m", "not system and not llm", *tests]
        self._seconds = seconds

    def is_noticed(self, mutation: Mutation | None) -> bool:
        """Return whether the tests fail with the mutation, or run for longer than they may."""
        target = self._source.parent / mutation.path if mutation else None
        before = target.read_text(encoding="utf-8") if target else ""
        if target and mutation:
            target.write_text(mutation.apply(before), encoding="utf-8")
        try:
            environment = {**os.environ, "PYTHONPATH": str(self._source)}
            done = subprocess.run(
                self._command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=self._seconds
            )
        except subprocess.TimeoutExpired:
            return True
        finally:
            if target:
                target.write_text(before, encoding="utf-8")
        return done.returncode != 0


def find_survivors(mutations: list[Mutation], tests: list[str], workers: int, seconds: float) -> list[Mutation]:
    """Return the mutations that no test notices, and print the progress."""
    survivors: list[Mutation] = []
    with tempfile.TemporaryDirectory() as folder:
        trials = [Trial(Path(folder) / str(number), tests, seconds) for number in range(workers)]
        if trials[0].is_noticed(None):
            sys.exit("The tests fail, or take too long, without any change.")

        def work(number: int) -> None:
            for count, mutation in enumerate(mutations[number::workers], 1):
                noticed = trials[number].is_noticed(mutation)
                print(f"{number}:{count} {'noticed' if noticed else 'SURVIVES'} {describe(mutation)}", flush=True)
                if not noticed:
                    survivors.append(mutation)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, range(workers)))
    return survivors


def describe(mutation: Mutation) -> str:
    """Return where and what a mutation is, in one line."""
    return f"{mutation.path}:{mutation.line}: {mutation.what}"


def main() -> int:
    """Sample, try, and print the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", nargs="+", default=["core/checks", "engine/store"], help="below src/memstone")
    parser.add_argument("--sample", type=int, default=200, help="how many changes, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long the tests may run for one change")
    parser.add_argument("tests", nargs="*", default=["tests/unit"])
    wanted = parser.parse_args()
    paths = [path for folder in wanted.folders for path in sorted((ROOT / PACKAGE / folder).rglob("*.py"))]
    mutations = [
        mutation
        for path in paths
        for mutation in list_mutations(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]
    sample = random.Random(wanted.seed).sample(mutations, min(wanted.sample, len(mutations)))  # noqa: S311
    survivors = find_survivors(sample, wanted.tests, wanted.workers, wanted.seconds)
    print("\n".join(["", "Not noticed:", *sorted(map(describe, survivors))]))
    noticed = len(sample) - len(survivors)
    print(f"{noticed} of {len(sample)} noticed ({noticed / max(1, len(sample)):.0%}), of {len(mutations)} possible.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
