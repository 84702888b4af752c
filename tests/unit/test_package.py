from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import memstone
import memstone.errors
import memstone.results
from memstone import registry
from memstone.errors import ConfigError, MissingExtra

SOURCE = Path(memstone.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py"))


def fresh(program: str) -> object:
    """What a new interpreter prints as JSON."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(done.stdout)


@pytest.mark.req("R-35")
def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = fresh("import sys, json, memstone; print(json.dumps(sorted(sys.modules)))")
    assert isinstance(loaded, list)
    heavy = {
        "numpy",
        "pydantic",
        "httpx2",
        "onnxruntime",
        "click",
        "asyncio",
        "sqlite3",
        "importlib.metadata",
    }
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("memstone.")] == []


@pytest.mark.req("R-35")
def test_the_types_of_answers_are_not_loaded_to_give_them() -> None:
    program = (
        "import sys, json; from memstone import Memory; "
        "memory = Memory({'store': {'url': 'memory:'}, 'embedder': {'provider': 'hash'}}); "
        "memory.add('I live in Oslo', user_id='alice'); memory.search('Oslo', user_id='alice'); "
        "print(json.dumps([name for name in sys.modules if name.startswith('memstone.results')]))"
    )
    assert fresh(program) == []


def test_names_are_loaded_when_they_are_first_used() -> None:
    assert fresh("import json, memstone; print(json.dumps(memstone.estimate_tokens('abcde')))") == 2
    assert fresh("import json; from memstone import *; print(json.dumps(Memory.__name__))") == "Memory"


def test_what_is_public_is_there_and_listed() -> None:
    assert memstone.__all__ == sorted(memstone.__all__)
    assert dir(memstone) == memstone.__all__
    for name in memstone.__all__:
        assert getattr(memstone, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        memstone.nothing  # noqa: B018 - asking for it is the test


def test_every_error_and_every_type_of_an_answer_is_public() -> None:
    errors = {name for name, kind in vars(memstone.errors).items() if isinstance(kind, type)} - {"MemoryError"}
    assert errors <= set(memstone.__all__)
    for name in memstone.results.__all__:
        assert getattr(memstone, name) is getattr(memstone.results, name)
    defined = {
        node.name
        for path in SOURCE.glob("results/*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    assert memstone.results.__all__ == sorted(defined)


def test_the_version_is_one() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert memstone.__version__ == project["version"]


NOT_TOGETHER = {"litellm"}
"""Extras that cannot be installed beside the others."""
FRAMEWORKS = {"fastapi", "langgraph", "llama-index", "openai-agents", "pydantic-ai"}
"""Extras for people who have the framework already."""


def test_the_extra_for_everything_names_every_extra_that_goes_together() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("memstone[").removesuffix("]").split(",")
    assert named == sorted(extras.keys() - {"all"} - NOT_TOGETHER - FRAMEWORKS)


def test_types_are_published() -> None:
    assert files("memstone").joinpath("py.typed").is_file()


@pytest.mark.req("R-35")
@pytest.mark.parametrize("key", sorted(registry.BUILT_IN), ids=":".join)
def test_every_name_of_the_registry_can_be_loaded(key: tuple[str, str]) -> None:
    cls = registry.load_adapter(*key)
    assert callable(cls)
    # The reranker that asks the language model asks a question of the core, which adapters cannot import.
    places = {("language", key[1]): "memstone.language.", ("reranker", "llm"): "memstone.engine."}
    assert cls.__module__.startswith(places.get(key, "memstone.adapters."))


@pytest.mark.req("R-35")
def test_the_registry_is_full_whatever_is_imported_first() -> None:
    for first in ("memstone.engine.search", "memstone.compose", "memstone.memory", "memstone.registry"):
        program = (
            f"import json, {first}; from memstone.registry import builtin_names; "
            "print(json.dumps(builtin_names('embedder')))"
        )
        assert fresh(program) == registry.builtin_names("embedder")


@pytest.mark.req("R-35")
def test_an_unknown_name_and_a_missing_package_are_told_apart() -> None:
    with pytest.raises(ConfigError) as unknown:
        registry.load_adapter("embedder", "magic")
    assert "hash" in unknown.value.hint
    with pytest.raises(MissingExtra) as missing:
        registry.load_adapter("embedder", "no_such_package.embed:Embedder")
    assert "no_such_package" in missing.value.hint
    with pytest.raises(ConfigError):
        registry.load_adapter("embedder", "json:NoSuchClass")
    assert registry.load_adapter("embedder", "json:JSONDecoder") is json.JSONDecoder


LOADERS = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
SIGN_OF_LOADERS = re.compile("|".join((*sorted(LOADERS), "allow_pickle")))


def is_pickling(code: str) -> bool:
    """Whether a piece of code holds such a node; only where a word of them stands in it is it parsed."""
    return bool(SIGN_OF_LOADERS.search(code)) and any(map(pickles, ast.walk(ast.parse(code))))


def pickles(node: ast.AST) -> bool:
    """Whether a piece of code imports something that runs what it reads, or has numpy do so."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in LOADERS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in LOADERS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
        chosen = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        return ast.unparse(node.func) in {"np.load", "numpy.load"} and chosen.get("allow_pickle", "False") != "False"
    return False


FOREIGN_POINTS = SOURCE / "adapters" / "sources" / "qdrant_points.py"
"""Reads what Qdrant has pickled, for an import from mem0; its tests are in tests/mem0/test_import.py."""


@pytest.mark.req("R-37")
def test_nothing_is_pickled() -> None:
    found = [path for path in MODULES if is_pickling(path.read_text("utf-8"))]
    assert found == [FOREIGN_POINTS], "the one reader that loads no class"
    for code in ("import pickle", "from marshal import loads", "np.load(file, allow_pickle=True)"):
        assert is_pickling(code), "what it looks for is found"


# A ``__main__`` runs when it is imported: that is what it is for. The frameworks of these two are not installed beside
# the developer's tools; tests/integrations/test_frameworks.py runs them where they are.
ELSEWHERE = {SOURCE / "integrations" / name for name in ("llama_index.py", "openai_agents.py")}
IMPORTED = [path for path in MODULES if path.name != "__main__.py" and path not in ELSEWHERE]


def test_every_module_can_be_imported() -> None:
    for path in IMPORTED:
        name = ".".join(("memstone", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        assert importlib.import_module(name).__name__ == name


def test_every_hint_to_install_an_extra_says_how_in_a_clone_too() -> None:
    written = [path for path in MODULES if "pip install 'memstone[" in path.read_text("utf-8")]
    assert written == [SOURCE / "errors.py"], "use install_hint"
    assert (
        memstone.errors.install_hint("mcp,server")
        == "pip install 'memstone[mcp,server]', or '.[mcp,server]' in a clone"
    )
