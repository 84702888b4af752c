"""What all tests share: how hypothesis looks for counter-examples, that Ctrl-C works, and cheap passwords."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from memstone import compose
from memstone.core.access import passwords
from memstone.testing.modes import MODES
from memstone.testing.vector_store import VectorStoreSuite
from tests.combinations import find_other_combinations

if TYPE_CHECKING:
    from tests.postgres.server import Server

# No deadline: a busy machine is not a bug. The examples are the same in every run, so that a change is refused for what
# it changes; those of the thorough profile differ, so that many runs see much, and a failure prints what repeats it.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), derandomize=False, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Whoever starts the tests in the background has Ctrl-C ignored, and so would every program the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option for thoroughness; see ``tests/faces/conftest.py``."""
    parser.addoption("--whole", action="store_true", help="run the scenarios through every face over every store")


@pytest.hookimpl(trylast=True)  # after those that the marks leave out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one of two ways of many cases, and one of the two I/O modes of each case about a vector store."""
    if config.option.whole:
        return
    left_out = {item for item in items if _is_other_mode(item)}
    left_out |= find_other_combinations([item for item in items if item not in left_out])
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _is_other_mode(item: pytest.Item) -> bool:
    if not (isinstance(item, pytest.Function) and item.cls and issubclass(item.cls, VectorStoreSuite)):
        return False
    mode = item.callspec.params.get("mode") if hasattr(item, "callspec") else None
    if mode is None:
        return False
    case = f"{item.cls.__name__} {item.name.replace(str(mode), '')}"
    return mode != MODES[crc32(case.encode()) % len(MODES)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: let the garbage collector never look through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """To recognise a password costs a fifth of a second, which is the point of it, but not of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "COST", passwords.Cost(4, 8, 1))
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_store_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key of a store in a database is kept in the home of whoever operates it, which is not that of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose, "DEFAULT_KEY_PATH", tmp_path_factory.mktemp("keys") / "store.key")
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once() -> Iterator[None]:
    """Whoever makes a client of HTTP reads the certificates of all authorities, 20 ms; the tests make thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpcore2.default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _services_described_once() -> Iterator[None]:
    """To describe a service takes a second; many tests start one, and those of the same routes are described alike."""
    describes = sys.modules.get("memstone.server.description")
    if describes is None:  # none of these tests starts one
        yield
        return
    made, describe = dict[tuple[str, ...], str](), describes.get_openapi

    def described(*, routes: Sequence[Any], **about: Any) -> dict[str, Any]:
        which = (repr(about), *map(repr, routes))
        if which not in made:
            made[which] = json.dumps(describe(routes=routes, **about))
        full: dict[str, Any] = json.loads(made[which])
        return full

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(describes, "get_openapi", described)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when the first test asks for it."""
    from tests.postgres.server import running

    with running() as server:
        yield server
