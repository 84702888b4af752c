"""Runs every scenario through both faces and over both kinds of store."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.faces.harness import FACES, Face, Opens


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


@pytest.fixture(params=["in_memory", "file", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str | None:
    """Where the store is: a file, the URL of a database, or None: in memory."""
    if request.param == "postgres":
        empty: str = request.getfixturevalue("postgres").fresh()
        return empty
    return tmp_path / "retain.db" if request.param == "file" else None


@pytest.fixture
def opens(kind: str, store: Path | str | None) -> Opens:
    """Opens faces over the store."""
    return Opens(kind, store)


@pytest.fixture
def face(opens: Opens) -> Face:
    """A memory over the store."""
    return opens()
