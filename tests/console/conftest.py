from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.browser import Chromium, Site, open_chromium, open_site
from tests.console.house import Guest, House, open_house


@pytest.fixture
def house() -> Iterator[House]:
    """A running service of its own."""
    with open_house() as made:
        yield made


@pytest.fixture
def operator(house: House) -> Guest:
    """Who started the service, signed in by a link."""
    return house.guest()


@pytest.fixture
def chromium() -> Iterator[Chromium]:
    """A real browser without a window; where there is none the run says so.

    Each test has its own: while it is open, no other test of the process could run an event loop.
    """
    with open_chromium() as made:
        yield made


@pytest.fixture
def site(tmp_path: Path, chromium: Chromium) -> Iterator[Site]:
    """A service on a port, over a file of its own, and a browser."""
    with open_site(tmp_path, chromium) as made:
        yield made
