"""The process that serves an application, until somebody ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI

from memstone.sections_service import ServerSettings

_PATIENCE: Final = 5
_NOT_STARTED: Final = 3


class Service(uvicorn.Server):
    """Says on which port it listens, once it does, and that it ends before it waits: a stream would go on for hours."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None] | None = None) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the application, listen, and say so."""
        await super().startup(sockets)
        if self.started and self._listening is not None:
            self._listening(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, requests finish, and the application close."""
        app = self.config.app
        if isinstance(app, FastAPI):
            app.state.memstone.ready = False
        await super().shutdown(sockets)


def serve(app: FastAPI, settings: ServerSettings, listening: Callable[[int], None] | None = None) -> None:
    """Serve until a signal comes; what was begun may take a few seconds more. ``listening`` is told the port."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    server = Service(config, listening)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:  # the log says why
        raise SystemExit(_NOT_STARTED)
