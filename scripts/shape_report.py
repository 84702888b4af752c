"""Measure how hard the code under ``src`` is to read, so that two states of it can be compared.

``python scripts/shape_report.py`` prints a table, with ``--json`` the same as JSON together with the names that were
counted. One part is read from the source: names, imports, protocols, comments. The other part comes from running four
everyday operations on embedded defaults: which files their functions stand in, and how often the next function that is
called is in another file than the one before. Nothing is reached but this machine.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import dis
import io
import json
import os
import re
import sys
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "memstone"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the report, and the names that were counted where they help to find them."""

    label: str
    value: float
    names: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON, with the names that were counted")
    options = parser.parse_args(arguments)
    figures = [*measure_source(read_modules(root / "src")), *measure_operations(root)]
    print(format_json(figures) if options.json else format_table(figures))
    return 0


def format_table(figures: Sequence[Figure]) -> str:
    """Return the figures as text, one a line."""
    width = max(len(figure.label) for figure in figures)
    return "\n".join(f"{figure.label:<{width}}  {figure.value:>9,}" for figure in figures)


def format_json(figures: Sequence[Figure]) -> str:
    """Return the figures by label, and beside them the names that were counted."""
    names = {figure.label: list(figure.names) for figure in figures if figure.names}
    return json.dumps({"figures": {figure.label: figure.value for figure in figures}, "names": names}, indent=2)


# --- names and comments -----------------------------------------------------------------------------------------------

_OTHER_WORDS: Final = frozenset(
    "anything bed bring ceiling during embed everything exceed feed keyring king need nothing ping proceed red ring "
    "seed shed sing something speed spring string succeed thing wing".split()
)
"""Words that end like a participle or gerund and are none."""
_IRREGULAR: Final = (
    "begun bent born bought bound bred broken brought built burnt caught chosen dealt done drawn driven eaten fallen "
    "fed felt fled flown forbidden forgotten fought found frozen given gone got ground grown heard held hidden hung "
    "kept known laid led left lent lit lost made meant met paid proven read said seen sent shaken shot shown shrunk "
    "sold sought spelt spent spoken spun stood stolen struck stuck sung sunk swept sworn swung taken taught thought "
    "thrown told torn understood woken won worn wound woven written"
).split()
"""Participles by themselves. Those that no reader tells from the verb (put, set, cut) are left out, all but read."""
_PARTICIPLE: Final = re.compile(rf"[a-z]+(?:ed|ing)|(?:un|re|over|fore|mis)*(?:{'|'.join(_IRREGULAR)})")


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file under ``src``; a package is the module of its ``__init__.py``."""

    name: str
    path: Path
    text: str
    lines: int
    tree: ast.Module
    is_package: bool


Modules: TypeAlias = Mapping[str, Module]
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def read_modules(source: Path) -> dict[str, Module]:
    """Read every Python file below a directory."""
    modules: dict[str, Module] = {}
    for path in sorted(source.rglob("*.py")):
        text, parts = path.read_text(encoding="utf-8"), path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        tree = ast.parse(text, filename=str(path))
        modules[name] = Module(name, path, text, len(text.splitlines()), tree, is_package)
    return modules


def measure_source(modules: Modules) -> list[Figure]:
    """Measure everything that can be read from the source."""
    classes = Classes(modules)
    return [
        Figure("Python files under src", len(modules)),
        Figure("lines under src", sum(module.lines for module in modules.values())),
        *measure_names(modules),
        *measure_lone_imports(modules),
        *measure_cycles(modules),
        *measure_protocols(classes),
        *measure_methods(classes, f"{PACKAGE}.Memory"),
        *measure_comments(modules),
        *measure_class_names(classes),
        *measure_engine_uses(modules),
    ]


def measure_names(modules: Modules) -> list[Figure]:
    """Count how many functions have names that do not say what is done to what."""
    names = [name for module in modules.values() for name in list_function_names(module.tree)]
    return [
        Figure("functions", len(names)),
        *_count_share("functions named by a bare participle or gerund", filter(is_participle, names), len(names)),
        *_count_share("functions named by one word", (name for name in names if "_" not in name), len(names)),
    ]


def list_function_names(tree: ast.AST) -> list[str]:
    """List the names of functions without underscores around them; special methods have theirs from the language."""
    names = (node.name for node in ast.walk(tree) if isinstance(node, FunctionNode))
    return [name.strip("_") for name in names if not (name.startswith("__") and name.endswith("__"))]


def is_participle(name: str) -> bool:
    """Return whether a name is nothing but a participle or gerund."""
    return name not in _OTHER_WORDS and _PARTICIPLE.fullmatch(name) is not None


def _count_share(label: str, names: Iterable[str], total: int) -> list[Figure]:
    counts = Counter(names)
    share = round(100 * counts.total() / total, 1) if total else 0.0
    return [Figure(label, counts.total(), _list_counts(counts)), Figure(f"{label}, %", share)]


def _list_counts(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{name} {count}" for name, count in counts.most_common())


def measure_comments(modules: Modules) -> list[Figure]:
    """Count comments, one for each line with ``#``; docstrings are none."""
    texts = (io.StringIO(module.text) for module in modules.values())
    tokens = (token for text in texts for token in tokenize.generate_tokens(text.readline))
    comments = sum(token.type == tokenize.COMMENT for token in tokens)
    lines = sum(module.lines for module in modules.values())
    return [Figure("comments per thousand lines", round(1000 * comments / lines, 1) if lines else 0.0)]


def measure_engine_uses(modules: Modules) -> list[Figure]:
    """Count where code outside the engine uses ``._engine``, its own or that of another object."""
    uses = [
        (module.name, ast.unparse(node.value))
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "_engine"
        if not f"{module.name}.".startswith(f"{PACKAGE}.engine.")
    ]
    everywhere = Counter(name for name, _ in uses)
    elsewhere = Counter(name for name, owner in uses if owner not in {"self", "cls"})
    return [
        Figure("uses of ._engine outside the engine", everywhere.total(), _list_counts(everywhere)),
        Figure("uses of ._engine of another object than self", elsewhere.total(), _list_counts(elsewhere)),
    ]


# --- imports ----------------------------------------------------------------------------------------------------------


def measure_lone_imports(modules: Modules) -> list[Figure]:
    """Count the modules that one module of the same folder imports and nobody else.

    Imports inside functions and for types count here, and so do modules that are loaded by a name in a string.
    """
    importers = defaultdict[str, set[str]](set)
    for name, targets in list_imports(modules, at_load=False).items():
        for target in targets:
            importers[target].add(name)
    lone = {
        name: user
        for name, users in sorted(importers.items())
        for user in users
        if len(users) == 1 and modules[user].path.parent == modules[name].path.parent and not modules[name].is_package
    }
    names = tuple(f"{name} by {user}" for name, user in lone.items())
    return [
        Figure("modules that only one sibling imports", len(lone), names),
        Figure("lines in modules that only one sibling imports", sum(modules[name].lines for name in lone)),
    ]


def measure_cycles(modules: Modules) -> list[Figure]:
    """Count groups of modules that need each other when they are loaded."""
    cycles = find_cycles(list_imports(modules, at_load=True))
    return [
        Figure("import cycles", len(cycles), tuple(" ".join(cycle) for cycle in cycles)),
        Figure("modules in import cycles", sum(len(cycle) for cycle in cycles)),
    ]


def list_imports(modules: Modules, *, at_load: bool) -> dict[str, set[str]]:
    """List which modules each module imports.

    With ``at_load`` only what is imported when the module is loaded: nothing inside functions or under
    ``TYPE_CHECKING``. The packages around a module are loaded with it as well; that is no import of its own.
    """
    graph: dict[str, set[str]] = {}
    for module in modules.values():
        statements = _iterate_imports(module.tree, at_load=at_load)
        targets = {target for node in statements for target in _resolve_import(node, module, modules)}
        names = set() if at_load else _find_modules_in_strings(module, modules)
        graph[module.name] = (targets | names) - {module.name}
    return graph


def _iterate_imports(node: ast.AST, *, at_load: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif at_load and isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _iterate_imports(ast.Module(child.orelse, []), at_load=True)
        elif not (at_load and isinstance(child, FunctionNode)):
            yield from _iterate_imports(child, at_load=at_load)


def _resolve_import(node: ast.Import | ast.ImportFrom, module: Module, modules: Modules) -> Iterator[str]:
    """Yield the modules that a statement imports, as far as they are ours."""
    base = _resolve_base(node, module)
    for alias in node.names:
        names = [name for name in (f"{base}{alias.name}", base.removesuffix(".")) if name in modules]
        yield from names[:1]


def _resolve_base(node: ast.Import | ast.ImportFrom, module: Module) -> str:
    """Return what stands before the names that a statement imports, with a dot at its end."""
    if isinstance(node, ast.Import):
        return ""
    parts = module.name.split(".")
    parts = parts[: len(parts) + module.is_package - node.level] if node.level else []
    return "".join(f"{part}." for part in [*parts, node.module] if part)


def _find_modules_in_strings(module: Module, modules: Modules) -> set[str]:
    """Find modules that are named as ``package.module`` or ``package.module:Class``."""
    values = (node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    names = {value.partition(":")[0] for value in values if isinstance(value, str)}
    return {name for name in names if name in modules and not modules[name].is_package}


def find_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Find the strongly connected components that have more than one module."""
    reach = {name: _list_reachable(graph, name) for name in graph}
    groups = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _list_reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reachable, queue = set[str](), [start]
    while queue:
        new = graph[queue.pop()] - reachable
        reachable |= new
        queue += new
    return reachable


# --- classes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Class:
    """A class with its full name and those of its bases."""

    name: str
    node: ast.ClassDef
    bases: tuple[str, ...]


class Classes:
    """All classes of some modules, and what they inherit."""

    def __init__(self, modules: Modules) -> None:
        self._names = {module.name: _list_meanings(module) for module in modules.values()}
        self.all = [
            Class(f"{name}.{node.name}", node, tuple(_resolve_name(base, self._names[name]) for base in node.bases))
            for name, module in modules.items()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        ]
        self.protocols = [one for one in self.all if "typing.Protocol" in one.bases]
        self._by_name = {one.name: one for one in reversed(self.all)}

    def find(self, name: str) -> Class | None:
        """Find a class by its full name, also where another module passes it on."""
        module, _, last = name.rpartition(".")
        other = self._names.get(module, {}).get(last, name)
        return self._by_name.get(name) if other == name else self.find(other)

    def list_lineage(self, one: Class) -> list[Class]:
        """List a class and those it inherits from, as far as they are ours."""
        bases = [base for name in one.bases if (base := self.find(name)) is not None]
        return [one, *(ancestor for base in bases for ancestor in self.list_lineage(base))]

    def list_members(self, one: Class) -> set[str]:
        """List the methods and attributes a class has, of its own or by inheritance."""
        return {name for ancestor in self.list_lineage(one) for name in _iterate_members(ancestor.node)}

    def list_demands(self, protocol: Class) -> set[str]:
        """List the methods that a protocol asks for; where it has none, the attributes."""
        nodes = (node for ancestor in self.list_lineage(protocol) for node in ancestor.node.body)
        return {node.name for node in nodes if isinstance(node, FunctionNode)} or self.list_members(protocol)


def _list_meanings(module: Module) -> dict[str, str]:
    """Map the names a module uses to full names: of its own classes, and of what it imports."""
    imports = {
        alias.asname or alias.name: f"{_resolve_base(node, module)}{alias.name}"
        for node in _iterate_imports(module.tree, at_load=False)
        for alias in node.names
    }
    own = (node.name for node in module.tree.body if isinstance(node, ast.ClassDef))
    return imports | {name: f"{module.name}.{name}" for name in own}


def _resolve_name(node: ast.expr, meanings: Mapping[str, str]) -> str:
    """Return the full name of what stands as a base of a class, such as ``Name``, ``module.Name`` or ``Name[T]``."""
    first, dot, rest = ast.unparse(node.value if isinstance(node, ast.Subscript) else node).partition(".")
    return f"{meanings.get(first, first)}{dot}{rest}"


def _iterate_members(node: ast.ClassDef) -> Iterator[str]:
    """Yield methods, and attributes of the class and of ``self``."""
    for child in node.body:
        if isinstance(child, FunctionNode):
            yield child.name
            attributes = (inner for inner in ast.walk(child) if isinstance(inner, ast.Attribute))
            stores = (inner for inner in attributes if isinstance(inner.ctx, ast.Store))
            yield from (inner.attr for inner in stores if ast.unparse(inner.value) == "self")
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def measure_protocols(classes: Classes) -> list[Figure]:
    """Count the protocols, and those that at most one class implements: has all their methods, by name."""
    members = {one.name: classes.list_members(one) for one in classes.all if one not in classes.protocols}
    demands = {one.name: classes.list_demands(one) for one in classes.protocols}
    users = {name: [user for user, those in members.items() if need <= those] for name, need in demands.items()}
    rare = tuple(f"{name} by {', '.join(those) or 'none'}" for name, those in users.items() if len(those) <= 1)
    return [
        Figure("Protocol classes", len(classes.protocols)),
        Figure("Protocol classes with at most one implementation", len(rare), rare),
    ]


def measure_methods(classes: Classes, name: str) -> list[Figure]:
    """Count the public methods of a class, inherited ones too, and how many of them return ``dict[str, Any]``."""
    one = classes.find(name)
    nodes = [node for ancestor in (classes.list_lineage(one) if one else ()) for node in ancestor.node.body]
    results: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, FunctionNode) and not node.name.startswith("_") and not _is_property(node):
            results.setdefault(node.name, ast.unparse(node.returns) if node.returns else "")
    plain = tuple(method for method, result in results.items() if result == "dict[str, Any]")
    label = f"public methods of {name.rpartition('.')[2]}"
    return [
        Figure(label, len(results), tuple(results)),
        Figure(f"{label} that return dict[str, Any]", len(plain), plain),
    ]


def _is_property(node: FunctionNode) -> bool:
    return any(re.search(r"property|\.setter", ast.unparse(decorator)) for decorator in node.decorator_list)


def measure_class_names(classes: Classes) -> list[Figure]:
    """Count the names that more than one class has."""
    counts = Counter(one.node.name for one in classes.all)
    repeats = Counter({name: count for name, count in counts.items() if count > 1})
    return [
        Figure("class names that exist more than once", len(repeats), _list_counts(repeats)),
        Figure("classes whose name exists more than once", repeats.total()),
    ]


# --- operations -------------------------------------------------------------------------------------------------------

ROUNDS: Final = 5
"""So often each operation is measured, after it was run once; the figures are medians, for threads take turns."""
_SENTENCE: Final = "I live in Oslo and I like tea."
_QUESTION: Final = "Where do I live?"
_MESSAGE: Final = "I work as a nurse. Where do I live?"
_PATIENCE: Final = 60.0
_CALLS: Final[ContextVar[list[str] | None]] = ContextVar("calls", default=None)
"""Where files are written: for tasks and threads of an operation too, not for callbacks that a pool of threads runs."""

Traces: TypeAlias = dict[str, list[list[str]]]
"""Operations by name; for each time one was run the files of the functions that were called, in their order."""


def measure_operations(root: Path, rounds: int = ROUNDS) -> list[Figure]:
    """Run the operations, and measure in which files they happen."""
    if str(root / "src") not in sys.path:
        sys.path.insert(0, str(root / "src"))
    with observe_calls(root / "src" / PACKAGE):
        traces = trace_library(rounds) | asyncio.run(trace_service(rounds))
    return [figure for name, calls in traces.items() for figure in summarize_calls(name, calls[1:])]


def summarize_calls(name: str, rounds: Sequence[Sequence[str]]) -> list[Figure]:
    """Return the figures of an operation."""
    files = {file for calls in rounds for file in calls}
    lines = {file: len(Path(file).read_text(encoding="utf-8").splitlines()) for file in files}
    return [
        Figure(f"{name}: files", round(median(len(set(calls)) for calls in rounds))),
        Figure(f"{name}: lines in them", round(median(sum(lines[file] for file in set(calls)) for calls in rounds))),
        Figure(f"{name}: changes of file", round(median(map(count_changes, rounds)))),
    ]


def count_changes(calls: Sequence[str]) -> int:
    """Count how often a function is in another file than the one that was called before it."""
    return sum(one != other for one, other in pairwise(calls))


@contextmanager
def observe_calls(folder: Path) -> Iterator[None]:
    """Make ``record_calls`` see the functions of a folder, on this thread and on those that begin from now on."""
    prefix = f"{folder}{os.sep}"

    def note_call(frame: FrameType, event: str, _: object) -> None:
        calls = _CALLS.get()
        if calls is not None and event == "call" and frame.f_code.co_filename.startswith(prefix) and _is_start(frame):
            calls.append(frame.f_code.co_filename)

    threading.setprofile(note_call)
    sys.setprofile(note_call)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_start(frame: FrameType) -> bool:
    """Return whether a function begins, and does not go on after it waited; a coroutine begins when it is awaited."""
    return frame.f_lasti <= _find_start(frame.f_code)


@cache
def _find_start(code: CodeType) -> int:
    return next(one.offset for one in dis.get_instructions(code) if one.opname == "RESUME" and one.arg == 0)


@contextmanager
def record_calls() -> Iterator[list[str]]:
    """Write down the files of the functions that are called here, and in tasks and threads that are started here."""
    calls = list[str]()
    token = _CALLS.set(calls)
    try:
        yield calls
    finally:
        _CALLS.reset(token)


def trace_library(rounds: int) -> Traces:
    """Record ``Memory.add`` and ``Memory.search``, each time for a user of whom nothing is known."""
    from memstone import Memory

    traces: Traces = {"Memory.add": [], "Memory.search": []}
    with Memory({"store": {"url": "memory:"}}) as memory:
        for number in range(rounds + 1):
            for name, text in (("add", _SENTENCE), ("search", _QUESTION)):
                with record_calls() as calls:
                    answer = getattr(memory, name)(text, user_id=f"user-{number}")
                traces[f"Memory.{name}"].append(list(calls))
                check_content(answer["results"])
    return traces


def check_content(content: object, word: str = "Oslo") -> None:
    """Refuse to measure an operation that neither learned nor told what it should."""
    if word not in str(content):
        raise RuntimeError(f"this does not speak of {word}: {content}")


async def trace_service(rounds: int) -> Traces:
    """Record a request to learn and a chat that is shown what was learned, each with what goes on after its answer."""
    from memstone.server.app import create_app

    traces: Traces = {"POST /v1/memories": [], "POST /v1/chat/completions": []}
    with serve_model() as (address, requests):
        upstream = {"name": "model", "base_url": address, "api_key": "none"}
        gateway = {"upstreams": [upstream], "recall_ms": 1000 * _PATIENCE}
        app: Any = create_app({"store": {"url": "memory:"}, "gateway": gateway})
        async with app.router.lifespan_context(app):
            key = await app.state.memstone.memory.admin.keys.create("shape", may_assert_user=True)
            for number in range(rounds + 1):
                user, message = f"user-{number}", {"role": "user", "content": _MESSAGE}
                bodies: list[dict[str, Any]] = [{"messages": _SENTENCE, "user_id": user}]
                bodies += [{"model": "any", "user": user, "messages": [message]}]
                for (name, trace), body in zip(traces.items(), bodies, strict=True):
                    tasks = asyncio.all_tasks()
                    with record_calls() as calls:
                        answer = await post_json(app, key["key"], name.removeprefix("POST "), body)
                    await _await_others(tasks)
                    trace.append(list(calls))
                    check_content(answer.get("results") or requests.pop())
                search = {"query": _MESSAGE, "user_id": user}
                check_content(await post_json(app, key["key"], "/v1/memories/search", search), "nurse")
    return traces


async def _await_others(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait for the end of all tasks but these."""
    async with asyncio.timeout(_PATIENCE):
        while rest := asyncio.all_tasks() - tasks:
            await asyncio.wait(rest)


async def post_json(app: Any, key: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send an object to an application in this process, and return the one that comes back."""
    queue: list[dict[str, Any]] = [{"type": "http.request", "body": json.dumps(body).encode()}]
    parts, is_over = list[dict[str, Any]](), asyncio.Event()
    headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {key}"}
    scope: dict[str, Any] = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http"}
    scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "client": ("127.0.0.1", 1)}
    scope |= {"method": "POST", "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}

    async def receive() -> dict[str, Any]:
        if not queue:
            await is_over.wait()
        return queue.pop() if queue else {"type": "http.disconnect"}

    async def send(part: dict[str, Any]) -> None:
        parts.append(part)

    await app(scope, receive, send)
    is_over.set()
    answer: dict[str, Any] = json.loads(b"".join(part.get("body", b"") for part in parts))
    if parts[0]["status"] != HTTPStatus.OK:
        raise RuntimeError(f"{path} was answered {parts[0]['status']}: {answer}")
    return answer


@contextmanager
def serve_model() -> Iterator[tuple[str, list[str]]]:
    """Run a model on the loopback that says the same to everything; give its address and the requests it is sent."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            choice = {"index": 0, "message": {"role": "assistant", "content": "Good."}, "finish_reason": "stop"}
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", requests
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
