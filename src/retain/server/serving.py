"""The process that serves an application, until somebody ends it."""

from __future__ import annotations

import socket
from typing import Final

import uvicorn
from fastapi import FastAPI

from retain.sections_service import ServerSettings

_PATIENCE: Final = 5
_NOT_STARTED: Final = 3


class Service(uvicorn.Server):
    """Says that it ends before it waits for what is under way: a stream would go on for an hour."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, requests finish, and the application close."""
        app = self.config.app
        if isinstance(app, FastAPI):
            app.state.retain.ready = False
        await super().shutdown(sockets)


def serve(app: FastAPI, settings: ServerSettings) -> None:
    """Serve until a signal comes; what was begun may take a few seconds more."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    server = Service(config)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:  # the log says why
        raise SystemExit(_NOT_STARTED)
