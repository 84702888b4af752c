"""Runs every scenario through both faces, over SQLite, and a third of them over PostgreSQL.

Not every face over every store: below the faces there is one engine and one set of statements, so a scenario that holds
through both faces and over both databases fails in one more combination only where the two meet. For that each scenario
goes one of six ways, as its name falls: SQLite is a file in one half and in memory in the other, and each face meets
PostgreSQL in every sixth. Of a table of cases each goes one of the two ways, see ``tests/combinations.py``. The list of
``test_every_face.py`` goes all ways. ``--whole`` runs everything through everything, as ``make test-system`` does.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from zlib import crc32

import pytest

from tests.faces.harness import FACES, Face, Opens

_STORES = ["in_memory", "file", pytest.param("postgres", marks=pytest.mark.postgres)]
_WAYS = (
    [("memory", "in_memory"), ("async_memory", "postgres")],
    [("async_memory", "in_memory"), ("memory", "postgres")],
    [("memory", "file"), ("async_memory", "in_memory")],
    [("async_memory", "file"), ("memory", "in_memory")],
    [("memory", "in_memory"), ("async_memory", "file")],
    [("async_memory", "in_memory"), ("memory", "file")],
)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the way of a scenario that says nothing about its face and its store."""
    text = " ".join(str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    is_told = re.search(r"\b(kind|store)\b", text) is not None
    if is_told or metafunc.config.option.whole or not {"kind", "store"} <= set(metafunc.fixturenames):
        return
    way = _WAYS[crc32(metafunc.definition.name.encode()) % len(_WAYS)]
    marked = [pytest.param(*pair, marks=pytest.mark.postgres) if "postgres" in pair else pair for pair in way]
    metafunc.definition.add_marker(pytest.mark.parametrize(("kind", "store"), marked, indirect=True))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine the way its face is used."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    opens = pyfuncitem.funcargs["opens"]
    assert isinstance(opens, Opens)
    opens.run(pyfuncitem.obj(**wanted))
    return True


@pytest.fixture(params=list(FACES))
def kind(request: pytest.FixtureRequest) -> str:
    """Which face."""
    chosen: str = request.param
    return chosen


@pytest.fixture(params=_STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str | None:
    """Where the store is: a file, the URL of a database, or None: in memory."""
    if request.param == "postgres":
        empty: str = request.getfixturevalue("postgres").fresh()
        return empty
    return tmp_path / "memstone.db" if request.param == "file" else None


@pytest.fixture
def opens(kind: str, store: Path | str | None) -> Opens:
    """Opens faces over the store."""
    return Opens(kind, store)


@pytest.fixture
def face(opens: Opens) -> Face:
    """A memory over the store."""
    return opens()
