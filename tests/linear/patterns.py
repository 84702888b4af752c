"""Every regular expression of the package, and how it is used.

Expressions are found by importing all modules and looking through what they hold; those that are written inside
functions are read from the source. So a new one is covered by being there.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import memstone

SCAN, MATCH, FULLMATCH = "finditer", "match", "fullmatch"
EVERY: Final = frozenset({SCAN, MATCH, FULLMATCH})
_USES: Final = {
    **dict.fromkeys(("search", "finditer", "findall", "sub", "subn", "split"), SCAN),
    "match": MATCH,
    "fullmatch": FULLMATCH,
}
_OF_PATTERNS: Final = frozenset(_USES) - {"split"}
"""Those that a text does not have."""

_DEPTH: Final = 8


@dataclass(slots=True)
class Found:
    """One expression: where it stands first, and the methods it is used with."""

    pattern: re.Pattern[Any]
    place: str
    uses: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Source:
    """What the source of a module says of expressions."""

    uses: dict[str, set[str]] = field(default_factory=dict)
    """Methods by the name of the global they are called on; every one for a global that is used in another way."""

    tables: dict[str, set[str]] = field(default_factory=dict)
    """Methods by the name of a global that holds expressions: those called in the functions that go through it."""

    inline: list[tuple[int, re.Pattern[Any], str]] = field(default_factory=list)
    built: list[int] = field(default_factory=list)
    """Lines where an expression is made of what is only known at run time."""


@cache
def modules() -> tuple[ModuleType, ...]:
    """Import the whole package."""
    # Integrations have no patterns, and what they import may not be installed.
    left_out = ("__main__", "memstone.integrations.")
    names = [one.name for one in pkgutil.walk_packages(memstone.__path__, "memstone.")]
    names = [name for name in names if not any(part in name for part in left_out)]
    return tuple(importlib.import_module(name) for name in names)


@cache
def every_pattern() -> tuple[Found, ...]:
    """Return all expressions that are written in the package, each once."""
    found: dict[tuple[Any, int], Found] = {}
    sources = {module.__name__: _source(module) for module in modules()}
    used = _used_by_name(sources)
    for module in modules():
        for name, value in vars(module).items():
            uses = used.get((module.__name__, name), set())
            if not isinstance(value, re.Pattern):
                uses = sources[module.__name__].tables.get(name, set())
            for pattern in _within(value):
                _note(found, pattern, f"{module.__name__}.{name}", uses or set(EVERY))
        for line, pattern, method in sources[module.__name__].inline:
            _note(found, pattern, f"{module.__name__}:{line}", {method})
    return tuple(found.values())


def _note(found: dict[tuple[Any, int], Found], pattern: re.Pattern[Any], place: str, uses: set[str]) -> None:
    known = found.setdefault((pattern.pattern, pattern.flags), Found(pattern, place.removeprefix("memstone.")))
    known.uses |= uses


def built_at_run_time() -> list[str]:
    """Return where expressions are made of what is only known at run time, as "module: function"."""
    return [
        f"{module.__name__.removeprefix('memstone.')}: {_function_at(module, line)}"
        for module in modules()
        for line in _source(module).built
    ]


def _within(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Give the expressions in a value: itself, or what a container or a record holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < _DEPTH:
        for inner in _parts(value):
            yield from _within(inner, depth + 1)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, one.name, None) for one in fields(value))
    elif isinstance(value, FunctionType):  # what a function was made with, such as the one that finds a kind of secret
        yield from (cell.cell_contents for cell in value.__closure__ or ())
    elif isinstance(value, partial):
        yield from (*value.args, *value.keywords.values())
    elif hasattr(value, "cache_info") and not signature(value).parameters:  # what is worked out when it is first wanted
        yield value()


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text("utf-8"))


@cache
def _nodes(module: ModuleType) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(module)))


@cache
def _source(module: ModuleType) -> _Source:
    message = _Source()
    called: set[int] = set()
    for node in _nodes(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _USES:
            called.add(id(node.value))
            message.uses.setdefault(node.value.id, set()).add(_USES[node.attr])
        if isinstance(node, ast.Call) and _is_of_re(node) and not _is_global(module, node):
            _read_inline(module, node, message)
    for node in _nodes(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            message.uses.setdefault(node.id, set()).update(EVERY)
    for function in _functions(module):
        inside = list(ast.walk(function))
        names = {node.id for node in inside if isinstance(node, ast.Name)}
        called_here = {
            _USES[node.attr]
            for node in inside
            if isinstance(node, ast.Attribute) and node.attr in _OF_PATTERNS and not _is_global_name(module, node.value)
        }
        for name in names & set(vars(module)):
            message.tables.setdefault(name, set()).update(called_here)
    return message


def _is_global_name(module: ModuleType, node: ast.expr) -> bool:
    return not isinstance(node, ast.Name) or node.id in vars(module)


@cache
def _functions(module: ModuleType) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    return tuple(one for one in _nodes(module) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _is_of_re(call: ast.Call) -> bool:
    """Whether a call is one of the functions of ``re`` that take an expression."""
    function = call.func
    is_re = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
    return is_re and isinstance(function, ast.Attribute) and function.attr in {*_USES, "compile"}


@cache
def _in_functions(module: ModuleType) -> frozenset[int]:
    return frozenset(id(node) for function in _functions(module) for node in ast.walk(function))


def _is_global(module: ModuleType, call: ast.Call) -> bool:
    """Whether a call stands in no function: what it makes is found among what the module holds."""
    return id(call) not in _in_functions(module)


def _read_inline(module: ModuleType, call: ast.Call, message: _Source) -> None:
    """Read an expression inside a function, where all it is made of is known to the module."""
    function = call.func
    method = _USES.get(function.attr, SCAN) if isinstance(function, ast.Attribute) else SCAN
    flags = [one.value for one in call.keywords if one.arg == "flags"] + call.args[_flags_at(call) :][:1]
    try:
        written = _evaluated(module, call.args[0])
        pattern = re.compile(written, _evaluated(module, flags[0]) if flags else 0)
    except (NameError, TypeError, AttributeError):
        message.built.append(call.lineno)
    else:
        for one in EVERY if getattr(function, "attr", "") == "compile" else (method,):
            message.inline.append((call.lineno, pattern, one))


def _flags_at(call: ast.Call) -> int:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(name, 2)


def _evaluated(module: ModuleType, node: ast.expr) -> Any:
    code = compile(ast.Expression(node), "<pattern>", "eval")
    return eval(code, dict(vars(module)))  # noqa: S307 - the package's own source


def _function_at(module: ModuleType, line: int) -> str:
    around = [one for one in _functions(module) if one.lineno <= line <= (one.end_lineno or 0)]
    return max(around, key=lambda one: one.lineno).name


def _used_by_name(sources: Mapping[str, _Source]) -> dict[tuple[str, str], set[str]]:
    """Join what modules do with an expression of their own and of others that they import by its name."""
    used: dict[tuple[str, str], set[str]] = {}
    for module in modules():
        imported = _imports(module)
        for name, uses in sources[module.__name__].uses.items():
            home = imported.get(name, (module.__name__, name))
            for key in {home, (module.__name__, name)}:
                used.setdefault(key, set()).update(uses)
    return used


def _imports(module: ModuleType) -> dict[str, tuple[str, str]]:
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in _nodes(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
