"""A service with a console, and people who are signed in to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from memstone.engine.access.console_access import ConsoleLink, create_console_link
from tests.server.conftest import CONFIG
from tests.server.world import World

_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


class Guest(TestClient):
    """A browser without scripts: it keeps cookies, and sends the token of the page it has seen."""

    csrf = ""

    def see(self, path: str, status: int = 200, **rest: Any) -> str:
        """Open a page."""
        answer = self.get(path, **rest)
        assert answer.status_code == status, (answer.status_code, answer.text[-2000:])
        found = _CSRF.search(answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer.text

    def submit(self, path: str, **fields: Any) -> Any:
        """Send a form of the session."""
        return self.post(path, data={"csrf": self.csrf, **fields})


@dataclass
class House:
    """A running service, and the people in it."""

    world: World

    @property
    def memory(self) -> Any:
        """The memory itself, within no bounds."""
        return self.world.app.state.memstone.memory

    def run(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a coroutine function where the service runs."""
        return self.world.run(function, *args, **kwargs)

    def add(self, text: str, user: str = "alice", **rest: Any) -> str:
        """Store a memory as it is, and return its id."""
        made = self.run(self.memory.add, text, user_id=user, **{"infer": False, **rest})
        memory_id: str = made["results"][0]["id"]
        return memory_id

    def link(self, tenant: str = "default", **wanted: Any) -> ConsoleLink:
        """A new link."""
        engine = self.memory.acting_for(tenant).engine
        made: ConsoleLink = self.run(
            engine.run, create_console_link, **{"minutes": 10.0, "session_hours": 12.0, **wanted}
        )
        return made

    def visitor(self) -> Guest:
        """Somebody who is not signed in."""
        guest = Guest(self.world.app, raise_server_exceptions=True)
        guest.portal = self.world.portal
        return guest

    def guest(self, tenant: str = "default", **wanted: Any) -> Guest:
        """Somebody who is signed in by a link: the operator, or with ``user_id`` a person."""
        guest = self.visitor()
        answer = guest.post("/console/sign-in", data={"link": self.link(tenant, **wanted).token})
        assert answer.status_code == 200, answer.text
        guest.see("/")
        return guest


@contextmanager
def open_house(config: Mapping[str, Any] = CONFIG) -> Iterator[House]:
    """Start a service."""
    with World.of(config) as world:
        yield House(world)
