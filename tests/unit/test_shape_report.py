from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Mapping
from contextvars import copy_context
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts import shape_report
from scripts.shape_report import Figure


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def measure(folder: Path, files: Mapping[str, str]) -> dict[str, Figure]:
    modules = shape_report.read_modules(write_files(folder, files))
    return {figure.label: figure for figure in shape_report.measure_source(modules)}


def values(figures: Mapping[str, Figure], *labels: str) -> list[float]:
    return [figures[label].value for label in labels]


def test_files_and_lines_are_counted_with_packages_and_empty_files(tmp_path: Path) -> None:
    figures = measure(tmp_path, {"memstone/__init__.py": "", "memstone/a.py": "x = 1\n\ny = 2\n"})
    assert values(figures, "Python files under src", "lines under src") == [2, 3]


def test_no_files_are_no_error(tmp_path: Path) -> None:
    assert all(figure.value == 0 for figure in measure(tmp_path, {}).values())


@pytest.mark.parametrize("name", "told kept read listed waiting unread rewritten unforeseen got stored".split())
def test_participles_and_gerunds_are_recognised(name: str) -> None:
    assert shape_report.is_participle(name)


@pytest.mark.parametrize("name", "embed feed ring nothing add find kept_rows read_rows told2 readable forget".split())
def test_other_names_are_no_participles(name: str) -> None:
    assert not shape_report.is_participle(name)


def test_shares_of_names_count_methods_and_inner_functions_but_no_special_methods(tmp_path: Path) -> None:
    text = (
        "class A:\n"
        "    def __init__(self): pass\n"
        "    async def _told(self): pass\n"
        "    def find_rows(self):\n"
        "        def add(): pass\n"
        "def __getattr__(name): pass\n"
        "def read_all(): pass\n"
    )
    figures = measure(tmp_path, {"memstone/a.py": text})
    participles, words = "functions named by a bare participle or gerund", "functions named by one word"
    assert values(figures, "functions", participles, f"{participles}, %", words, f"{words}, %") == [4, 1, 25.0, 2, 50.0]
    assert figures[participles].names == ("told 1",)


def test_a_module_that_one_sibling_imports_alone_is_found(tmp_path: Path) -> None:
    files = {
        "memstone/__init__.py": "from memstone.deep import other\n",
        "memstone/deep/__init__.py": "",
        "memstone/deep/main.py": (
            "from memstone.deep import by_package\n"
            "from . import relative\n"
            "from .lazy_too import x\n"
            "import memstone.deep.plain\n"
            "from memstone.deep.two import x\n"
            "from memstone.deep.named import x\n"
            "def f():\n    from memstone.deep.inner import x\n"
        ),
        "memstone/deep/other.py": "from memstone.deep.two import x\n",
        "memstone/table.py": 'NAMES = ("memstone.deep.named:X", "memstone.deep: no module")\n',
        "memstone/user.py": "def f():\n    from memstone.deep.lazy_too import x\n",
        "memstone/deep/two.py": "x = 1\n",
        "memstone/deep/named.py": "x = 1\n",
        "memstone/deep/lazy_too.py": "x = 1\n",
        "memstone/deep/by_package.py": "x = 1\n",
        "memstone/deep/relative.py": "x = 1\ny = 2\n",
        "memstone/deep/plain.py": "x = 1\n",
        "memstone/deep/inner.py": "x = 1\n",
    }
    figures = measure(tmp_path, files)
    lone = figures["modules that only one sibling imports"]
    assert lone.names == tuple(
        f"memstone.deep.{name} by memstone.deep.main" for name in ("by_package", "inner", "plain", "relative")
    )
    assert figures["lines in modules that only one sibling imports"].value == 5


@pytest.mark.parametrize(
    ("back", "cycles"),
    [
        ("import memstone.a\n", 1),
        ("from .a import x\n", 1),
        ("try:\n    from memstone import a\nexcept ImportError: pass\n", 1),
        ("class A:\n    from memstone.a import x\n", 1),
        ("def f():\n    from memstone.a import x\n", 0),
        ("if TYPE_CHECKING:\n    from memstone.a import x\n", 0),
        ("if typing.TYPE_CHECKING:\n    from memstone.a import x\n", 0),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from memstone.a import x\n", 1),
        ('X = "memstone.a"\n', 0),
    ],
)
def test_cycles_are_made_by_what_is_imported_on_loading(tmp_path: Path, back: str, cycles: int) -> None:
    files = {
        "a.py": "from memstone import b\n",
        "b.py": "from memstone.c import x\n",
        "c.py": back,
        "d.py": "import a\n",
    }
    figures = measure(
        tmp_path, {"memstone/__init__.py": "", **{f"memstone/{name}": text for name, text in files.items()}}
    )
    assert values(figures, "import cycles", "modules in import cycles") == [cycles, 3 * cycles]


def test_cycles_that_do_not_meet_are_counted_apart() -> None:
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}, "e": {"a"}, "f": {"f"}}
    assert shape_report.find_cycles(graph) == [["a", "b"], ["c", "d"]]


PORTS = """
from typing import Any, Protocol

class Reads(Protocol):
    limit: int
    @property
    def size(self) -> int: ...
    def read(self) -> str: ...

class Writes(Reads, Protocol):
    def write(self) -> None: ...

class Shape(Protocol[Any]):
    name: str

class Alone(Protocol):
    def nobody(self) -> None: ...
"""
ADAPTERS = """
import memstone
from memstone import ports
from memstone.ports import Reads as R

class One:
    def __init__(self): self.size = 1
    def read(self): ...

class Two(One):
    name = "two"
    def write(self): ...

class Three(R): ...

class Four(ports.Alone[int]): ...
"""


def test_a_protocol_is_implemented_by_whoever_has_its_methods(tmp_path: Path) -> None:
    figures = measure(
        tmp_path, {"memstone/__init__.py": "", "memstone/ports.py": PORTS, "memstone/adapters.py": ADAPTERS}
    )
    assert figures["Protocol classes"].value == 4
    assert figures["Protocol classes with at most one implementation"].names == (
        "memstone.ports.Writes by memstone.adapters.Two",
        "memstone.ports.Shape by memstone.adapters.Two",
        "memstone.ports.Alone by memstone.adapters.Four",
    )


def test_methods_of_the_memory_are_found_behind_the_package_and_among_what_it_inherits(tmp_path: Path) -> None:
    files = {
        "memstone/__init__.py": "if TYPE_CHECKING:\n    from memstone.memory import Memory\n",
        "memstone/faces.py": (
            "class Face:\n"
            "    def add(self) -> str: ...\n"
            "    def list(self) -> dict[str, Any]: ...\n"
            "    @property\n    def size(self) -> dict[str, Any]: ...\n"
        ),
        "memstone/memory.py": (
            "from memstone.faces import Face\n"
            "class Memory(Face):\n"
            "    def add(self) -> dict[str, Any]: ...\n"
            "    def get(self) -> dict[str, Any] | None: ...\n"
            "    def reset(self): ...\n"
            "    def _over(self) -> dict[str, Any]: ...\n"
        ),
    }
    figures = measure(tmp_path, files)
    assert figures["public methods of Memory"].names == ("add", "get", "reset", "list")
    assert figures["public methods of Memory that return dict[str, Any]"].names == ("add", "list")


def test_comments_are_counted_and_docstrings_are_not(tmp_path: Path) -> None:
    text = '"""A # docstring."""\n# one\nx = "# none"  # two\n' + "y = 1\n" * 7
    assert measure(tmp_path, {"memstone/a.py": text})["comments per thousand lines"].value == 200.0


def test_class_names_that_exist_twice_are_named(tmp_path: Path) -> None:
    files = {
        "memstone/a.py": "class A:\n    class B: ...\nclass C: ...\n",
        "memstone/b.py": "class A: ...\nclass B: ...\n",
    }
    figures = measure(tmp_path, files)
    assert figures["class names that exist more than once"].names == ("A 2", "B 2")
    assert figures["classes whose name exists more than once"].value == 4


def test_uses_of_the_engine_count_outside_of_it(tmp_path: Path) -> None:
    files = {
        "memstone/engine/engine.py": "self._engine\n",
        "memstone/engines.py": "self._engine = other._engine\n",
        "memstone/a.py": 'memory._engine.runtime  # and "x._engine"\n_engine\n',
    }
    figures = measure(tmp_path, files)
    assert figures["uses of ._engine outside the engine"].names == ("memstone.engines 2", "memstone.a 1")
    assert values(figures, "uses of ._engine of another object than self") == [2]


# --- what is called ---------------------------------------------------------------------------------------------------

FIRST = """
import asyncio

async def run():
    second.plain()
    second.plain()
    task = asyncio.create_task(second.wait())
    await task
    return list(steps())

def steps():
    for number in range(3):
        yield second.plain()
"""
SECOND = """
import asyncio

def plain():
    return 1

async def wait():
    for _ in range(3):
        await asyncio.sleep(0)
    await asyncio.to_thread(plain)
"""


def load_module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def first(tmp_path: Path) -> Any:
    """A module that calls another one."""
    write_files(tmp_path, {"first.py": FIRST, "second.py": SECOND})
    module: Any = load_module(tmp_path / "first.py")
    module.second = load_module(tmp_path / "second.py")
    return module


def test_calls_are_recorded_in_their_order_on_every_thread_and_going_on_is_no_call(first: Any, tmp_path: Path) -> None:
    async def run() -> list[str]:
        with shape_report.record_calls() as calls:
            await first.run()
        return calls

    with shape_report.observe_calls(tmp_path):
        files = [Path(file).stem for file in asyncio.run(run())]
    # run, plain twice, wait, plain on a thread, steps and three times what it asks for
    assert files == ["first", "second", "second", "second", "second", "first", "second", "second", "second"]
    assert shape_report.count_changes(files) == 3
    assert sys.getprofile() is None
    assert threading.getprofile() is None


def test_calls_elsewhere_are_not_recorded(first: Any, tmp_path: Path) -> None:
    with shape_report.observe_calls(tmp_path / "other"), shape_report.record_calls() as calls:
        asyncio.run(first.run())
    assert calls == []
    outside = copy_context()
    with shape_report.observe_calls(tmp_path), shape_report.record_calls() as calls:
        outside.run(asyncio.run, first.run())
    assert calls == [], "of another operation"


def test_an_operation_has_the_median_of_its_rounds(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "1\n", "b.py": "1\n2\n", "c.py": "1\n2\n3\n"})
    a, b, c = (str(tmp_path / name) for name in ("a.py", "b.py", "c.py"))
    figures = shape_report.summarize_calls("it", [[a], [a, b, b, a], [a, b, c, b, a, b]])
    assert [(one.label, one.value) for one in figures] == [
        ("it: files", 2),
        ("it: lines in them", 3),
        ("it: changes of file", 2),
    ]


def test_what_did_not_happen_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="does not speak of Oslo"):
        shape_report.check_content([])


# --- the report -------------------------------------------------------------------------------------------------------


def test_the_table_has_a_line_and_json_an_entry_for_each_figure() -> None:
    figures = [Figure("files", 1234), Figure("names, %", 2.5, ("a", "b"))]
    assert shape_report.format_table(figures) == "files         1,234\nnames, %        2.5"
    assert json.loads(shape_report.format_json(figures)) == {
        "figures": {"files": 1234, "names, %": 2.5},
        "names": {"names, %": ["a", "b"]},
    }


@pytest.mark.slow
def test_the_operations_run_in_files_of_the_package() -> None:
    figures = shape_report.measure_operations(shape_report.ROOT, rounds=1)
    assert len({figure.label for figure in figures}) == len(figures) == 12
    counts = {figure.label: figure.value for figure in figures}
    for name in ("Memory.add", "Memory.search", "POST /v1/memories", "POST /v1/chat/completions"):
        assert 0 < counts[f"{name}: files"] <= counts[f"{name}: changes of file"] + 1
        assert counts[f"{name}: files"] <= counts[f"{name}: lines in them"]
    assert counts["POST /v1/memories: files"] > counts["Memory.add: files"], "a service has the library behind it"


def test_everything_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shape_report, "measure_operations", lambda _: [Figure("Memory.add: files", 7)])
    write_files(tmp_path, {"src/memstone/__init__.py": "class Memory:\n    def add(self): ...\n"})
    assert shape_report.main(["--json"], tmp_path) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["lines under src"] == 2
    assert figures["public methods of Memory"] == 1
    assert figures["Memory.add: files"] == 7
    assert shape_report.main([], tmp_path) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(figures)
