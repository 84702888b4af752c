"""One service for many tests, each with a tenant of its own: building the routes is most of what a service costs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.server.world import World

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from memstone.literals import VerbName

ALL: list[VerbName] = ["read", "write", "admin"]
_NUMBERS = count(1)


@dataclass
class Room(World):
    """A service as one tenant knows it."""

    tenant: str = ""

    @classmethod
    def of_house(cls, house: World) -> Room:
        """A new tenant of a running service; its client has a key for everything."""
        room = cls(house.app, house.client, f"room-{next(_NUMBERS)}")
        room.client = room.as_key(verbs=ALL)
        return room

    def as_key(self, tenant: str = "", **key: Any) -> TestClient:
        """A client with a new key of this tenant, or of a neighbour."""
        return super().as_key(f"{self.tenant}-{tenant}" if tenant else self.tenant, **key)


def ended(world: World, job: dict[str, Any]) -> dict[str, Any]:
    """A job when it has ended."""
    for _ in range(10_000):
        state: dict[str, Any] = world.client.get(f"/v1/console/jobs/{job['id']}").json()
        if state["state"] != "running":
            return state
        world.run(asyncio.sleep, 0.01)
    raise AssertionError(job)
