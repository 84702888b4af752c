"""Make the methods of ``Client`` and ``AsyncClient`` from those of ``Memory``.

A client has the same methods, with the same signatures and docstrings; each sends its arguments to the service. So they
are not written a second time, nor a third: they are read from ``memory.py`` and ``faces/*.py``. Run without arguments
to write the files, with ``--check`` to learn whether they are up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memstone.remote.verbs import LEFT_OUT, NOT_OVER_HTTP

PACKAGE: Final = Path(__file__).resolve().parent.parent / "src" / "memstone"
WIDTH: Final = 120
OWN_WAY: Final = {
    "context": "self._link.context(given)",
    "export": "self._link.export(given)",
    "load": "self._link.load(records)",
    "reset": "self._link.reset()",
}
"""Methods that are more than one request with the arguments of the call."""

PROGRESS: Final = re.compile(r"(?<=\.)\s+``progress\(done, total\)``[^.]*\.")

CLIENT: Final = (
    (r'^"""The blocking client', '"""The asyncio client'),
    (
        r"``async_client\.py`` is made[^\"]*?in step\.",
        "Made from ``client.py`` by ``scripts/make_client.py``: do not edit, change the original.",
    ),
    (r"memstone\.remote\.blocking", "memstone.remote.aio"),
    (r"class Client\(", "class AsyncClient("),
    (r"<memstone\.Client", "<memstone.AsyncClient"),
    (r'"blocking"', '"asyncio"'),
    (r"from memstone\.drive import drive\n", ""),
    (r"drive\((.+)\)\n", r"await \1\n"),
    (r"    def close\(", "    async def close("),
    (r"    def __enter__\(", "    async def __aenter__("),
    (r"    def __exit__\(", "    async def __aexit__("),
    (r"        self\.close\(\)\n", "        await self.close()\n"),
)


class Module:
    """A file with methods of ``Memory``, and the two that are made from it."""

    def __init__(self, path: Path) -> None:
        self.name = "remembering" if path.name == "memory.py" else path.stem
        self._tree = ast.parse(path.read_text("utf-8"))
        found = next(node for node in self._tree.body if isinstance(node, ast.ClassDef))
        self.class_name = "Remembering" if path.name == "memory.py" else found.name
        self._doc = "What is remembered: the verbs every memory has." if path.name == "memory.py" else _doc(found)
        self.methods = [
            node
            for node in found.body
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in NOT_OVER_HTTP
        ]

    def written(self, *, waits: bool) -> str:
        """The file, for the client that waits on a loop or for the one that blocks."""
        body = "\n\n".join(_method(node, waits=waits) for node in self.methods)
        kind = "AsyncClient" if waits else "Client"
        head = f'"""{self._doc}\n\nThe part of ``{kind}``, made by ``scripts/make_client.py``: do not edit.\n"""\n\n'
        return (
            head
            + "from __future__ import annotations\n\n"
            + "".join(f"{line}\n" for line in self._imports(body, waits=waits))
            + f'\n\nclass {self.class_name}(Remote):\n    """{self._doc}"""\n\n{body}\n'
        )

    def _imports(self, body: str, *, waits: bool) -> Iterator[str]:
        """The imports that the signatures need: of the standard library, our own, and those for annotations alone."""
        code = re.sub(r'"""[\s\S]*?"""', "", body)
        lines, types = _import_lines(self._tree.body, code), _import_lines(_type_checking(self._tree), code)
        lines["memstone.remote.base"] = ["Remote"]
        used = [name for name in ("drive", "drive_iter") if re.search(rf"\b{name}\(", code)]
        if used and not waits:
            lines["memstone.drive"] = used
        typing = [name for name in ("Any", "Literal", "overload") if re.search(rf"\b{name}\b", code)]
        lines["typing"] = ["TYPE_CHECKING", *typing] if types else typing
        lines = {module: names for module, names in lines.items() if names}
        standard = [name for name in lines if not name.startswith("memstone")]
        yield from (_import_line(name, lines[name]) for name in sorted(standard))
        if standard:
            yield ""
        yield from (_import_line(name, lines[name]) for name in sorted(lines) if name not in standard)
        if types:
            yield "\nif TYPE_CHECKING:"
            yield from (_import_line(name, types[name], "    ") for name in sorted(types))


def _type_checking(tree: ast.Module) -> list[ast.stmt]:
    """The imports for annotations alone."""
    blocks = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return [statement for block in blocks for statement in block.body]


def _import_lines(statements: list[ast.stmt], code: str) -> dict[str, list[str]]:
    """What is imported by these statements and used by some code, by module."""
    found = dict[str, list[str]]()
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "__future__", "memstone.drive"):
            names = [one.name for one in node.names if re.search(rf"\b{one.name}\b", code)]
            names += ["AsyncIterator"] if "AsyncIterator" in code and node.module == "collections.abc" else []
            if names:
                found[node.module] = names
    return found


def _import_line(module: str, names: list[str], indent: str = "") -> str:
    """One import, as the formatter would write it."""
    names = sorted(names, key=lambda name: (not name.isupper(), name.islower(), name))  # as the linter sorts them
    line = f"{indent}from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"{indent}    {name},\n" for name in names)
    return f"{indent}from {module} import (\n{inner}{indent})"


def _method(node: ast.FunctionDef, *, waits: bool) -> str:
    """One method: the signature and the docstring as they are, and a body that asks the service."""
    if any(ast.unparse(one) == "overload" for one in node.decorator_list):
        returns = ast.unparse(node.returns) if node.returns else "None"
        return f"    @overload\n{_signature(node, returns, waits=waits, awaited=True)} ..."
    names = _sendable(node)
    call = OWN_WAY.get(node.name, f'self._link.call("{node.name}", given)')
    returns = ast.unparse(node.returns) if node.returns else "None"
    is_plain = node.name != "export"
    lines = [_signature(node, returns, waits=waits, awaited=is_plain), f'        """{_docstring(node)}"""']
    if "given" in call and call.startswith("self"):
        lines += _given(names)
    lines += _answer(call, returns, waits=waits, awaited=is_plain, own=node.name in OWN_WAY)
    return "\n".join(lines)


def _answer(call: str, returns: str, *, waits: bool, awaited: bool, own: bool) -> list[str]:
    if not awaited:
        return [f"        return {call}" if waits else f"        return drive_iter({call})"]
    asked = f"await {call}" if waits else f"drive({call})"
    if returns == "None":
        return [f"        {asked}"]
    return [f"        return {asked}"] if own else [f"        result: {returns} = {asked}", "        return result"]


def _sendable(node: ast.FunctionDef) -> list[str]:
    every = [*node.args.args[1:], *node.args.kwonlyargs]
    return [one.arg for one in every if one.arg not in LEFT_OUT]


def _given(names: list[str]) -> list[str]:
    pairs = [f'"{name}": {name}' for name in names]
    line = f"        given: dict[str, Any] = {{{', '.join(pairs)}}}"
    if len(line) <= WIDTH:
        return [line]
    return ["        given: dict[str, Any] = {", *(f"            {pair}," for pair in pairs), "        }"]


def _signature(node: ast.FunctionDef, returns: str, *, waits: bool, awaited: bool) -> str:
    """The head of a method, on one line if it fits, as the formatter would write it."""
    parts = ["self", *_arguments(node)]
    word = "async def" if waits and awaited else "def"
    answer = returns.replace("Iterator[", "AsyncIterator[") if waits else returns
    line = f"    {word} {node.name}({', '.join(parts)}) -> {answer}:"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"    {word} {node.name}(", *(f"        {one}," for one in parts), f"    ) -> {answer}:"])


def _arguments(node: ast.FunctionDef) -> Iterator[str]:
    given = node.args
    plain = given.args[1:]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        if argument.arg not in LEFT_OUT:
            yield _argument(argument, default)
    if any(one.arg not in LEFT_OUT for one in given.kwonlyargs):
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if argument.arg not in LEFT_OUT:
            yield _argument(argument, default)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = ast.unparse(argument.annotation) if argument.annotation else "Any"
    if default is None:
        return f"{argument.arg}: {kind}"
    value = ast.unparse(default).replace("'", '"')
    return f"{argument.arg}: {kind} = {value}"


def _doc(node: ast.ClassDef) -> str:
    return ast.get_docstring(node) or node.name


def _docstring(node: ast.FunctionDef) -> str:
    """The docstring as it stands in the file, but for what cannot be sent."""
    expression = node.body[0]
    if not (isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Constant)):
        raise SystemExit(f"{node.name} has no docstring")
    text = PROGRESS.sub("", str(expression.value.value))
    return text if "\n" in text.strip() else text.strip()


def modules() -> list[Module]:
    """Every file with methods of ``Memory``, in the order of its bases."""
    tree = ast.parse((PACKAGE / "memory.py").read_text("utf-8"))
    memory = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    homes = {
        one.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memstone.faces.")
        for one in node.names
    }
    bases = [homes[base.id] for base in memory.bases if isinstance(base, ast.Name)]
    paths = [PACKAGE / "faces" / f"{(module or '').rsplit('.', 1)[-1]}.py" for module in bases]
    return [found for found in map(Module, [PACKAGE / "memory.py", *paths]) if found.methods]


def _joined(found: list[Module], *, waits: bool) -> str:
    folder = "aio" if waits else "blocking"
    kind = "AsyncClient" if waits else "Client"
    lines = sorted(f"from memstone.remote.{folder}.{one.name} import {one.class_name}" for one in found)
    doc = f"Every method of ``{kind}``."
    return (
        f'"""{doc}\n\nMade by ``scripts/make_client.py``: do not edit.\n"""\n\nfrom __future__ import annotations\n\n'
        + "\n".join(lines)
        + "\n\n\nclass Verbs(\n"
        + "".join(f"    {one.class_name},\n" for one in found)
        + f'):\n    """{doc}"""\n'
    )


def files() -> dict[Path, str]:
    """Everything that is made: where it stands, and what it says."""
    found = modules()
    made = dict[Path, str]()
    for folder, waits in (("blocking", False), ("aio", True)):
        place = PACKAGE / "remote" / folder
        made[place / "__init__.py"] = ""
        made[place / "verbs.py"] = _joined(found, waits=waits)
        made |= {place / f"{one.name}.py": one.written(waits=waits) for one in found}
    made[PACKAGE / "async_client.py"] = _translated((PACKAGE / "client.py").read_text("utf-8"))
    return made


def _translated(source: str) -> str:
    for pattern, replacement in CLIENT:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def main() -> int:
    """Write the files, or say whether they are up to date."""
    made = files()
    if "--check" in sys.argv:
        return int(any(not path.exists() or path.read_text("utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
