"""What the tests of stores share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive


@pytest.fixture
def io() -> Iterator[BlockingIo]:
    """An Io that is closed after the test, and with it its connections."""
    made = BlockingIo()
    yield made
    drive(made.close())
