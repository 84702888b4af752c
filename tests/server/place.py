"""A service that listens on a port of this machine, in a thread, as ``memstone serve`` runs it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memstone.config import Settings
from memstone.server.app import create_app
from memstone.server.process import Service, server_config
from tests.patience import LONG, until

if TYPE_CHECKING:
    from fastapi import FastAPI


@dataclass
class Place:
    """A service that listens."""

    app: FastAPI
    port: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A connection on which something was sent."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=LONG)
        made.sendall(sent)
        return made


@contextmanager
def listening(config: Mapping[str, Any], change: Callable[[FastAPI], None] = lambda _: None) -> Iterator[Place]:
    """Run a service with these settings; ``change`` may give its application more routes."""
    settings = Settings.of({**config, "server": {**config.get("server", {}), "port": 0}})
    app = create_app(settings)
    change(app)
    service = Service(server_config(app, settings.server))
    thread = threading.Thread(target=service.run)
    thread.start()
    until(lambda: service.started or not thread.is_alive())
    try:
        yield Place(app, service.servers[0].sockets[0].getsockname()[1])
    finally:
        service.should_exit = True
        thread.join(LONG)
        assert not thread.is_alive()
