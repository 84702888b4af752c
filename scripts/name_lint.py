"""Fail when a name says less than it could: ``python scripts/name_lint.py``, run by ``make lint``.

Four rules, over the Python files under ``src``; the first also over ``scripts`` and ``benchmarks``. Local variables are
nobody's interface and are left to reviews, and so are tests, whose names tell what the test is about.

- The words of ``BANNED`` name nothing: no function, method, class, module, parameter, attribute or constant. They are
  participles and pronouns that fit any value, so they tell a reader nothing about the one they stand for. Fields of
  schemas and results are what clients read, and keep their names.
- A function or a module is not named by a bare participle or gerund (``listed``, ``paging``): a function is verb and
  object, a module is a noun or a public verb. ``NOUNS`` lists the words that end like one and are nouns of the trade.
- A class is not named by a bare participle (``Drafted``); errors are, for they name a state.
- A class name exists once under ``src``, so that a search for it finds one class. ``memstone.compat`` repeats names of
  other products on purpose.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDERS: Final = ("src", "scripts", "benchmarks")
BANNED: Final = frozenset("told said heard kept held shown given whose theirs mine whole meant".split())
NOUNS: Final = frozenset(
    "anything asking bed blocking ceiling embed embedding everything exceed feed heading keyring king logging need "
    "nothing ping proceed ranking read red ring seed setting sharing shed something speed spring string succeed "
    "testing thing warning wing".split()
)
"""Words that end like a participle or gerund and are none, or are nouns or verbs of the trade."""
IRREGULAR: Final = frozenset(
    "begun bent born bought bound bred broken brought built burnt caught chosen dealt done drawn driven eaten fallen "
    "fed felt fled flown forbidden forgotten fought found frozen given gone got grown heard held hidden hung "
    "kept known laid led left lent lit lost made meant met paid proven said seen sent shaken shot shown shrunk "
    "sold sought spelt spent spoken spun stood stolen struck stuck sung sunk swept sworn swung taken taught thought "
    "thrown told torn understood woken won worn wound woven written".split()
)
_PARTICIPLE: Final = re.compile(rf"[a-z]+(?:ed|ing)|(?:un|re|over|fore|mis)*(?:{'|'.join(sorted(IRREGULAR))})")
"""Those that no reader tells from the verb (put, set, cut, read) are left out."""
_WIRE: Final = re.compile(r"/(?:schemas|results)/")
"""Where the fields of classes are the names that clients send and read."""
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, order=True)
class Complaint:
    """A name that breaks a rule, and where it is."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what breaks a rule; return 1 if anything does."""
    root = Path(arguments[0]) if arguments else ROOT
    complaints = check_project(root)
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{len(complaints)} names to change; the rules stand at the top of scripts/name_lint.py")
    return 1 if complaints else 0


def check_project(root: Path) -> list[Complaint]:
    """Check every Python file of a project."""
    complaints: list[Complaint] = []
    trees: dict[str, ast.Module] = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            trees[name] = ast.parse(path.read_text(encoding="utf-8"), filename=name)
    for name, tree in trees.items():
        is_product = name.startswith("src/")
        complaints += check_banned(name, tree)
        if is_product:
            complaints += [*check_module(name), *check_definitions(name, tree)]
    complaints += check_repeats({name: tree for name, tree in trees.items() if name.startswith("src/")})
    return sorted(complaints)


def is_participle(name: str) -> bool:
    """Return whether a name is nothing but a participle or gerund."""
    word = name.strip("_").lower()
    return word not in NOUNS and _PARTICIPLE.fullmatch(word) is not None


def check_banned(path: str, tree: ast.Module) -> Iterator[Complaint]:
    """Yield the names that are banned words."""
    for name, line, what in list_names(tree):
        if name.strip("_").lower() in BANNED and not (what == "attribute" and _WIRE.search(path)):
            yield Complaint(path, line, f"{what} {name}: say what it is")


def check_module(path: str) -> Iterator[Complaint]:
    """Yield a complaint when a file, or a folder it stands in, is named by a participle."""
    parts = Path(path).with_suffix("").parts
    name = parts[-2] if parts[-1] == "__init__" else parts[-1]
    if name.lower() in BANNED or is_participle(name):
        yield Complaint(path, 1, f"module {name}: name it by a noun or a public verb")


def check_definitions(path: str, tree: ast.Module) -> Iterator[Complaint]:
    """Yield functions and classes that are named by a bare participle or gerund."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode) and not _is_special(node.name) and is_participle(node.name):
            yield Complaint(path, node.lineno, f"function {node.name}: name it by verb and object")
        elif isinstance(node, ast.ClassDef) and not path.endswith("/errors.py") and _is_one_participle(node.name):
            yield Complaint(path, node.lineno, f"class {node.name}: name it by a noun")


def check_repeats(trees: dict[str, ast.Module]) -> Iterator[Complaint]:
    """Yield classes whose name exists elsewhere."""
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, tree in trees.items():
        if "/compat/" not in path:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append((path, node.lineno))
    for name, found in places.items():
        for path, line in found[1:]:
            yield Complaint(path, line, f"class {name}: there is one in {found[0][0]}")


def list_names(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """List what a file names: functions, classes, parameters, fields, attributes and constants; not local variables."""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            yield node.name, node.lineno, "function"
            yield from ((one.arg, one.lineno, "parameter") for one in _list_parameters(node.args))
        elif isinstance(node, ast.ClassDef):
            yield node.name, node.lineno, "class"
            yield from _list_assigned(node.body, "attribute")
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno, "attribute"
        elif isinstance(node, ast.Module):
            yield from _list_assigned(node.body, "module-level name")


def _list_parameters(arguments: ast.arguments) -> Iterable[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [one for one in every if one is not None]


def _list_assigned(body: Sequence[ast.stmt], what: str) -> Iterator[tuple[str, int, str]]:
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) else []:
            if isinstance(target, ast.Name):
                yield target.id, target.lineno, what


def _is_one_participle(name: str) -> bool:
    return re.search(r"[a-z][A-Z]", name) is None and is_participle(name)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
