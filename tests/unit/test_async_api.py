from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from scripts import make_async_api
from tests.faces.harness import list_verbs, verb_of

GROUPS = sorted(name for name in dir(Memory) if isinstance(getattr(Memory, name), property))
NAMES = sorted(name for name in dir(Memory) if not name.startswith("_") and name not in GROUPS)
HASH = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.mark.req("C-49")
def test_the_asyncio_face_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["make_async_api.py", "--check"])
    assert make_async_api.main() == 0


def test_an_outdated_face_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "api" / "aio").mkdir(parents=True)
    for name in ("memory", "client"):
        source = (make_async_api.PACKAGE / f"{name}.py").read_text("utf-8")
        (tmp_path / f"{name}.py").write_text(source)
        (tmp_path / f"async_{name}.py").write_text(make_async_api.translated(source).replace("close", "shut"))
    monkeypatch.setattr(make_async_api, "PACKAGE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["make_async_api.py", "--check"])
    assert make_async_api.main() == 1
    monkeypatch.setattr(sys, "argv", ["make_async_api.py"])
    assert make_async_api.main() == 0
    monkeypatch.setattr(sys, "argv", ["make_async_api.py", "--check"])
    assert make_async_api.main() == 0


@pytest.mark.req("C-49")
def test_both_faces_have_the_same_methods() -> None:
    assert sorted(name for name in dir(AsyncMemory) if not name.startswith("_")) == sorted([*NAMES, *GROUPS])
    promised = {"add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset"}
    assert promised <= set(NAMES)


def function(cls: type, name: str) -> Callable[..., Any]:
    found = inspect.getattr_static(cls, name)
    unwrapped: Callable[..., Any] = found.__func__ if isinstance(found, classmethod) else found
    return unwrapped


@pytest.mark.req("C-49")
@pytest.mark.parametrize("verb", list_verbs())
def test_a_verb_has_the_same_signature_and_docstring_in_both_faces(verb: str) -> None:
    blocking, waiting = verb_of(Memory(HASH), verb), verb_of(AsyncMemory(HASH), verb)
    ours, other = inspect.signature(blocking), inspect.signature(waiting)
    assert list(ours.parameters.values()) == list(other.parameters.values())
    assert str(other.return_annotation).replace("AsyncIterator", "Iterator") == ours.return_annotation
    assert inspect.getdoc(waiting) == inspect.getdoc(blocking)
    assert inspect.iscoroutinefunction(waiting) or verb == "export"


@pytest.mark.req("C-49")
@pytest.mark.parametrize("name", [*NAMES, "__init__"])
def test_both_faces_have_the_same_signatures_and_docstrings(name: str) -> None:
    blocking, waiting = function(Memory, name), function(AsyncMemory, name)
    ours, other = inspect.signature(blocking), inspect.signature(waiting)
    assert list(ours.parameters.values()) == list(other.parameters.values())
    returned = str(other.return_annotation).replace("AsyncIterator", "Iterator")
    assert returned == ours.return_annotation
    assert (inspect.getdoc(waiting) or "").replace("AsyncMemory", "Memory") == (inspect.getdoc(blocking) or "")
    assert inspect.getdoc(blocking) or name == "__init__"


@pytest.mark.req("C-49")
@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("acting_for", "from_config", "from_env", "export")]
)
def test_every_method_of_the_asyncio_face_is_awaited(name: str) -> None:
    assert inspect.iscoroutinefunction(function(AsyncMemory, name))
    assert not inspect.iscoroutinefunction(function(Memory, name))
