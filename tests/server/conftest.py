from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.patience import LONG
from tests.server.world import World

if TYPE_CHECKING:
    from starlette.testclient import TestClient

CONFIG: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service does not wait for others for more than a few seconds; a busy machine may take them for anything."""
    monkeypatch.setattr("memstone.server.gateway.upstream._SECONDS", LONG)
    monkeypatch.setattr("memstone.server.rest.health._PATIENCE", LONG)


@pytest.fixture
def world() -> Iterator[World]:
    """A running service with a key for everything."""
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def client(world: World) -> TestClient:
    """A caller who may do everything."""
    return world.client
