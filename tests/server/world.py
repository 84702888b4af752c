"""A service to ask, in this process, with keys for everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from memstone.server.app import create_app


@dataclass
class World:
    """A running application, and clients of it."""

    app: Any
    client: TestClient

    @classmethod
    @contextmanager
    def of(cls, config: Mapping[str, Any]) -> Iterator[World]:
        """Start it; the first client has a key for everything."""
        with cls.over(create_app(config)) as world:
            yield world

    @classmethod
    @contextmanager
    def over(cls, app: Any) -> Iterator[World]:
        """Start an application that was made before."""
        with TestClient(app) as anonymous:
            world = cls(app, anonymous)
            world.client = world.as_key(verbs=["read", "write", "admin"])
            yield world

    def as_key(self, tenant: str = "default", **key: Any) -> TestClient:
        """A client with a new key."""
        assert self.client.portal is not None or self.app is not None
        memory = self.app.state.memstone.memory.acting_for(tenant)
        made = self.run(memory.admin.keys.create, **key)
        client = TestClient(self.app, headers={"Authorization": f"Bearer {made['key']}"})
        client.portal = self.portal
        return client

    @property
    def portal(self) -> Any:
        """The loop on which the application lives."""
        return self.client.portal

    def run(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a coroutine function on that loop."""

        async def call() -> Any:
            return await function(*args, **kwargs)

        assert self.portal is not None
        return self.portal.call(call)

    def anonymous(self, **headers: str) -> TestClient:
        """A client without a key."""
        client = TestClient(self.app, headers=headers)
        client.portal = self.portal
        return client
