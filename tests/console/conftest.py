from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.browser import Chromium, open_chromium
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


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A real browser without a window; where there is none the run says so."""
    with open_chromium() as made:
        yield made
